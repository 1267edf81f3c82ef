"""Gradient descent on query, readout and bias together (docs/theory, section 13)."""

from functools import cached_property
from typing import Any

from sparsetoken.estimators.readout import LinearReadout
from sparsetoken.losses import get_loss
from sparsetoken.models.attention import judge_attention
from sparsetoken.models.base import QUERY, Draw, Model, Settings, Size, one_size
from sparsetoken.models.descent import descend
from sparsetoken.performance import Performance
from sparsetoken.pooling import Softmax
from sparsetoken.problem import Problem
from sparsetoken.vocabulary import group

DESCENT = frozenset(
    {"test_error", "train_loss", "cosine", "sharpness", "query_norm", "readout_norm", "bias"}
)
"""The numbers that the theories of training all parameters together have."""


class GradientDescent(Model):
    """All parameters move in every step; each step sees ``alpha`` samples per dimension."""

    name = "training"
    settings = ("steps", "batches", "loss", "reg", *group("two steps"), "n_points")
    predicted = simulated = DESCENT

    def predict(self, problem: Problem, sizes: list[Size], settings: Settings) -> list[Any]:
        """Return the state after the last step."""
        from sparsetoken.models.predictions import LastStep

        return [LastStep(problem, one_size(size), settings) for size in sizes]

    def train(self, draw: Draw) -> Any:
        """Train on dense tokens."""
        return Descent(draw)


class Descent:
    """What gradient descent on dense tokens learned, tested as any attention is tested."""

    def __init__(self, draw: Draw) -> None:
        self.draw = draw
        steps = {name: value for name, value in draw.settings.items() if name != "n_points"}
        steps["loss"] = get_loss(steps["loss"])
        *_, (self.query, self.train_loss) = descend(
            draw.problem, draw.n_samples, draw.dim, rng=draw.rng, **steps
        )

    @cached_property
    def performance(self) -> Performance:
        """What query and readout do on fresh samples."""
        readout = LinearReadout(self.query.readout, self.query.bias)
        return judge_attention(self.draw, self.query, readout, Softmax())

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self.query if name in QUERY else self.performance, name)
