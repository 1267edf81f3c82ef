"""A second look at a solution before it is called converged.

The five stationarity conditions of docs/theory, section 4, in their original form. The solver's
averages over G may come from grids; here some of the points, none of which the coarse solution has
seen, are averaged one by one. How far these differ corrects the averages over all points. A wrong
solution breaks the conditions by far; a right one meets them within the error of the correction.
"""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sparsetoken._types import Floats
from sparsetoken.law import FeatureLaw, Points, Readout
from sparsetoken.theory.saddle import ReadoutObjective, score_moments
from sparsetoken.theory.smoothing import Moments

Index = NDArray[np.signedinteger[Any]]

_BLOCKS = 8
_SUBSET = 512  # points looked at, in blocks
_HEAVIEST = 96  # and those that pull most: they can be rare and still hold the readout in place
_ACCURACY = 0.02
_ERRORS = 6.0  # standard errors of the correction that may be missing, up to
_MOST = 0.1


@np.errstate(all="ignore")
def is_stationary(
    law: FeatureLaw, objective: ReadoutObjective, readout: Readout, moments: Moments
) -> bool:
    """Whether the conditions hold, each relative to the size of its terms.

    ``moments`` has the solver's averages over G of all points.
    """
    index, weight, blocks = _subset(law, law.points.weight * np.abs(moments.hh))
    subset = Points(*(column[index] for column in law.points))._replace(weight=weight)
    exact = score_moments(objective._replace(points=subset, resolution=math.inf), readout)
    gridded = Moments(*(moment[index] for moment in moments))
    right, solved = (_terms(objective, readout, subset, each) for each in (exact, gridded))
    missed = weight * (right - solved)
    errors = np.array([_standard_error(row, blocks) for row in missed])
    terms = _terms(objective, readout, law.points, moments)
    totals = np.einsum("kn,n->k", terms, law.points.weight)
    slope = math.sqrt(subset.average(exact.hh))  # typical ℓ′
    along, rest = (
        slope * math.sqrt(subset.average(a**2 + subset.scale**2))
        for a in (subset.along_query, subset.along_rest)
    )
    x, reg = readout, objective.reg
    constants, sizes = [0.0, reg * x.along_query, reg * x.along_rest], [slope, along, rest]
    if math.isfinite(objective.alpha):
        tension = 1.0 / (objective.alpha * math.exp(x.log_chi))
        constants[2:] = [tension * x.along_rest, -(x.spread**2), reg - tension]
        sizes += [x.spread**2, tension]
    off = np.abs(constants + totals + missed.sum(axis=1))
    allowed = np.array(sizes) * _ACCURACY + np.minimum(_ERRORS * errors, np.array(sizes) * _MOST)
    return bool(np.all(off <= allowed))


def _terms(objective: ReadoutObjective, readout: Readout, points: Points, m: Moments) -> Floats:
    """Return what each condition averages over the points, shape (conditions, points)."""
    c2 = points.scale**2
    terms = [m.h, points.along_query * m.h, points.along_rest * m.h]
    if math.isfinite(objective.alpha):
        step = objective.alpha * math.exp(2.0 * readout.log_chi)
        terms += [step * c2 * m.hh, c2 * m.k]
    else:
        terms[2] = terms[2] + readout.along_rest * c2 * m.k
    return np.stack(terms)


def _subset(law: FeatureLaw, pull: Floats) -> tuple[Index, Floats, Index]:
    """Return some of the points, their weights to stand for all, and the block of each.

    They are the last of each part, in blocks, and the heaviest, in none.
    """
    weight, size = law.points.weight, law.points.weight.size
    if law.batches == 1:
        return np.arange(size), weight, np.full(size, -1)
    heaviest = np.argpartition(pull, -_HEAVIEST)[-_HEAVIEST:]
    light = np.ones(size, dtype=bool)
    light[heaviest] = False
    rows, blocks, weights = [heaviest], [np.full(_HEAVIEST, -1)], [weight[heaviest]]
    many = max(_SUBSET // len(law.sizes), 8 * _BLOCKS)
    for end, size in zip(np.cumsum(law.sizes), law.sizes, strict=True):
        last = np.arange(end - min(size, many), end)
        others = light[last]
        rows.append(last[others])
        blocks.append((np.arange(last.size) * _BLOCKS // last.size)[others])
        counted = heaviest[(heaviest >= end - size) & (heaviest < end)]
        left = weight[end - size : end].sum() - weight[counted].sum()
        weights.append(np.full(rows[-1].size, left / max(rows[-1].size, 1)))
    return np.concatenate(rows), np.concatenate(weights), np.concatenate(blocks)


def _standard_error(terms: Floats, blocks: Index) -> float:
    """Return the sampling error of a sum, from the spread of its blocks; none if all are in it."""
    if blocks[-1] < 0:
        return 0.0
    sums = np.bincount(blocks[blocks >= 0], terms[blocks >= 0], minlength=_BLOCKS)
    return math.sqrt(_BLOCKS) * float(np.std(sums, ddof=1))
