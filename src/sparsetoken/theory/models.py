"""The architectures as the theory sees them: a feature law, a sample ratio and a ridge."""

import math
from dataclasses import dataclass
from typing import Any

from sparsetoken._validation import check_count, check_instance, check_real
from sparsetoken.law import FeatureLaw, linear_law
from sparsetoken.pooling import Pooling, get_pooling, pooling_models
from sparsetoken.problem import Problem
from sparsetoken.theory.points import attention_law
from sparsetoken.vocabulary import quantity

DEFAULT_POINTS: int = quantity("n_points").default  # of every prediction, here and in commands
LARGEST_SHARPNESS = 1e15
_LINEAR = ("vectorized", "pooled")


@dataclass(frozen=True)
class FeatureModel:
    """A linear model, or a pooling with a query at a known cosine and sharpness."""

    name: str
    pooling: Pooling | None
    cosine: float
    sharpness: float
    n_points: int

    def law(self, problem: Problem) -> FeatureLaw:
        """Law of the model's features; a linear model's are rescaled to unit noise."""
        if self.pooling is None:
            return linear_law(problem, self._length(problem))
        return attention_law(problem, self.pooling, self.cosine, self.sharpness, self.n_points)

    def ratio(self, problem: Problem, alpha: float) -> float:
        """Return the samples per weight: a vectorized readout has L weights per dimension."""
        return alpha / self._length(problem) if self.name == "vectorized" else alpha

    def ridge(self, problem: Problem, reg: float) -> float:
        """Ridge on the rescaled weights."""
        return reg * self.readout_scale(problem) ** 2

    def readout_scale(self, problem: Problem) -> float:
        """Original weights over rescaled ones: pooled features have noise 1/√L."""
        return math.sqrt(self._length(problem)) if self.name == "pooled" else 1.0

    def _length(self, problem: Problem) -> int:
        """Return the length whose pooled noise is the unit: the only one of a vectorized model."""
        if self.name == "vectorized":
            return problem.only_length("model 'vectorized' needs")
        return problem.lengths[0]

    def law_on(self, problem: Problem, trained: Problem) -> FeatureLaw:
        """Law under another problem, in the units of the one the readout was trained on."""
        if self.pooling is not None:
            return self.law(problem)
        length = self._length(trained)
        if self.name == "vectorized" and self._length(problem) != length:
            raise ValueError(
                "problem.n_tokens must stay the same for a vectorized model, "
                f"got {self._length(problem)} after training on {length}"
            )
        return linear_law(problem, length)

    def window_law(self, problem: Problem, trained: Problem, n_windows: int) -> FeatureLaw:
        """Law of one of several equal windows, the one with all of the signal if there is one."""
        return self.law_on(problem.windows(n_windows), trained)


def get_model(
    model: str | Pooling, cosine: Any = None, sharpness: Any = None, n_points: Any = DEFAULT_POINTS
) -> FeatureModel:
    """Return the model for a name or a pooling, its arguments checked."""
    check_instance("model", model)
    if isinstance(model, Pooling) or (isinstance(model, str) and ":" in model):
        pooling = get_pooling(model)
        name = repr(pooling)
    elif model in _LINEAR:
        for argument, value in (("cosine", cosine), ("sharpness", sharpness)):
            if value is not None:
                raise ValueError(f"{argument} has no meaning for model {model!r}, got {value!r}")
        return FeatureModel(model, None, 0.0, 0.0, 0)
    elif isinstance(model, str) and model in pooling_models():
        name, pooling = model, pooling_models()[model]
    elif model == "two-step":
        raise ValueError(
            "model must have a given query, got 'two-step': use two_step_risk, "
            "or alignment for its cosine and sharpness and then model 'attention'"
        )
    else:
        names = ", ".join(map(repr, (*_LINEAR, *pooling_models())))
        raise ValueError(f"model must be one of {names} or a Pooling, got {model!r}")
    if cosine is None:
        raise ValueError(
            f"cosine must be given for model {name!r}: the cosine between query and signal"
        )
    if sharpness is None and pooling.sharpened:
        raise ValueError(f"sharpness must be given for model {name!r}: it is β‖q‖")
    sharpness = 1.0 if sharpness is None else sharpness
    return FeatureModel(
        name,
        pooling,
        check_real("cosine", cosine, low=-1.0, high=1.0),
        check_real("sharpness", sharpness, low=0.0, high=LARGEST_SHARPNESS),
        check_count("n_points", n_points, minimum=256),
    )
