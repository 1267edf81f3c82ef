"""The best that any learner can do, and the iteration that reaches it (docs/theory, section 17)."""

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from sparsetoken.models.base import Draw, Look, Model, Settings, Size, measured
from sparsetoken.vocabulary import COLORS

if TYPE_CHECKING:
    from sparsetoken.problem import Problem

_LEARNED = frozenset({"test_error", "auc", "recall", "cosine"})


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
    basis = (
        "the theory of optimal learning, in the limit of many dimensions, with strength and number "
        "of the signal tokens known to the learner"
    )

    def limit(
        self, problem: "Problem", n_samples: float, dim: float, choice: dict[str, Any]
    ) -> Any:
        """Return what the iteration from nothing reaches: the best learner that is quick.

        Its limit is within a few per cent of finite sizes from twenty samples on.
        """
        size = math.inf if math.isinf(n_samples) else n_samples / dim
        return self.theory(problem, [size], {"start": "nothing"})[0]

    def classifier(self, settings: Mapping[str, Any]) -> Any:
        """Return a BayesAttentionClassifier, which estimates what the optimum knows."""
        from sparsetoken.estimators import BayesAttentionClassifier

        return BayesAttentionClassifier()

    def predict(self, problem: "Problem", sizes: list[Size], settings: Settings) -> list[Any]:
        """Return the optimum, or what is reached from the given start; and the thresholds."""
        from sparsetoken.models.predictions import OptimalTheory

        return [OptimalTheory(problem, size, settings) for size in sizes]

    def train(self, draw: Draw) -> Any:
        """Let the iteration learn from one drawn data set."""
        from sparsetoken.models.trials import OptimalTrial

        return OptimalTrial(draw)
