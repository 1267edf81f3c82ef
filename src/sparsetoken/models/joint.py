"""Joint training: the same samples teach query and readout, up to the minimum."""

from typing import Any

from sparsetoken.models.attention import Attention
from sparsetoken.models.base import QUERY, TWO_STEPS, Draw, Settings, Size, one_size
from sparsetoken.models.descent import train_jointly
from sparsetoken.models.readout import TrainingSet
from sparsetoken.models.training import DESCENT
from sparsetoken.problem import Problem


class JointTraining(Attention):
    """All parameters trained together, from the start that two steps give, to the minimum.

    There is no reduced sampler: the tokens are drawn. The ridge is on query and readout alike.
    """

    name = "joint"
    settings = (*TWO_STEPS, "reg", "n_points")
    predicted = DESCENT
    simulated = Attention.simulated | (QUERY - {"misalignment"})

    def predict(self, problem: Problem, sizes: list[Size], settings: Settings) -> list[Any]:
        """Return the minimum, marked as not converged where it cannot be trusted."""
        from sparsetoken.models.predictions import Minimum

        return [Minimum(problem, one_size(size), settings) for size in sizes]

    def draw_query(self, draw: Draw) -> None:
        """Draw no query: it is learned together with the readout."""

    def draw_training(self, draw: Draw, query: Any) -> TrainingSet:
        """Draw tokens and train on all of them: two steps, the readout, then all parameters."""
        return train_jointly(draw)
