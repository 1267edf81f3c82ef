"""The published protocol: two gradient steps teach the query, then the readout is trained.

Any pooling that is not given a query learns it in the same way.
"""

import math
from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np

from sparsetoken._types import Floats
from sparsetoken.estimate import Estimate
from sparsetoken.experiments.cell import Cell
from sparsetoken.experiments.models.attention import PoolingModel
from sparsetoken.experiments.models.base import (
    TWO_STEPS,
    Numbers,
    Rng,
    WayOfTraining,
    count_samples,
    measured,
    trial_seeds,
    two_steps,
)
from sparsetoken.experiments.models.readout import SIMULATED, ReadoutModel
from sparsetoken.losses import get_loss
from sparsetoken.population import AnyProblem
from sparsetoken.sampling import LearnedQuery, sample_query
from sparsetoken.vocabulary import group

QUERY = measured("query")

_SAMPLES = frozenset({"alpha0", "alpha", "split"})
# Bounds of |log α₀| where a number of samples is searched, how closely, and where its slope is
# taken.
_FURTHEST, _CLOSE, _NEAR = 12.0, 0.01, 0.5


class TwoStepModel(PoolingModel):
    """Attention whose query is learned by two gradient steps on samples of its own."""

    name = "two-step"
    predicted = ReadoutModel.predicted | QUERY
    simulated = SIMULATED | (QUERY - {"misalignment"})
    query_parameters = TWO_STEPS | _SAMPLES

    def variant(self, values: Mapping[str, Any]) -> WayOfTraining:
        """Return the tuned protocol where it is asked for."""
        return TunedTwoStepModel() if values.get("tuned") else self

    def parameters(self, quantity: str, source: str) -> set[str]:
        """Return those of any readout; a number of samples that is searched is none of them."""
        names = super().parameters(quantity, source)
        return names - _SAMPLES if quantity == "required_samples" else names

    def predict_query(self, cell: Cell) -> Any:
        """Return what the two steps teach, if anything depends on it."""
        from sparsetoken.theory import alignment

        if not {"alpha", "alpha0"} & cell.values.keys():
            return None
        return alignment(cell.problem, alpha=cell.alpha0, **two_steps(cell))

    def simulate(self, cell: Cell) -> Numbers:
        """Return means over the trials, and the number of samples at which the query turns."""
        others = tuple(name for name in cell.quantities if name != "required_samples")
        numbers = super().simulate(replace(cell, quantities=others)) if others else {}
        if others != cell.quantities:
            numbers["required_samples"] = _required_samples(cell)
        return {quantity: numbers[quantity] for quantity in cell.quantities}

    def trial(self, cell: Cell, rng: Rng) -> dict[str, float]:
        """Draw a query, and unless it alone is asked for, train a readout."""
        if set(cell.quantities) <= QUERY:
            query = self.draw_query(cell, rng)
            return {name: getattr(query, name) for name in cell.quantities}
        return super().trial(cell, rng)

    def draw_query(self, cell: Cell, rng: Rng) -> LearnedQuery:
        """Draw the query that the two steps learn."""
        return _learn_query(cell, cell.alpha0, rng)


class TunedTwoStepModel(TwoStepModel):
    """The same with the learning rates, split and ridge that the theory finds best."""

    predicted = TwoStepModel.predicted - {"required_samples"}
    simulated = TwoStepModel.simulated - {"required_samples"}
    chained = frozenset()  # each cell has settings of its own

    def parameters(self, quantity: str, source: str) -> set[str]:
        """Return the values that are not searched; the best weights depend on no setting."""
        if quantity in measured("oracle"):
            return super().parameters(quantity, source)
        searched = {"split", "alpha0", "alpha1", "reg", *group("two steps")}
        return super().parameters(quantity, source) - searched | {"model", "tuned"}

    def tuned_values(self, cell: Cell) -> dict[str, Any]:
        """Return the values of the cell with the best settings."""
        values = {name: v for name, v in cell.values.items() if name not in ("tuned", "alpha")}
        return values | _best_protocol(cell.problem, cell.values["alpha"], values["loss"])


@lru_cache
def _best_protocol(problem: AnyProblem, alpha: float, loss: str) -> dict[str, Any]:
    from sparsetoken.theory.dynamics.best import best_protocol

    return best_protocol(problem, alpha=alpha, loss=get_loss(loss))


def _learn_query(cell: Cell, alpha: float, rng: Rng) -> LearnedQuery:
    """Draw the query that two steps learn from ``alpha`` samples per dimension."""
    dim = cell.values["dim"]
    steps = two_steps(cell) | {"loss": get_loss(cell.values["loss"])}
    return sample_query(cell.problem, count_samples(alpha, dim), dim, random_state=rng, **steps)


def _required_samples(cell: Cell) -> Estimate:
    """Return where the mean cosine of the trials crosses one half, by bisection.

    Trials keep their seeds from one number of samples to the next.
    """
    seeds = trial_seeds(cell)

    def cosines(log_alpha: float) -> Floats:
        rngs = map(np.random.default_rng, seeds)
        return np.array([_learn_query(cell, math.exp(log_alpha), rng).cosine for rng in rngs])

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
    crossing = math.exp(0.5 * (low + high))
    return Estimate(crossing, crossing * (spread / max(slope, 1e-9) + _CLOSE), slope > 0.0)
