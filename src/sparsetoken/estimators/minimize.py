"""L-BFGS on many objectives at once: each has its own history and step, one call evaluates all."""

from collections.abc import Callable

import numpy as np

from sparsetoken._njit import njit
from sparsetoken._types import Floats, Indices

_MEMORY = 10
_ARMIJO = 1e-4
_NOISE = 1e-7  # relative error of an objective computed in single precision
_MOST_TRIALS = 10  # of one line search


def minimize_many(
    objective: Callable[[Floats, Indices], tuple[Floats, Floats]],
    start: Floats,
    steps: int,
    tolerance: float,
) -> Floats:
    """Return a minimum (K, P) of each of K smooth objectives, from the rows of ``start``.

    ``objective(points, which)`` returns values (A,) and gradients (A, P) of some of them. One is
    finished after so many steps, or when a step lowers it by less than ``tolerance`` of its value.
    """
    which = np.arange(len(start))
    point = start.copy()
    value, gradient = objective(point, which)
    history = _CurvaturePairs(*start.shape)
    direction = history.direction(gradient, which)
    length = np.ones(len(start))
    taken, trials = np.zeros((2, len(start)), dtype=int)
    which = which[np.abs(gradient).max(axis=1) > 0]
    while which.size:
        current, along = point[which], direction[which]
        trial = current + length[which, np.newaxis] * along
        new_value, new_gradient = objective(trial, which)
        slope = np.einsum("kp,kp->k", gradient[which], along)
        old = value[which]
        expected = _ARMIJO * length[which] * slope + _NOISE * np.abs(old)
        good = new_value <= old + expected  # false where not a number

        accepted = which[good]
        history.add(accepted, (trial - current)[good], (new_gradient - gradient[which])[good])
        point[accepted], gradient[accepted] = trial[good], new_gradient[good]
        value[accepted] = new_value[good]
        direction[accepted] = history.direction(new_gradient[good], accepted)
        length[accepted], trials[accepted] = 1.0, 0
        taken[accepted] += 1

        rejected = which[~good]
        rise = (new_value - old - length[which] * slope)[~good]
        with np.errstate(invalid="ignore", divide="ignore"):
            best = -0.5 * slope[~good] * length[rejected] / rise  # of a parabola, in lengths
        length[rejected] *= np.clip(np.nan_to_num(best, nan=0.1), 0.1, 0.5)
        trials[rejected] += 1

        stuck = good & (old - new_value <= tolerance * np.abs(old))
        which = which[~stuck & (taken[which] < steps) & (trials[which] < _MOST_TRIALS)]
    return point


class _CurvaturePairs:
    """The last steps of each objective, and the changes of its gradient along them."""

    def __init__(self, count: int, size: int) -> None:
        self.steps, self.changes = np.zeros((2, _MEMORY, count, size))
        self.inverse = np.zeros((_MEMORY, count))  # of ⟨step, change⟩; zero: nothing stored
        self.latest = np.full(count, -1)

    def add(self, which: Indices, steps: Floats, changes: Floats) -> None:
        """Remember a step of each objective in ``which``, if its curvature was positive."""
        product = np.einsum("kp,kp->k", steps, changes)
        size = np.linalg.norm(steps, axis=1) * np.linalg.norm(changes, axis=1)
        curved = product > 1e-8 * size
        which = which[curved]
        self.latest[which] = slot = (self.latest[which] + 1) % _MEMORY
        self.steps[slot, which], self.changes[slot, which] = steps[curved], changes[curved]
        self.inverse[slot, which] = 1.0 / product[curved]

    def direction(self, gradients: Floats, which: Indices) -> Floats:
        """Return minus the inverse Hessian times each gradient; of length one without history."""
        directions = -gradients
        _two_loops(directions, which, self.steps, self.changes, self.inverse, self.latest)
        return directions


@njit(nogil=True)
def _two_loops(directions, which, steps, changes, inverse, latest):  # type: ignore[no-untyped-def]
    along = np.empty(_MEMORY)
    for row in range(which.size):
        k, vector = which[row], directions[row]
        for age in range(_MEMORY):
            slot = (latest[k] - age) % _MEMORY
            along[age] = inverse[slot, k] * np.dot(steps[slot, k], vector)
            vector -= along[age] * changes[slot, k]
        last = latest[k] % _MEMORY
        if inverse[last, k] > 0.0:
            vector /= inverse[last, k] * np.dot(changes[last, k], changes[last, k])
        else:
            vector /= max(np.sqrt(np.dot(vector, vector)), 1e-300)
        for age in range(_MEMORY - 1, -1, -1):
            slot = (latest[k] - age) % _MEMORY
            back = inverse[slot, k] * np.dot(changes[slot, k], vector)
            vector += (along[age] - back) * steps[slot, k]
