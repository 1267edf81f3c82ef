"""Gaussian averages of the Moreau envelope of a loss: the only integrals the risk theory needs.

For r = mean + deviation·G with G ~ N(0, 1), let M(r) be the Moreau envelope of ℓ at scale s, the
minimum over p of ℓ(p) + (r − p)²/(2s), attained at the prox p. With h = M′ = ℓ′(p) and
k = M″ = ℓ″(p)/(1 + s·ℓ″(p)), the solver and its Hessian need the ten averages of
:class:`Moments` (the s-derivatives follow from ∂M/∂s = −h²/2 and ∂h/∂s = −hk).

Square and hinge loss have closed forms; the logistic loss is integrated by a trapezoid rule, which
is spectrally accurate for analytic integrands, in compiled kernels, of which that for s = 0 is the
quicker; any other loss by the same rule in NumPy.
"""

import math
from typing import NamedTuple

import numpy as np
from scipy.special import ndtr

from sparsetoken._njit import njit
from sparsetoken._types import Floats
from sparsetoken.losses import Loss, gaussian_rule, logistic_prox
from sparsetoken.theory.interpolation import interpolate

_ROOT_2PI = 2.5066282746310002
_WIDEST = 80.0  # deviation over which exp(−margin) stays within floats from node to node
_MOST_NODES = 2**15  # of all points: many points of an attention model average kinks out
_GAUSS = tuple(
    0.5 * (a + b) for a, b in zip(np.polynomial.legendre.leggauss(8), (1.0, 0.0), strict=True)
)


class Moments(NamedTuple):
    """Averages over G, one entry per point."""

    envelope: Floats  # E[M]
    h: Floats  # E[h]
    gh: Floats  # E[G h]
    hh: Floats  # E[h²]
    k: Floats  # E[k]
    gk: Floats  # E[G k]
    ggk: Floats  # E[G² k]
    hk: Floats  # E[h k]
    ghk: Floats  # E[G h k]
    hhk: Floats  # E[h² k]


def envelope_moments(
    loss: Loss,
    label: Floats,
    mean: Floats,
    scale: Floats,
    norm: float,
    chi: float,
    *,
    smoothing: float = 0.0,
    resolution: float = math.inf,
) -> Moments:
    """Return the averages of each point, of deviation ``norm``·c and envelope scale ``chi``·c².

    c is the point's ``scale``. ``chi`` zero gives the averages of the loss itself. ``smoothing``
    replaces the loss by its own envelope at that scale, which just adds to the scale. With a finite
    ``resolution``, a loss without closed forms is averaged on a grid of (mean, c), this fine, and
    interpolated.
    """

    def average(label: Floats, mean: Floats, scale: Floats) -> Moments:
        arguments = label, mean, norm * scale, chi * scale**2 + smoothing
        if loss.quadratic:
            return _square(*arguments)
        if loss.corner is not None:
            return _hinge(*arguments, loss.corner)
        if loss.logistic:
            return _logistic(*arguments)
        return _any_loss(loss, *arguments)

    if not math.isfinite(resolution) or loss.quadratic or loss.corner is not None:
        return average(label, mean, scale)
    if loss.logistic:  # it depends on score and label by the margin alone
        one = np.ones_like(label)
        sums = interpolate(average, one, label * mean, scale, chi, norm, resolution)
        return _from_margin(label, sums)
    # Another loss may have kinks, which the Gaussian smooths only so far.
    return Moments(*interpolate(average, label, mean, scale, chi, 0.0, 3.0 * resolution))


def _logistic_step(deviation: float) -> float:
    """Step that resolves the Gaussian and the loss, whose nearest pole is π/deviation away.

    The error of the rule is exp(−2π·distance/step), and exp(−2π²/step²) for the Gaussian itself.
    Rounding to powers of 2^(1/4) keeps the rule the same while a solver converges.
    """
    step = min(0.75, 1.1 / max(deviation, 1e-300))
    return 0.75 * 2.0 ** (math.floor(4 * math.log2(max(step, 2e-3) / 0.75)) / 4)


def _from_margin(label: Floats, sums: Floats) -> Moments:
    """Moments in the score from those in the margin yr, where G stands for yG."""
    sums[1] *= label
    sums[5] *= label
    sums[7] *= label
    return Moments(*sums)


