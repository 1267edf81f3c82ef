"""Gradient descent on query, readout and bias together (docs/theory, section 13)."""

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from sparsetoken.models.base import Look, Model, Size, count_samples, one_size
from sparsetoken.vocabulary import COLORS, group

if TYPE_CHECKING:
    import numpy as np

    from sparsetoken.estimate import Estimate
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

    def theory(
        self, problem: "Problem", sizes: Sequence[Size], settings: Mapping[str, Any]
    ) -> list[Any]:
        """Return the state after the last step."""
        complete = self.complete(settings)
        return [LastStep(problem, one_size(self, size), complete) for size in sizes]

    def trial(
        self,
        problem: "Problem",
        size: Size,
        dim: int,
        settings: Mapping[str, Any],
        rng: "np.random.Generator",
    ) -> Any:
        """Train on dense tokens."""
        n_samples = count_samples(one_size(self, size), dim)
        return Descent(problem, n_samples, dim, self.complete(settings), rng)


class LastStep:
    """The state after the last step by theory, each number an Estimate."""

    def __init__(self, problem: "Problem", alpha: float, settings: dict[str, Any]) -> None:
        self.problem, self.alpha, self.settings = problem, alpha, settings

    @cached_property
    def path(self) -> Any:
        """The whole training."""
        from sparsetoken.theory import training

        path = training(self.problem, alpha=self.alpha, **self.settings)
        if path.diverged_at is not None:
            raise ArithmeticError(f"the training runs away in step {path.diverged_at}")
        return path

    @property
    def sharpness(self) -> "Estimate":
        """Sharpness β‖q‖ of the attention."""
        return scaled(self.settings["beta"], self.query_norm)

    def __getattr__(self, name: str) -> Any:
        from sparsetoken.estimate import Estimate

        if name.startswith("_") or name not in self.path.errors:
            raise AttributeError(name)
        value, bar = getattr(self.path, name)[-1], self.path.errors[name][-1]
        return Estimate(value, bar, self.path.converged)


class Descent:
    """What gradient descent on dense tokens learned, tested as any attention is tested."""

    def __init__(
        self,
        problem: "Problem",
        n_samples: int,
        dim: int,
        settings: dict[str, Any],
        rng: "np.random.Generator",
    ) -> None:
        from sparsetoken.losses import get_loss
        from sparsetoken.models.descent import descend

        self.problem, self.settings, self.rng = problem, settings, rng
        steps = {name: value for name, value in settings.items() if name != "n_points"}
        steps["loss"] = get_loss(settings["loss"])
        *_, (self.query, self.train_loss) = descend(problem, n_samples, dim, rng=rng, **steps)

    @cached_property
    def performance(self) -> Any:
        """What query and readout do on fresh samples."""
        from sparsetoken.estimators.readout import LinearReadout
        from sparsetoken.models.readout_trial import judge_attention
        from sparsetoken.pooling import Softmax

        readout = LinearReadout(self.query.readout, self.query.bias)
        arguments = self.problem, self.query, readout, self.settings, self.rng
        return judge_attention(*arguments, Softmax())

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self.query if hasattr(self.query, name) else self.performance, name)


def scaled(factor: float, number: Any) -> "Estimate":
    """Return a multiple of an Estimate."""
    from sparsetoken.estimate import Estimate

    return Estimate(factor * number, factor * number.uncertainty, number.converged)
