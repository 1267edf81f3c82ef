"""The best that any learner can do, and the iteration that reaches it (docs/theory, section 17)."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from sklearn.metrics import roc_auc_score

from sparsetoken._types import Bools, Floats
from sparsetoken.models.base import Draw, Model, Settings, Size, StudySize, alpha_of, measured
from sparsetoken.models.bayes import OracleTheory
from sparsetoken.problem import Problem
from sparsetoken.sampling import sample_posterior_mean

_LEARNED = frozenset({"test_error", "auc", "recall", "cosine"})
_TOKENS = 2_000_000  # drawn to judge the best learner, within these numbers of samples
_LEAST_SAMPLES, _MOST_SAMPLES = 4_000, 100_000


class BestLearner(Model):
    """The posterior mean of the direction; simulated by message passing.

    The theory is that of the optimum, the simulation starts from nothing: in the hard phase it
    stays short of it. With a value for ``start`` both are about that start.
    """

    name = "optimal"
    settings = ("unlabelled", "start", "n_points")
    predicted = _LEARNED | measured("thresholds", "oracle")
    simulated = _LEARNED
    estimator = "BayesAttentionClassifier"  # which estimates what the optimum knows
    basis = (
        "the theory of optimal learning, in the limit of many dimensions, with strength and number "
        "of the signal tokens known to the learner"
    )

    def limit(self, study: StudySize, choice: dict[str, Any]) -> Any:
        """Return what the iteration from nothing reaches: the best learner that is quick.

        Its limit is within a few per cent of finite sizes from twenty samples on.
        """
        return self.theory(study.problem, [study.alpha], {"start": "nothing"})[0]

    def predict(self, problem: Problem, sizes: list[Size], settings: Settings) -> list[Any]:
        """Return the optimum, or what is reached from the given start; and the thresholds."""
        return [OptimalTheory(problem, size, settings) for size in sizes]

    def train(self, draw: Draw) -> Any:
        """Let the iteration learn from one drawn data set; judge it on fresh sequences."""
        learned = sample_posterior_mean(
            draw.problem,
            draw.n_samples(),
            draw.dim,
            n_unlabelled=round(draw.settings["unlabelled"] * draw.dim),
            start=draw.settings.get("start", "nothing"),
            random_state=draw.rng,
        )
        n_samples = _TOKENS // max(draw.problem.lengths)
        n_samples = min(max(n_samples, _LEAST_SAMPLES), _MOST_SAMPLES)
        return FreshSamples(lambda: learned.judge(n_samples, draw.rng), 0.5, learned.cosine)


class OptimalTheory(OracleTheory):
    """The best learner, or what is reached from a given start; its thresholds.

    All that :class:`~sparsetoken.theory.Optimal` has can be asked for.
    """

    def __init__(self, problem: Problem, size: Size, settings: Settings) -> None:
        super().__init__(problem, "bayes", settings)
        self.size = size

    @cached_property
    def learned(self) -> Any:
        """The optimum, or what is reached from the given start."""
        from sparsetoken.theory import optimal

        unlabelled = self.settings["unlabelled"]
        best = optimal(self.problem, alpha_of(self.size, self.settings), unlabelled, **self.points)
        starts = {"nothing": best.from_nothing, "informed": best.informed}
        return starts.get(self.settings.get("start", ""), best)

    @cached_property
    def thresholds(self) -> Any:
        """Samples per dimension from which the direction can be known, and found."""
        from sparsetoken.theory import learning_thresholds

        return learning_thresholds(self.problem, **self.points)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        if name.endswith("_threshold"):
            return getattr(self.thresholds, name.removesuffix("_threshold"))
        return getattr(self.learned, name)


@dataclass
class FreshSamples:
    """What was trained, judged on fresh samples, which are drawn when they are first needed."""

    judge: Callable[[], tuple[Floats, Bools]]
    """Returns their scores, and whether they are positive."""
    threshold: float = 0.0
    cosine: float | None = None
    """Between what is learned and the signal, where there is one."""

    @cached_property
    def judged(self) -> tuple[Floats, Bools]:
        """Scores of fresh sequences, and whether they are positive."""
        return self.judge()

    @property
    def test_error(self) -> float:
        """Fraction of fresh sequences labelled wrongly."""
        scores, labels = self.judged
        return float(np.mean((scores > self.threshold) != labels))

    @property
    def auc(self) -> float:
        """Fraction of pairs in the right order."""
        scores, labels = self.judged
        return float(roc_auc_score(labels, scores))

    def recall(self, fpr: float) -> float:
        """Return the fraction of the positives above the threshold that ``fpr`` sets."""
        scores, labels = self.judged
        return float(np.mean(scores[labels] > np.quantile(scores[~labels], 1.0 - fpr)))
