"""The function whose saddle point is the trained readout, and its derivatives.

In docs/theory, section 4, it is minimized over x = (along_query, along_rest, bias, spread)
= (w₁, w₂, b, τ) and maximized over χ. One pass over the points gives value, gradient and Hessian in
x and log χ together, all from the same quadrature nodes.

At α = ∞ the readout has no component outside the plane of query and signal: τ = 0, χ = 0.
"""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sparsetoken._njit import njit
from sparsetoken._types import Floats
from sparsetoken.law import FeatureLaw, Points, Readout, score_mean
from sparsetoken.losses import Loss
from sparsetoken.theory.envelope_averages import Moments, envelope_moments


class ReadoutObjective(NamedTuple):
    """What is optimized: a loss over the points of a feature law, at a ratio and ridge."""

    points: Points
    loss: Loss
    alpha: float
    reg: float
    smoothing: float = 0.0
    """The loss is replaced by its Moreau envelope at this scale: no kinks."""
    resolution: float = math.inf
    """How finely averages over G are tabulated; infinite for one by one (envelope_averages.py)."""

    @property
    def largest_log_chi(self) -> float:
        """Bound of log χ: at the saddle point 1/(αχ) ≥ λ."""
        return -math.log(self.alpha * self.reg or 1e-14) if math.isfinite(self.alpha) else 0.0


class Derivatives(NamedTuple):
    """One pass over the points: the function and its derivatives at a readout."""

    value: float
    gradient: Floats
    hessian: Floats
    step_gradient: float
    step_hessian: float
    cross: Floats
    excess: float
    """log of E[(r−p)²/c²] over τ²/α, zero when χ is right."""
    excess_slope: float
    metric: Floats
    """E[∂r ∂rᵀ]: how the scores change with x."""

    @property
    def system(self) -> tuple[Floats, Floats]:
        """Matrix and right side of a Newton step in x and log χ (x alone at α = ∞)."""
        if self.gradient.size == 3:
            return self.hessian, self.gradient
        matrix = np.full((5, 5), self.step_hessian)
        matrix[:4, :4] = self.hessian
        matrix[4, :4] = matrix[:4, 4] = self.cross
        return matrix, np.append(self.gradient, self.step_gradient)


def evaluate(objective: ReadoutObjective, readout: Readout) -> tuple[Derivatives, Moments]:
    """Make one pass; also return the averages over G it was made from."""
    moments = score_moments(objective, readout)
    return assemble(objective, readout, moments), moments


def score_moments(objective: ReadoutObjective, readout: Readout) -> Moments:
    """Averages over G of each point, where r = mean + ρcG and ρ may be negative at α = ∞."""
    points, finite = objective.points, math.isfinite(objective.alpha)
    norm = readout.norm_rest if finite else readout.along_rest
    m = envelope_moments(
        objective.loss,
        points.label,
        score_mean(points, readout),
        points.scale,
        abs(norm),
        math.exp(readout.log_chi) if finite else 0.0,
        smoothing=objective.smoothing,
        resolution=objective.resolution,
    )
    # r = mean − |ρ|cG: odd moments change sign.
    return m if norm >= 0 else m._replace(gh=-m.gh, gk=-m.gk, ghk=-m.ghk)


def assemble(
    objective: ReadoutObjective,
    readout: Readout,
    m: Moments,
    rows: Sequence[slice] = (slice(None),),
    factor: float = 1.0,
) -> Derivatives:
    """Sum up the averages of the points, or of those in ``rows`` with ``factor`` their weight."""
    points, alpha, reg = objective.points, objective.alpha, objective.reg
    finite = math.isfinite(alpha)
    norm = readout.norm_rest if finite else readout.along_rest
    chi = math.exp(readout.log_chi) if finite else 0.0

    # ρ depends on w₂ and τ; at α = ∞ it is w₂ itself, with its sign.
    slopes = (readout.along_rest / norm, readout.spread / norm) if finite else (1.0, 0.0)
    total = _Sums(np.zeros(4), np.zeros(4), np.zeros(4), np.zeros((4, 4)), np.zeros((4, 4)))
    for row in rows:
        subset = Points(*(column[row] for column in points))
        _add_points(subset, Moments(*(moment[row] for moment in m)), slopes, factor, total)
    scalars, gradient, cross, hessian, metric = total
    value, used, saved, pull = scalars.tolist()
    for i in (0, 1, 3):
        value += 0.5 * reg * readout[i] ** 2
        gradient[i] += reg * readout[i]
        hessian[i, i] += reg
    if not finite:
        zero = np.zeros(3)
        return Derivatives(
            value, gradient[:3], hessian[:3, :3], 0.0, -1.0, zero, 0.0, 1.0, metric[:3, :3]
        )

    bend = pull / norm  # ρ is curved in (w₂, τ)
    hessian[1, 1] += bend * slopes[1] ** 2
    hessian[1, 3] -= bend * slopes[0] * slopes[1]
    hessian[3, 1] = hessian[1, 3]
    tension = 1.0 / (alpha * chi)
    spent = tension * readout.spread**2
    used, saved = max(chi * used, 1e-300), chi**2 * saved
    hessian[3, 3] += bend * slopes[0] ** 2 - tension
    gradient[3] -= tension * readout.spread
    cross *= -chi
    cross[3] += tension * readout.spread
    return Derivatives(
        value=value - 0.5 * spent,
        gradient=gradient,
        hessian=hessian,
        step_gradient=0.5 * (spent - used),
        step_hessian=-0.5 * (spent + used) + saved,
        cross=cross,
        excess=math.log(used) - math.log(max(spent, 1e-300)),
        excess_slope=max(2.0 * (1.0 - saved / used), 1e-3),
        metric=metric,
    )


