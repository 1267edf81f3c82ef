"""The best that any learner can do, and the iteration that reaches it (docs/theory, section 17)."""

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from sparsetoken.models.base import Look, Model, Size, count_samples, measured, one_size
from sparsetoken.vocabulary import COLORS

if TYPE_CHECKING:
    import numpy as np

    from sparsetoken._types import Bools, Floats
    from sparsetoken.problem import Problem

_LEARNED = frozenset({"test_error", "auc", "recall", "cosine"})
_NUMBERS = 2_000_000  # tokens drawn to judge one learner, within these numbers of samples
_LEAST_SAMPLES, _MOST_SAMPLES = 4_000, 100_000


class BestLearner(Model):
    """The posterior mean of the direction; simulated by message passing.

    The theory is that of the optimum, the simulation starts from nothing: in the hard phase it
    stays short of it. With a value for ``start`` both are about that start.
    """

    name = "optimal"
    look = Look(
        "best possible", "the best that any learner can do with these samples", COLORS[6], "P"
    )
    settings = ("unlabelled", "start", "n_points")
    predicted = _LEARNED | measured("thresholds", "oracle")
    simulated = _LEARNED

    def classifier(self, settings: Mapping[str, Any]) -> Any:
        """Return a BayesAttentionClassifier, which estimates what the optimum knows."""
        from sparsetoken.estimators import BayesAttentionClassifier

        return BayesAttentionClassifier()

    def theory(
        self, problem: "Problem", sizes: Sequence[Size], settings: Mapping[str, Any]
    ) -> list[Any]:
        """Return the optimum, or what is reached from the given start; and the thresholds."""
        complete = self.complete(settings)
        return [OptimalTheory(problem, size, complete) for size in sizes]

    def trial(
        self,
        problem: "Problem",
        size: Size,
        dim: int,
        settings: Mapping[str, Any],
        rng: "np.random.Generator",
    ) -> Any:
        """Let the iteration learn from one drawn data set."""
        n_samples, complete = count_samples(one_size(self, size), dim), self.complete(settings)
        return OptimalTrial(problem, n_samples, dim, complete, rng)


class OptimalTheory:
    """The best learner: ``test_error``, ``auc``, ``cosine``, ``recall(fpr)``; thresholds; floors.

    All that :class:`~sparsetoken.theory.Optimal` has can be asked for.
    """

    def __init__(self, problem: "Problem", size: Size, settings: dict[str, Any]) -> None:
        self.problem, self.size, self.settings = problem, size, settings
        self.points = {name: settings[name] for name in ("n_points",) if name in settings}

    @cached_property
    def learned(self) -> Any:
        """The optimum, or what is reached from the given start."""
        from sparsetoken.theory import optimal

        alpha = one_size(BestLearner(), self.size)
        best = optimal(self.problem, alpha, self.settings["unlabelled"], **self.points)
        starts = {"nothing": best.from_nothing, "informed": best.informed}
        return starts.get(self.settings.get("start", ""), best)

    @cached_property
    def _thresholds(self) -> Any:
        from sparsetoken.theory import learning_thresholds

        return learning_thresholds(self.problem, **self.points)

    @property
    def information_threshold(self) -> Any:
        """Samples per dimension from which the best learner knows the direction well."""
        return self._thresholds.information

    @property
    def iteration_threshold(self) -> Any:
        """Samples per dimension from which the quick iteration finds it."""
        return self._thresholds.iteration

    @cached_property
    def oracle_error(self) -> Any:
        """Error of the best classifier that knows the signal."""
        from sparsetoken.theory import oracle_error

        return oracle_error(self.problem, "bayes", **self.points)

    def required_signal(self, error: float) -> Any:
        """Return the signal at which that classifier reaches an error."""
        from sparsetoken.theory import required_signal

        return required_signal(self.problem, "bayes", error=error, **self.points)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self.learned, name)


class OptimalTrial:
    """What message passing learns from one data set, judged on freshly drawn sequences."""

    def __init__(
        self,
        problem: "Problem",
        n_samples: int,
        dim: int,
        settings: dict[str, Any],
        rng: "np.random.Generator",
    ) -> None:
        from sparsetoken.sampling import sample_posterior_mean

        self.problem, self.rng = problem, rng
        self.learned = sample_posterior_mean(
            problem,
            n_samples,
            dim,
            n_unlabelled=round(settings["unlabelled"] * dim),
            start=settings.get("start", "nothing"),
            random_state=rng,
        )

    @property
    def cosine(self) -> float:
        """Cosine between what is learned and the signal."""
        return float(self.learned.cosine)

    @cached_property
    def _judged(self) -> "tuple[Floats, Bools]":
        """Probabilities of fresh sequences to be positive, and whether they are."""
        longest = max(kind.n_tokens for kind in self.problem.kinds)
        n_samples = min(max(_NUMBERS // longest, _LEAST_SAMPLES), _MOST_SAMPLES)
        return self.learned.judge(n_samples, self.rng)

    @property
    def test_error(self) -> float:
        """Fraction of fresh sequences labelled wrongly."""
        chances, labels = self._judged
        return float(((chances > 0.5) != labels).mean())

    @property
    def auc(self) -> float:
        """Fraction of pairs in the right order."""
        from sklearn.metrics import roc_auc_score

        chances, labels = self._judged
        return float(roc_auc_score(labels, chances))

    def recall(self, fpr: float) -> float:
        """Return the fraction of the positives above the threshold that ``fpr`` sets."""
        import numpy as np

        chances, labels = self._judged
        threshold = np.quantile(chances[~labels], 1.0 - fpr)
        return float(np.mean(chances[labels] > threshold))
