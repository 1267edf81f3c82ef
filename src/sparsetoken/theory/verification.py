"""A second look at a solution before it is called converged.

The five stationarity conditions of docs/theory, section 4, in their original form, with averages
point by point instead of on grids, over points that no coarse solution has seen. A wrong solution
breaks them by far; a right one meets them within the sampling error of the points.
"""

import math

import numpy as np
from numpy.typing import NDArray

from sparsetoken.law import FeatureLaw, Points, Readout
from sparsetoken.theory.saddle import Problem, score_moments

__all__ = ["is_stationary"]

Array = NDArray[np.float64]

_BLOCKS = 8
_BLOCK = 32  # points per class
_HEAVIEST = 96
_ACCURACY = 0.02
_ERRORS = 6.0


@np.errstate(all="ignore")
def is_stationary(law: FeatureLaw, problem: Problem, readout: Readout, pull: Array) -> bool:
    """Whether the conditions hold, each relative to the size of its terms.

    ``pull`` says how much each point pulls at the readout: E[ℓ′²].
    """
    points, blocks = _some_points(law, pull)
    problem = problem._replace(points=points, resolution=math.inf)
    m = score_moments(problem, readout)
    x, c2 = readout, points.scale**2
    slope = math.sqrt(points.average(m.hh))  # typical ℓ′
    size = [
        slope * math.sqrt(points.average(along**2 + c2))
        for along in (points.along_query, points.along_rest)
    ]
    stiffness = c2 * m.k
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
            (problem.reg - tension, stiffness, tension),
        ]
    else:
        rest = points.along_rest * m.h + x.along_rest * stiffness
        conditions += [(problem.reg * x.along_rest, rest, size[1])]
    for constant, each, scale in conditions:
        error = 0.0 if law.batches == 1 else _standard_error(points.weight * each, blocks)
        missing = abs(constant + points.average(each))
        if not missing <= _ERRORS * error + _ACCURACY * scale:
            return False
    return True


def _some_points(law: FeatureLaw, pull: Array) -> tuple[Points, Array]:
    """Return the last points, weighted for all, and the block of each.

    The points that pull most are all there, in no block: they can be rare and still hold the
    readout in place.
    """
    p = law.points
    if law.batches == 1:
        return p, np.full(p.weight.size, -1)
    heaviest = np.argpartition(-pull, _HEAVIEST)[:_HEAVIEST]
    rows, blocks, weights = [heaviest], [np.full(_HEAVIEST, -1)], [p.weight[heaviest]]
    many = max(_BLOCKS * _BLOCK * 2 // len(law.sizes), 8 * _BLOCKS)
    for end, size in zip(np.cumsum(law.sizes), law.sizes, strict=True):
        chosen = np.arange(end - min(size, many), end)
        others = ~np.isin(chosen, heaviest)
        rows.append(chosen[others])
        blocks.append((np.arange(chosen.size) * _BLOCKS // chosen.size)[others])
        counted = heaviest[(heaviest >= end - size) & (heaviest < end)]
        rest = p.weight[end - size : end].sum() - p.weight[counted].sum()
        weights.append(np.full(rows[-1].size, rest / max(rows[-1].size, 1)))
    index = np.concatenate(rows)
    some = Points(*(column[index] for column in p))
    return some._replace(weight=np.concatenate(weights)), np.concatenate(blocks)


def _standard_error(terms: Array, blocks: Array) -> float:
    """Return the sampling error of a sum, from the spread of its blocks."""
    sums = np.bincount(blocks[blocks >= 0], terms[blocks >= 0], minlength=_BLOCKS)
    return math.sqrt(_BLOCKS) * float(np.std(sums, ddof=1))
