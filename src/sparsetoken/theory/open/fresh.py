"""Training on new samples at every step, and on one sample at a time (docs/theory, section 13)."""

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.integrate import RK45

from sparsetoken._types import Floats
from sparsetoken.losses import Loss
from sparsetoken.problem import Problem
from sparsetoken.theory.features import token_noise
from sparsetoken.theory.open.averages import Averages, gaussian_averages

_LARGEST = 1e4  # norms beyond it are a divergence: nothing is learned there
_MOST_STEPS = 200  # of the integrator between two rows; rates that need more are too large


@dataclass(frozen=True)
class Schedule:
    """How long and how fast to train."""

    rates: Floats  # of query and readout in each step, shape (steps, 2)
    lr_bias: Floats
    alpha: float
    reg: float
    beta: float

    @property
    def steps(self) -> int:
        """Number of steps."""
        return len(self.lr_bias)


class Parameters(NamedTuple):
    """Query and readout as the theory sees them, in this order, and the bias."""

    overlap: Floats  # m: overlaps with the signal's direction, shape (2,)
    gram: Floats  # Q: inner products, shape (2, 2)
    bias: float

    def too_large(self, beta: float) -> bool:
        """Whether they have run away."""
        query, readout = self.gram.diagonal()
        sizes = beta**2 * query, query, readout, self.bias**2
        return not all(math.isfinite(size) and size <= _LARGEST**2 for size in sizes)


ZERO = Parameters(np.zeros(2), np.zeros((2, 2)), 0.0)


class NewSamples:
    """Points for averages over new samples: the groups, each with the noise of one scrambling."""

    def __init__(
        self, problem: Problem, beta: float, loss: Loss, n_points: int, batch: int
    ) -> None:
        self.groups, self.beta, self.loss = problem.groups, beta, loss
        self.noise = [token_noise(group.kind, n_points, batch) for group in problem.groups]

    def average(self, at: Parameters) -> Averages:
        """Average over new samples."""
        total = np.zeros(11)
        for group, noise in zip(self.groups, self.noise, strict=True):
            law = group.kind.signal * at.overlap, at.gram, at.bias
            averages = gaussian_averages(group, *law, noise, self.beta, self.loss)
            total += group.probability * averages
        return Averages.from_sums(total)


def run_fresh(points: NewSamples, schedule: Schedule) -> list[Floats]:
    """Return the rows of :func:`row_of` after each step, up to the first that is too large."""
    at, rows = ZERO, []
    seen = points.average(at)
    for rates, lr_bias in zip(schedule.rates, schedule.lr_bias, strict=True):
        response = np.eye(2) - rates[:, np.newaxis] * (seen.response + schedule.reg * np.eye(2))
        pull = rates * seen.pull
        kept = response @ at.overlap
        gram = response @ at.gram @ response.T - np.outer(kept, pull) - np.outer(pull, kept)
        gram += np.outer(pull, pull) + np.outer(rates, rates) * seen.energy / schedule.alpha
        at = Parameters(kept - pull, gram, at.bias - lr_bias * seen.slope)
        if at.too_large(schedule.beta):
            break
        seen = points.average(at)
        rows.append(row_of(at, seen.loss, seen.error))
    return rows


def run_online(turns: list[NewSamples], schedule: Schedule) -> list[Floats]:
    """Return the same after every ``alpha`` samples per dimension, used one at a time.

    The rates are those of a sample, over the dimension. The ``turns`` follow each other from one
    step of the integrator to the next, so that their errors average out over time.
    """
    at, taken, length = _pack(ZERO), 0, None
    rows: list[Floats] = []
    for rates, lr_bias in zip(schedule.rates, schedule.lr_bias, strict=True):

        def flow(
            time: float, packed: Floats, rates: Floats = rates, lr_bias: float = lr_bias
        ) -> Floats:
            now = _unpack(packed)
            seen = turns[taken % len(turns)].average(now)  # noqa: B023
            response = seen.response + schedule.reg * np.eye(2)
            drift = rates * (response @ now.overlap + seen.pull)
            cross = rates[:, np.newaxis] * (response @ now.gram + np.outer(seen.pull, now.overlap))
            change = np.outer(rates, rates) * seen.energy - cross - cross.T
            return _pack(Parameters(-drift, change, -lr_bias * seen.slope))

        solver = RK45(flow, 0.0, at, schedule.alpha, rtol=1e-4, atol=1e-7, first_step=length)
        begun = taken
        while solver.status == "running":
            solver.step()
            taken += 1
            now = _unpack(solver.y)
            lost = solver.status == "failed" or taken > begun + _MOST_STEPS
            if lost or now.too_large(schedule.beta):
                return rows
            length = min(max(solver.step_size, length or 0.0), schedule.alpha)
        at = solver.y
        seen = turns[0].average(now)
        rows.append(row_of(now, seen.loss, seen.error))
    return rows


def row_of(at: Parameters, train_loss: float, test_error: float) -> Floats:
    """Return (⟨q,ξ⟩, ⟨w,ξ⟩, ‖q‖², ⟨q,w⟩, ‖w‖², bias, training loss, test error)."""
    return np.array([*_pack(at), train_loss, test_error])


def _pack(at: Parameters) -> Floats:
    gram = at.gram
    return np.array([*at.overlap, gram[0, 0], gram[0, 1], gram[1, 1], at.bias])


def _unpack(packed: Floats) -> Parameters:
    gram = np.array([[packed[2], packed[3]], [packed[3], packed[4]]])
    return Parameters(packed[:2], gram, float(packed[5]))