def _square(label: Floats, mean: Floats, deviation: Floats, scale: Floats) -> Moments:
    k = 1.0 / (1.0 + scale)
    h, gh = k * (mean - label), k * deviation
    hh = h**2 + gh**2
    zero = np.zeros_like(k)
    return Moments(0.5 * hh / k, h, gh, hh, k, zero, k, k * h, k * gh, k * hh)


def _hinge(label: Floats, mean: Floats, deviation: Floats, scale: Floats, corner: float) -> Moments:
    """Use closed forms: quadratic for margins in (corner − s, corner), linear below, zero above."""
    deviation = np.maximum(deviation, 1e-12)  # a point without noise: a step far below resolution
    gap = corner - label * mean
    upper, width = gap / deviation, np.maximum(scale / deviation, 1e-12)
    lower = upper - width
    below, density = ndtr(lower), _density(lower)
    # On the linear stretch h = −1 and k = 0.
    sums = np.zeros((10, gap.size))
    sums[0] = (gap - 0.5 * scale) * below + deviation * density
    sums[1], sums[2], sums[3] = -below, density, below
    narrow = width < 0.5
    for rows, stretch in ((narrow, _hinge_narrow), (~narrow, _hinge_wide)):
        if rows.any():
            sums[:, rows] += stretch(upper[rows], width[rows], deviation[rows])
    return _from_margin(label, sums)


def _density(z: Floats) -> Floats:
    return np.exp(-0.5 * np.minimum(z**2, 1400.0)) / _ROOT_2PI


def _hinge_narrow(upper: Floats, width: Floats, deviation: Floats) -> Floats:
    """Averages over the quadratic stretch G = upper − width·x, where h = −x and k = 1/s."""
    x = _GAUSS[0][:, np.newaxis]
    g = upper - width * x
    weight = _GAUSS[1][:, np.newaxis] * _density(g)  # times width, which k cancels
    h, k = -x, 1.0 / deviation
    integrands = (0.5 * deviation * (width * x) ** 2, width * h, width * g * h, width * h**2,
                  k, g * k, g**2 * k, h * k, g * h * k, h**2 * k)  # fmt: skip
    return np.stack([(weight * integrand).sum(axis=0) for integrand in integrands])


def _hinge_wide(upper: Floats, width: Floats, deviation: Floats) -> Floats:
    """Return the same in closed form, which cancels badly for a narrow stretch."""
    lower = upper - width
    up, low = _density(upper), _density(lower)
    inside = np.where(upper < 0, ndtr(upper) - ndtr(lower), ndtr(-lower) - ndtr(-upper))
    first = low - up
    second = inside + lower * low - upper * up
    # x = (upper − G)/width runs from 0 to 1; here h = −x.
    x0 = (upper * inside - first) / width
    x1 = (upper * first - second) / width
    x2 = np.maximum(upper**2 * inside - 2 * upper * first + second, 0.0) / width**2
    scale = deviation * width
    return np.stack(
        [0.5 * scale * x2, -x0, -x1, x2, inside / scale, first / scale, second / scale,
         -x0 / scale, -x1 / scale, x2 / scale]
    )  # fmt: skip


def _logistic(label: Floats, mean: Floats, deviation: Floats, scale: Floats) -> Moments:
    widest = float(deviation.max())
    nodes, weights = gaussian_rule(_logistic_step(widest))
    sums = np.zeros((10, mean.size))
    if widest < _WIDEST and not scale.any():
        _logistic_kernel(label * mean, deviation, nodes, weights, sums)
    else:
        _envelope_kernel(label * mean, deviation, scale, nodes, weights, sums)
    return _from_margin(label, sums)


def _any_loss(loss: Loss, label: Floats, mean: Floats, deviation: Floats, scale: Floats) -> Moments:
    """Refine the rule until half of its nodes give the same: kinks of ℓ′ or ℓ″ need many."""
    y, s = label[:, np.newaxis], scale[:, np.newaxis]
    step = min(0.2, _logistic_step(float(deviation.max())))
    while True:
        g, weights = gaussian_rule(step)
        r = mean[:, np.newaxis] + deviation[:, np.newaxis] * g
        p = loss.prox(r, y, s)
        h = np.broadcast_to(loss.derivative(p, y), p.shape)
        curvature = loss.second_derivative(p, y)
        k = np.broadcast_to(curvature / (1.0 + s * curvature), p.shape)
        envelope = loss.value(p, y) + 0.5 * s * h**2
        integrands = envelope, h, g * h, h**2, k, g * k, g**2 * k, h * k, g * h * k, h**2 * k
        averages = Moments(*(each @ weights for each in integrands))
        half = (each[:, ::2] @ (2.0 * weights[::2]) for each in (h, g * h))
        typical = np.sqrt(averages.hh) + 1e-300
        missed = np.abs(np.stack([averages.h, averages.gh]) - np.stack(list(half))) / typical
        if float(missed.max(initial=0.0)) < 1e-6 or 4 * g.size * mean.size > _MOST_NODES:
            return averages
        step /= 4.0


