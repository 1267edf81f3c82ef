"""Gradient descent on query, readout and bias together (docs/theory, section 13)."""

from typing import TYPE_CHECKING, Any

from sparsetoken.models.base import Draw, Look, Model, Settings, Size, one_size
from sparsetoken.vocabulary import COLORS, group

if TYPE_CHECKING:
    from sparsetoken.problem import Problem

DESCENT = frozenset(
    {"test_error", "train_loss", "cosine", "sharpness", "query_norm", "readout_norm", "bias"}
)
"""The numbers that the theories of training all parameters together have."""


class GradientDescent(Model):
    """All parameters move in every step; each step sees ``alpha`` samples per dimension."""

    name = "training"
    look = Look(
        "gradient descent", "attention whose parameters all move in every step", COLORS[3], "v"
    )
    settings = ("steps", "batches", "loss", "reg", *group("two steps"), "n_points")
    predicted = simulated = DESCENT

    def predict(self, problem: "Problem", sizes: list[Size], settings: Settings) -> list[Any]:
        """Return the state after the last step."""
        from sparsetoken.models.predictions import LastStep

        return [LastStep(problem, one_size(size), settings) for size in sizes]

    def train(self, draw: Draw) -> Any:
        """Train on dense tokens."""
        from sparsetoken.models.trials import Descent

        return Descent(draw)