class _Sums(NamedTuple):
    """Sums over the points."""

    scalars: Floats
    """E[M], E[c²h²], E[c⁴h²k], E[cGh]"""
    gradient: Floats
    cross: Floats
    hessian: Floats
    metric: Floats


@njit(fastmath={"reassoc", "contract"})
def _add_points(points, m, slopes, factor, total):  # type: ignore[no-untyped-def]
    """Add points to the sums, with ∂r/∂x = (a, b, 1, 0) + cG·(0, rest, 0, spread)."""
    value = used = saved = 0.0
    h_1 = h_a = h_b = h_g = c_1 = c_a = c_b = c_g = 0.0
    k_1 = k_a = k_b = k_aa = k_ab = k_bb = k_g = k_ga = k_gb = k_gg = 0.0
    m_1 = m_a = m_b = m_aa = m_ab = m_bb = m_gg = 0.0
    for n in range(points.weight.size):
        a, b, c = points.along_query[n], points.along_rest[n], points.scale[n]
        w, c2 = factor * points.weight[n], c * c
        value += w * m.envelope[n]
        used += w * c2 * m.hh[n]
        saved += w * c2 * c2 * m.hhk[n]
        x = w * m.h[n]
        h_1 += x
        h_a += x * a
        h_b += x * b
        h_g += w * c * m.gh[n]
        x = w * c2 * m.hk[n]
        c_1 += x
        c_a += x * a
        c_b += x * b
        c_g += w * c2 * c * m.ghk[n]
        x = w * m.k[n]
        k_1 += x
        k_a += x * a
        k_b += x * b
        k_aa += x * a * a
        k_ab += x * a * b
        k_bb += x * b * b
        x = w * c * m.gk[n]
        k_g += x
        k_ga += x * a
        k_gb += x * b
        k_gg += w * c2 * m.ggk[n]
        m_1 += w
        m_a += w * a
        m_b += w * b
        m_aa += w * a * a
        m_ab += w * a * b
        m_bb += w * b * b
        m_gg += w * c2
    rest, spread = slopes
    total.scalars[:] += np.array([value, used, saved, h_g])
    total.gradient[:] += np.array([h_a, h_b + rest * h_g, h_1, spread * h_g])
    total.cross[:] += np.array([c_a, c_b + rest * c_g, c_1, spread * c_g])
    without_noise = k_aa, k_ab, k_a, k_bb, k_b, k_1
    _add_products(total.hessian, without_noise, (k_ga, k_gb, k_g, k_gg), slopes)
    # A turn of (w₂, τ) keeps ρ to first order, but it is another readout: other scores as well.
    without_noise = m_aa, m_ab, m_a, m_bb, m_b, m_1
    _add_products(total.metric, without_noise, (0.0, 0.0, 0.0, 0.0), (0.0, 0.0))
    total.metric[1, 1] += m_gg
    total.metric[3, 3] += m_gg


@njit()
def _add_products(matrix, without_noise, with_noise, slopes):  # type: ignore[no-untyped-def]
    """Add E[∂r ∂rᵀ ·] to a symmetric matrix, from its sums."""
    aa, ab, a, bb, b, one = without_noise
    ga, gb, g, gg = with_noise
    rest, spread = slopes
    upper = (
        (aa, ab + rest * ga, a, spread * ga),
        (0.0, bb + 2.0 * rest * gb + rest * rest * gg, b + rest * g, spread * (gb + rest * gg)),
        (0.0, 0.0, one, spread * g),
        (0.0, 0.0, 0.0, spread * spread * gg),
    )
    for i in range(4):
        for j in range(i, 4):
            matrix[i, j] += upper[i][j]
            matrix[j, i] = matrix[i, j]


# A second look at a solution before it is called converged. The solver's averages over G may come
# from grids. A subset is re-averaged exactly; the difference corrects the totals. A wrong solution
# breaks the conditions by far; a right one meets them within the error of the correction.

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
