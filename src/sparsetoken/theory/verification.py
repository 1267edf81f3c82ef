"""A second look at a solution before it is called converged.

The five stationarity conditions of docs/theory, section 4, in their original form, with averages
point by point instead of on grids, over points that no coarse solution has seen. A wrong solution
breaks them by far; a right one meets them within the sampling error of the points.
"""

import math

import numpy as np
from numpy.typing import NDArray

from sparsetoken.theory.law import FeatureLaw, Points
from sparsetoken.theory.saddle import Problem, Readout, score_moments

__all__ = ["is_stationary"]

Array = NDArray[np.float64]

_BLOCKS = 8
_BLOCK = 64  # points per class
_SMALLEST = 128
_ACCURACY = 0.02
_ERRORS = 6.0


@np.errstate(all="ignore")
def is_stationary(law: FeatureLaw, problem: Problem, readout: Readout) -> bool:
    """Whether the conditions hold, each relative to the size of its terms."""
    points, blocks = _some_points(law)
    problem = problem._replace(points=points, resolution=math.inf)
    m = score_moments(problem, readout)
    x, c2 = readout, points.scale**2
    slope = math.sqrt(points.average(m.hh))  # typical ℓ′
    size = [
        slope * math.sqrt(points.average(along**2 + c2))
        for along in (points.along_query, points.along_rest)
    ]
    pull = c2 * m.k
    # A constant, what is averaged over the points, and the size of both.
    conditions = [
        (problem.reg * x.along_query, points.along_query * m.h, size[0]),
        (0.0, m.h, slope),
    ]
    if math.isfinite(problem.alpha):
        chi = math.exp(x.log_step)
        tension = 1.0 / (problem.alpha * chi)
        conditions += [
            (tension * x.along_rest, points.along_rest * m.h, size[1]),
            (-(x.spread**2), problem.alpha * chi**2 * c2 * m.hh, x.spread**2),
            (problem.reg - tension, pull, tension),
        ]
    else:
        rest = points.along_rest * m.h + x.along_rest * pull
        conditions += [(problem.reg * x.along_rest, rest, size[1])]
    for constant, each, scale in conditions:
        error = _standard_error(points.weight * each, blocks)
        missing = abs(constant + points.average(each))
        if not missing <= _ERRORS * error + _ACCURACY * scale:
            return False
    return True


def _some_points(law: FeatureLaw) -> tuple[Points, Array]:
    """Return the last points, weighted for all, and the block of each.

    The points of the smallest scales are all there, in no block: they can be rare and still hold
    the readout in place.
    """
    p = law.points
    if law.batches == 1:
        return p, np.full(p.weight.size, -1)
    chosen = np.arange(p.weight.size).reshape(2, -1)[:, -_BLOCKS * _BLOCK :]
    smallest = np.argpartition(p.scale, _SMALLEST)[:_SMALLEST]
    block = np.broadcast_to(np.arange(chosen.shape[1]) * _BLOCKS // chosen.shape[1], chosen.shape)
    kept = ~np.isin(chosen, smallest)
    index = np.concatenate([smallest, chosen[kept]])
    blocks = np.concatenate([np.full(_SMALLEST, -1), block[kept]])
    some = Points(*(column[index] for column in p))
    weight = some.weight.copy()
    for label in (-1.0, 1.0):
        here = some.label == label
        counted, rest = here & (blocks < 0), here & (blocks >= 0)
        missing = p.weight[p.label == label].sum() - weight[counted].sum()
        weight[rest] *= missing / max(weight[rest].sum(), 1e-300)
    return some._replace(weight=weight), blocks


def _standard_error(terms: Array, blocks: Array) -> float:
    """Return the sampling error of a sum, from the spread of its blocks."""
    sums = np.bincount(blocks[blocks >= 0], terms[blocks >= 0], minlength=_BLOCKS)
    return math.sqrt(_BLOCKS) * float(np.std(sums, ddof=1))