@njit(error_model="numpy")
def _envelope_kernel(margin, deviation, scale, nodes, weights, sums):  # type: ignore[no-untyped-def]
    """Fill ``sums`` with the moments of the logistic loss's envelope, in the margin.

    The margins of a point's nodes ascend, so each prox starts from the last one, moved along its
    tangent: one or two steps of Halley's method suffice.
    """
    for i in range(margin.size):
        s, sd = scale[i], deviation[i]
        u = margin[i] + sd * nodes[0]
        p = logistic_prox(u, 1.0, s)
        slope = 1.0 / (1.0 + np.exp(min(p, 700.0)))
        du = sd * (nodes[1] - nodes[0])
        for j in range(nodes.size):
            if j > 0:
                w = s * slope * (1.0 - slope)
                tangent = du / (1.0 + w)
                u += du
                p += tangent * (1.0 + 0.5 * tangent * w * (1.0 - 2.0 * slope) / (1.0 + w))
                for iteration in range(12):
                    slope = 1.0 / (1.0 + np.exp(min(p, 700.0)))
                    w = s * slope * (1.0 - slope)
                    first = 1.0 + w
                    gap = p - u - s * slope
                    move = gap / (first + 0.5 * gap * w * (1.0 - 2.0 * slope) / first)
                    p = min(max(p - move, u), u + s)
                    if abs(move) < 1e-3 * min(1.0, 0.01 + abs(p - u)):
                        break
                    if iteration == 11:  # the walk lost its way: solve from scratch
                        p = logistic_prox(u, 1.0, s)
                slope = (p - u) / s if s > 1e-2 else 1.0 / (1.0 + np.exp(min(p, 700.0)))
                slope = min(max(slope, 0.0), 1.0)
            w = slope * (1.0 - slope)
            k = w / (1.0 + s * w)
            value = -np.log1p(-slope) if slope < 0.5 else -p - np.log(slope)
            h, t, weight = -slope, nodes[j], weights[j]
            wh, wk = weight * h, weight * k
            sums[0, i] += weight * value + 0.5 * s * wh * h
            sums[1, i] += wh
            sums[2, i] += t * wh
            sums[3, i] += wh * h
            sums[4, i] += wk
            sums[5, i] += t * wk
            sums[6, i] += t * t * wk
            sums[7, i] += wk * h
            sums[8, i] += t * wk * h
            sums[9, i] += wk * h * h


@njit(error_model="numpy", fastmath={"contract", "reassoc", "nsz", "arcp"})
def _logistic_kernel(margin, deviation, nodes, weights, sums):  # type: ignore[no-untyped-def]
    """Fill ``sums`` with the moments of the loss itself, in the margin.

    The nodes are evenly spaced, so that exp(−margin) is multiplied by one factor per node.
    """
    odds = np.exp(np.minimum(np.maximum(-(margin + deviation * nodes[0]), -600.0), 600.0))
    ratio = np.exp(-deviation * (nodes[1] - nodes[0]))
    for j in range(nodes.size):
        g, w = nodes[j], weights[j]
        for i in range(margin.size):
            p = odds[i] / (1.0 + odds[i])  # −ℓ′ in the margin
            wp, wk = w * p, w * p * (1.0 - p)
            sums[1, i] -= wp
            sums[2, i] -= g * wp
            sums[3, i] += wp * p
            sums[4, i] += wk
            sums[5, i] += g * wk
            sums[6, i] += g * g * wk
            sums[7, i] -= wk * p
            sums[8, i] -= g * wk * p
            sums[9, i] += wk * p * p
        for i in range(margin.size):
            sums[0, i] += w * math.log1p(odds[i])
            odds[i] *= ratio[i]
