"""How long and how fast to train, checked."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sparsetoken._types import Floats
from sparsetoken._validation import check_count, check_real

_LARGEST = 1e4  # norms beyond it are a divergence: nothing is learned there


@dataclass(frozen=True)
class Schedule:
    """Rates of every step: query and readout in ``rates``, shape (steps, 2), and the bias."""

    rates: Floats
    lr_bias: Floats
    alpha: float
    reg: float
    beta: float

    @classmethod
    def make(
        cls,
        steps: int,
        alpha: float,
        reg: float,
        beta: float,
        lr_query: float | Sequence[float],
        lr_readout: float | Sequence[float],
        lr_bias: float | Sequence[float],
    ) -> "Schedule":
        """Check the arguments; a rate is a number, or one for each step."""
        steps = check_count("steps", steps)
        by_name = {"lr_query": lr_query, "lr_readout": lr_readout, "lr_bias": lr_bias}
        query, readout, bias = (_per_step(name, rate, steps) for name, rate in by_name.items())
        return cls(
            np.stack([query, readout], axis=1),
            bias,
            check_real("alpha", alpha, low=0.0, above=True),
            check_real("reg", reg, low=0.0),
            check_real("beta", beta, low=0.0),
        )

    def first(self, steps: int) -> "Schedule":
        """Return the same for the first steps only."""
        return replace(self, rates=self.rates[:steps], lr_bias=self.lr_bias[:steps])

    @property
    def steps(self) -> int:
        """Number of steps."""
        return len(self.lr_bias)


def _per_step(name: str, rate: Any, steps: int) -> Floats:
    if np.ndim(rate) == 0:
        return np.full(steps, check_real(name, rate, low=0.0))
    rates = [check_real(name, one, low=0.0) for one in rate]
    if len(rates) != steps:
        raise ValueError(
            f"{name} must be a number or have one for each of {steps} steps, got {rate!r}"
        )
    return np.array(rates)


def too_large(gram: Floats, bias: float, beta: float) -> bool:
    """Whether the parameters have run away."""
    sizes = beta**2 * gram[0, 0], gram[0, 0], gram[1, 1], bias**2
    return not all(math.isfinite(size) and size <= _LARGEST**2 for size in sizes)
