"""Queries of a simulation: learned by two steps, or made to measure."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sparsetoken.estimate import Estimate
from sparsetoken.experiments.cell import TWO_STEPS, Cell
from sparsetoken.losses import get_loss
from sparsetoken.problem import random_direction
from sparsetoken.sampling import LearnedQuery, sample_query

__all__ = ["count_samples", "given_query", "learn_query", "required_samples", "two_steps"]

Floats = NDArray[Any]

# Bounds of |log α₀| where a number of samples is searched, how closely, and where its slope is
# taken.
_FURTHEST, _CLOSE, _NEAR = 12.0, 0.01, 0.5


def given_query(cell: Cell, direction: Floats, rng: np.random.Generator) -> LearnedQuery:
    """Make a query at the given angle to the signal."""
    other = random_direction(direction.size, rng)
    other -= (other @ direction) * direction
    other /= np.linalg.norm(other)
    cosine, sharpness = cell.values["cosine"], cell.values.get("sharpness", 1.0)
    query = sharpness * (cosine * direction + math.sqrt(1.0 - cosine**2) * other)
    return LearnedQuery(query, np.zeros_like(query), 0.0, direction, 1.0)


def learn_query(cell: Cell, alpha: float, rng: np.random.Generator) -> LearnedQuery:
    """Draw the query that two steps learn from ``alpha`` samples per dimension."""
    dim = cell.values["dim"]
    given = two_steps(cell) | {"loss": get_loss(cell.values["loss"])}
    return sample_query(cell.problem, count_samples(alpha, dim), dim, random_state=rng, **given)


def two_steps(cell: Cell) -> dict[str, Any]:
    """Return the settings of the two steps."""
    return {name: cell.values[name] for name in TWO_STEPS if name in cell.values}


def required_samples(cell: Cell, seeds: list[np.random.SeedSequence]) -> Estimate:
    """Return where the mean cosine of the trials crosses one half, by bisection.

    Trials keep their seeds from one number of samples to the next.
    """

    def cosines(log_alpha: float) -> Floats:
        return np.array(
            [
                learn_query(cell, math.exp(log_alpha), np.random.default_rng(seed)).cosine
                for seed in seeds
            ]
        )

    low = 0.0
    while cosines(low).mean() >= 0.5 and low > -_FURTHEST:
        low -= 1.0
    high = low + 1.0
    while cosines(high).mean() < 0.5 and high < _FURTHEST:
        low, high = high, high + 1.0
    while high - low > _CLOSE:
        middle = 0.5 * (low + high)
        low, high = (middle, high) if cosines(middle).mean() < 0.5 else (low, middle)
    before, after = (cosines(0.5 * (low + high) + move) for move in (-_NEAR, _NEAR))
    slope = float(after.mean() - before.mean()) / (2.0 * _NEAR)
    spread = float(np.std(0.5 * (before + after), ddof=1)) / math.sqrt(len(seeds))
    found = math.exp(0.5 * (low + high))
    return Estimate(found, found * (spread / max(slope, 1e-9) + _CLOSE), slope > 0.0)


def count_samples(alpha: float, dim: int) -> int:
    """Return the number of samples, at least two."""
    return max(2, round(alpha * dim))
