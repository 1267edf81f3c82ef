"""The default classifier: theory is the optimum with what a finite sample costs it."""

import math
from typing import Any

from sparsetoken._types import Bools, Floats
from sparsetoken.estimate import Estimate
from sparsetoken.estimators import SparseTokenClassifier
from sparsetoken.models.base import Draw, Model, Settings, Size, StudySize, alpha_of
from sparsetoken.models.optimal import FreshSamples
from sparsetoken.models.readout import check_classes
from sparsetoken.problem import Problem

_DENSE_NUMBERS = 10_000_000  # drawn to judge a fitted classifier, within these numbers of samples
_LEAST_DENSE, _MOST_DENSE = 500, 4_000
# What a finite sample costs the default classifier: fitted to 120 random problems with 20 to 400
# dimensions, 2 to 200 tokens and 20 to 2,000 samples, half of them with fewer than 3.3 training
# tokens a dimension (``python -m benchmarks.plan_truth law``).
_BY_SAMPLE, _BY_TOKEN = 3.4, 0.067
# How far the law is off, as parts of the error and of what it adds to the logarithm of the optimum:
# chosen on 64 other problems with fewer than 4 tokens a dimension, where it is off most.
_MISFIT, _MISFIT_OF_COST = 0.1, 0.35


class SparseToken(Model):
    """:class:`~sparsetoken.SparseTokenClassifier`, which nobody has to set.

    Its theory is not exact: the optimum, made worse by a law that a benchmark established
    (:class:`NearOptimal`). A trial fits the classifier itself.
    """

    name = "sparse-token"
    settings = ("n_points",)
    predicted = simulated = frozenset({"test_error", "auc", "recall"})
    estimator = "SparseTokenClassifier"
    basis = (
        "the theory of optimal learning, made worse by an empirical law for this classifier, which "
        "was within 10 % (one standard deviation) on random problems"
    )

    def outcomes(self, study: StudySize, choice: dict[str, Any], n_points: int) -> list[Any]:
        """Return the theory at a finite number of samples."""
        return [NearOptimal(study.problem, study.alpha, {}, study.n_samples)]

    def predict(self, problem: Problem, sizes: list[Size], settings: Settings) -> list[Any]:
        """Return what iteration from nothing reaches, and a little worse."""
        return [NearOptimal(problem, alpha_of(size, settings), settings) for size in sizes]

    def train(self, draw: Draw) -> Any:
        """Fit the classifier to drawn sequences; judge it on fresh ones of the same direction."""
        problem, dim, rng = draw.problem, draw.dim, draw.rng
        X, y, truth = problem.sample(draw.n_samples(), dim, random_state=rng, return_truth=True)
        check_classes(2.0 * y - 1.0)
        fitted = SparseTokenClassifier(random_state=0).fit(X, y)

        def judge() -> tuple[Floats, Bools]:
            affordable = _DENSE_NUMBERS // (max(problem.lengths) * dim)
            n_samples = min(max(affordable, _LEAST_DENSE), _MOST_DENSE)
            X, y = problem.sample(n_samples, dim, random_state=rng, direction=truth.directions)
            return fitted.decision_function(X), y == 1

        return FreshSamples(judge)


class NearOptimal:
    """The default classifier: the optimum, and what it costs to learn scales and thresholds too.

    Where the optimum, as far as iteration from nothing reaches it, has the error e, the classifier
    has e^(1 − k/n − c/(αL)): αL is the number of training tokens per dimension.
    """

    def __init__(
        self, problem: Problem, alpha: float, settings: Settings, n_samples: float = math.inf
    ) -> None:
        from sparsetoken.theory import optimal

        self.problem = problem
        self.reached = optimal(problem, alpha, **settings).from_nothing
        groups = problem.groups
        length = math.fsum(group.probability * group.kind.n_tokens for group in groups)
        cost = _BY_SAMPLE / n_samples + _BY_TOKEN / (alpha * length)
        self.power = max(1.0 - cost, 0.0)

    @property
    def test_error(self) -> Estimate:
        """Fraction of fresh sequences labelled wrongly."""
        rate = self.problem.positive_rate
        return self._error(self.reached.test_error, min(rate, 1.0 - rate))

    @property
    def auc(self) -> Estimate:
        """Fraction of pairs in the right order."""
        return self._beside_error(self.reached.auc, 0.5)

    def recall(self, fpr: float) -> Estimate:
        """Return the fraction of the positives above the threshold that ``fpr`` sets."""
        return self._beside_error(self.reached.recall(fpr), fpr)

    def _beside_error(self, reached: float, chance: float) -> Estimate:
        error = self._error(1.0 - reached, 1.0 - chance)
        return Estimate(1.0 - error, error.uncertainty)

    def _error(self, reached: float, chance: float) -> Estimate:
        """Return the classifier's error, given that of the optimum."""
        error = min(reached**self.power, max(chance, reached))
        added = math.log(error / reached) if reached > 0 else 0.0
        return Estimate(error, error * math.hypot(_MISFIT, _MISFIT_OF_COST * added))
