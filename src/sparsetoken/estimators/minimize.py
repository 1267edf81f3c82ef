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
    # The last steps of each objective, and the changes of its gradient along them; one over the
    # product of both is zero where nothing is stored.
    moves, changes = np.zeros((2, _MEMORY, *start.shape))
    inverse, latest = np.zeros((_MEMORY, len(start))), np.full(len(start), -1)
    direction = _descent(gradient, which, moves, changes, inverse, latest)
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
        move, change = (trial - current)[good], (new_gradient - gradient[which])[good]
        product = np.einsum("kp,kp->k", move, change)
        size = np.linalg.norm(move, axis=1) * np.linalg.norm(change, axis=1)
        curved = product > 1e-8 * size
        stored = accepted[curved]
        latest[stored] = slot = (latest[stored] + 1) % _MEMORY
        moves[slot, stored], changes[slot, stored] = move[curved], change[curved]
        inverse[slot, stored] = 1.0 / product[curved]
        point[accepted], gradient[accepted] = trial[good], new_gradient[good]
        value[accepted] = new_value[good]
        history = moves, changes, inverse, latest
        direction[accepted] = _descent(new_gradient[good], accepted, *history)
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


@njit(nogil=True)
def _descent(gradients, which, moves, changes, inverse, latest):  # type: ignore[no-untyped-def]
    """Return minus the inverse Hessian times each gradient; of length one without history."""
    directions, along = -gradients, np.empty(_MEMORY)
    for row in range(which.size):
        k, vector = which[row], directions[row]
        for age in range(_MEMORY):
            slot = (latest[k] - age) % _MEMORY
            along[age] = inverse[slot, k] * np.dot(moves[slot, k], vector)
            vector -= along[age] * changes[slot, k]
        last = latest[k] % _MEMORY
        if inverse[last, k] > 0.0:
            vector /= inverse[last, k] * np.dot(changes[last, k], changes[last, k])
        else:
            vector /= max(np.sqrt(np.dot(vector, vector)), 1e-300)
        for age in range(_MEMORY - 1, -1, -1):
            slot = (latest[k] - age) % _MEMORY
            back = inverse[slot, k] * np.dot(changes[slot, k], vector)
            vector += (along[age] - back) * moves[slot, k]
    return directions
