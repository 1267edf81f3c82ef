"""The function whose saddle point is the trained readout, and its derivatives.

In docs/theory, section 4, it is minimised over x = (along_query, along_rest, bias, spread)
= (w₁, w₂, b, τ) and maximised over χ. One pass over the points gives value, gradient and Hessian in
x and log χ together, all from the same quadrature nodes.

At α = ∞ the readout has no component outside the plane of query and signal: τ = 0, χ = 0.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from sparsetoken.law import Points, Readout, score_mean
from sparsetoken.losses import Loss
from sparsetoken.theory.smoothing import Moments, envelope_moments

__all__ = ["Pass", "Problem", "assemble", "evaluate", "score_moments"]

Array = NDArray[np.float64]


class Problem(NamedTuple):
    """What is optimised: a loss over the points of a feature law, at a ratio and ridge."""

    points: Points
    loss: Loss
    alpha: float
    reg: float
    smoothing: float = 0.0
    """The loss is replaced by its Moreau envelope at this scale: no kinks."""
    resolution: float = math.inf
    """How finely averages over G are tabulated; infinite for one by one (smoothing.py)."""

    @property
    def largest_log_step(self) -> float:
        """Bound of log χ: at the saddle point 1/(αχ) ≥ λ."""
        return -math.log(self.alpha * self.reg or 1e-14) if math.isfinite(self.alpha) else 0.0


@dataclass(frozen=True)
class Pass:
    """One pass over the points: the function and its derivatives at a readout."""

    value: float
    gradient: Array
    hessian: Array
    step_gradient: float
    step_hessian: float
    cross: Array
    excess: float
    """log of E[(r−p)²/c²] over τ²/α, zero when χ is right."""
    excess_slope: float
    metric: Array
    """E[∂r ∂rᵀ]: how the scores change with x."""

    @property
    def system(self) -> tuple[Array, Array]:
        """Matrix and right side of a Newton step in x and log χ (x alone at α = ∞)."""
        if self.gradient.size == 3:
            return self.hessian, self.gradient
        matrix = np.full((5, 5), self.step_hessian)
        matrix[:4, :4] = self.hessian
        matrix[4, :4] = matrix[:4, 4] = self.cross
        return matrix, np.append(self.gradient, self.step_gradient)


def evaluate(problem: Problem, readout: Readout) -> tuple[Pass, Moments]:
    """Make one pass; also return the averages over G it was made from."""
    moments = score_moments(problem, readout)
    return assemble(problem, readout, moments), moments


def score_moments(problem: Problem, readout: Readout) -> Moments:
    """Averages over G of each point, where r = mean + ρcG and ρ may be negative at α = ∞."""
    points, finite = problem.points, math.isfinite(problem.alpha)
    norm = readout.norm_rest if finite else readout.along_rest
    m = envelope_moments(
        problem.loss,
        points.label,
        score_mean(points, readout),
        points.scale,
        abs(norm),
        math.exp(readout.log_step) if finite else 0.0,
        smoothing=problem.smoothing,
        resolution=problem.resolution,
    )
    # r = mean − |ρ|cG: odd moments change sign.
    return m if norm >= 0 else m._replace(gh=-m.gh, gk=-m.gk, ghk=-m.ghk)


def assemble(
    problem: Problem,
    readout: Readout,
    m: Moments,
    rows: Sequence[slice] = (slice(None),),
    factor: float = 1.0,
) -> Pass:
    """Sum up the averages of the points, or of those in ``rows`` with ``factor`` their weight."""
    points, alpha, reg = problem.points, problem.alpha, problem.reg
    finite = math.isfinite(alpha)
    norm = readout.norm_rest if finite else readout.along_rest
    chi = math.exp(readout.log_step) if finite else 0.0

    # ρ depends on w₂ and τ; at α = ∞ it is w₂ itself, with its sign.
    slopes = np.array([0.0, 1.0, 0.0, 0.0])
    if finite:
        slopes[[1, 3]] = readout.along_rest / norm, readout.spread / norm
    gradient, hessian, cross, metric = np.zeros(4), np.zeros((4, 4)), np.zeros(4), np.zeros((4, 4))
    sums = np.zeros(4)
    for part in rows:
        triples = Points(*(column[part] for column in points))[1:]
        moments = Moments(*(moment[part] for moment in m))
        sums += _sum_up(*triples, *moments, slopes, gradient, hessian, cross, metric)
    for total in (sums, gradient, hessian, cross, metric):
        total *= factor
    value, used, saved, pull = sums.tolist()
    x = np.array(readout[:4])
    ridge = reg * np.array([1.0, 1.0, 0.0, 1.0])
    value += 0.5 * float(ridge @ x**2)
    gradient += ridge * x
    hessian += np.diag(ridge)
    if not finite:
        zero = np.zeros(3)
        return Pass(value, gradient[:3], hessian[:3, :3], 0.0, -1.0, zero, 0.0, 1.0, metric[:3, :3])

    curvature = pull / norm * (np.diag([0.0, 1.0, 0.0, 1.0]) - np.outer(slopes, slopes))
    tension = 1.0 / (alpha * chi)
    spent = tension * readout.spread**2
    used, saved = max(chi * used, 1e-300), chi**2 * saved
    hessian += curvature
    hessian[3, 3] -= tension
    gradient[3] -= tension * readout.spread
    cross *= -chi
    cross[3] += tension * readout.spread
    return Pass(
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


@njit(cache=True)
def _sum_up(  # type: ignore[no-untyped-def]
    along_query, along_rest, scale, weight,
    envelope, h, gh, hh, k, gk, ggk, hk, ghk, hhk,
    slopes, gradient, hessian, cross, metric,
):  # fmt: skip
    """Sum over the points with ∂r/∂x = e + f·G."""
    e, f = np.zeros(4), np.zeros(4)
    e[2] = 1.0
    value = used = saved = pull = 0.0
    for n in range(weight.size):
        w, c = weight[n], scale[n]
        c2 = c * c
        e[0], e[1] = along_query[n], along_rest[n]
        f[1], f[3] = c * slopes[1], c * slopes[3]
        value += w * envelope[n]
        used += w * c2 * hh[n]
        saved += w * c2 * c2 * hhk[n]
        pull += w * c * gh[n]
        wh, wgh, wk, wgk, wggk = w * h[n], w * gh[n], w * k[n], w * gk[n], w * ggk[n]
        whk, wghk = w * c2 * hk[n], w * c2 * ghk[n]
        for i in range(4):
            gradient[i] += wh * e[i] + wgh * f[i]
            cross[i] += whk * e[i] + wghk * f[i]
            a = wk * e[i] + wgk * f[i]
            b = wgk * e[i] + wggk * f[i]
            for j in range(i, 4):
                hessian[i, j] += a * e[j] + b * f[j]
                metric[i, j] += w * (e[i] * e[j] + f[i] * f[j])
    for i in range(4):
        for j in range(i):
            hessian[i, j], metric[i, j] = hessian[j, i], metric[j, i]
    return value, used, saved, pull
