"""The function whose saddle point is the trained readout, and its derivatives.

In docs/theory, section 4, it is minimized over x = (along_query, along_rest, bias, spread)
= (w₁, w₂, b, τ) and maximized over χ. One pass over the points gives value, gradient and Hessian in
x and log χ together, all from the same quadrature nodes.

At α = ∞ the readout has no component outside the plane of query and signal: τ = 0, χ = 0.
"""

import math
from typing import NamedTuple

import numpy as np

from sparsetoken._njit import njit
from sparsetoken._types import Floats
from sparsetoken.law import FeatureLaw, Points, Readout, score_mean
from sparsetoken.losses import Loss
from sparsetoken.theory.envelope_averages import Moments, envelope_moments

_ACCURACY = 0.02  # of the conditions at a second look; a wrong solution breaks them by far
_LOOKED_AT = 256  # points


class ReadoutObjective(NamedTuple):
    """What is optimized: a loss over the points of a feature law, at a ratio and ridge."""

    points: Points
    loss: Loss
    alpha: float
    reg: float
    smoothing: float = 0.0  # the loss is replaced by its Moreau envelope at this scale: no kinks
    resolution: float = math.inf
    """How finely averages over G are tabulated; infinite for one by one (envelope_averages.py)."""

    @property
    def largest_log_chi(self) -> float:
        """Bound of log χ: at the saddle point 1/(αχ) ≥ λ."""
        return -math.log(self.alpha * self.reg or 1e-14) if math.isfinite(self.alpha) else 0.0


class Derivatives(NamedTuple):
    """One pass over the points: the function and its derivatives at a readout."""

    objective: ReadoutObjective
    readout: Readout
    moments: Moments
    value: float
    gradient: Floats
    hessian: Floats
    metric: Floats  # E[∂r ∂rᵀ]: how the scores change with x
    cross: Floats
    chi_gradient: float = 0.0
    chi_hessian: float = -1.0
    excess: float = 0.0  # log of E[(r−p)²/c²] over τ²/α, zero when χ is right
    excess_slope: float = 1.0

    @property
    def system(self) -> tuple[Floats, Floats]:
        """Matrix and right side of a Newton step in x and log χ (x alone at α = ∞)."""
        if self.gradient.size == 3:
            return self.hessian, self.gradient
        matrix = np.full((5, 5), self.chi_hessian)
        matrix[:4, :4] = self.hessian
        matrix[4, :4] = matrix[:4, 4] = self.cross
        return matrix, np.append(self.gradient, self.chi_gradient)

    @property
    def gradient_size(self) -> Floats:
        """Typical size of the terms that each entry of the gradient averages."""
        slope = math.sqrt(float(np.mean(self.moments.hh)))
        noise = float(np.mean(self.objective.points.scale**2))  # collected off the query
        return np.asarray(np.sqrt(np.maximum(np.diag(self.metric), noise)) * slope + 1e-300)

    def score_size(self, x: Floats) -> float:
        """Root mean square of the scores of a readout or of a change of it."""
        return math.sqrt(max(float(x @ self.metric @ x), 0.0))


def evaluate(objective: ReadoutObjective, readout: Readout) -> Derivatives:
    """Make one pass."""
    return assemble(objective, readout, score_moments(objective, readout))


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


def assemble(objective: ReadoutObjective, readout: Readout, m: Moments) -> Derivatives:
    """Sum up the averages of the points."""
    points, alpha, reg = objective.points, objective.alpha, objective.reg
    finite = math.isfinite(alpha)
    # ρ depends on w₂ and τ; at α = ∞ it is w₂ itself, with its sign.
    norm = readout.norm_rest
    slopes = (readout.along_rest / norm, readout.spread / norm) if finite else (1.0, 0.0)
    (value, used, saved, pull), gradient, cross, hessian, metric = _sums(points, m, slopes)
    for i in (0, 1, 3):
        value += 0.5 * reg * readout[i] ** 2
        gradient[i] += reg * readout[i]
        hessian[i, i] += reg
    here = objective, readout, m
    if not finite:
        matrices = hessian[:3, :3], metric[:3, :3]
        return Derivatives(*here, value, gradient[:3], *matrices, np.zeros(3))

    chi = math.exp(readout.log_chi)
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
        *here,
        value=value - 0.5 * spent,
        gradient=gradient,
        hessian=hessian,
        metric=metric,
        cross=cross,
        chi_gradient=0.5 * (spent - used),
        chi_hessian=-0.5 * (spent + used) + saved,
        excess=math.log(used) - math.log(max(spent, 1e-300)),
        excess_slope=max(2.0 * (1.0 - saved / used), 1e-3),
    )


@njit(fastmath={"reassoc", "contract"})
def _sums(points, m, slopes):  # type: ignore[no-untyped-def]
    """Return (E[M], E[c²h²], E[c⁴h²k], E[cGh]), gradient, cross, Hessian and metric.

    ∂r/∂x = tilt + cG·turn.
    """
    value = used = saved = pull = cross_pull = bend = noise = 0.0
    gradient, cross, mixed, tilt = np.zeros(4), np.zeros(4), np.zeros(4), np.zeros(4)
    hessian, metric = np.zeros((4, 4)), np.zeros((4, 4))
    for n in range(points.weight.size):
        w, c, k = points.weight[n], points.scale[n], m.k[n]
        wc, wc2 = w * c, w * c * c
        value += w * m.envelope[n]
        used += wc2 * m.hh[n]
        saved += wc2 * c * c * m.hhk[n]
        pull += wc * m.gh[n]
        cross_pull += wc2 * c * m.ghk[n]
        bend += wc2 * m.ggk[n]
        noise += wc2
        wh, wk, wg = w * m.h[n], wc2 * m.hk[n], wc * m.gk[n]
        tilt[0], tilt[1], tilt[2] = points.along_query[n], points.along_rest[n], 1.0
        for i in range(3):
            gradient[i] += wh * tilt[i]
            cross[i] += wk * tilt[i]
            mixed[i] += wg * tilt[i]
            for j in range(i, 3):
                product = w * tilt[i] * tilt[j]
                metric[i, j] += product
                hessian[i, j] += k * product
    turn = np.array([0.0, slopes[0], 0.0, slopes[1]])
    turned = np.outer(turn, mixed)
    hessian += np.triu(hessian, 1).T + turned + turned.T + bend * np.outer(turn, turn)
    # A turn of (w₂, τ) keeps ρ to first order, but it is another readout: other scores as well.
    metric += np.triu(metric, 1).T + noise * np.diag(np.array([0.0, 1.0, 0.0, 1.0]))
    gradient += pull * turn
    return (value, used, saved, pull), gradient, cross + cross_pull * turn, hessian, metric


@np.errstate(all="ignore")
def is_stationary(law: FeatureLaw, done: Derivatives, readout: Readout) -> bool:
    """Whether a solution holds without grids: a second look before it is called converged.

    The last pass has the solver's averages over G of all points. Some points are averaged again,
    exactly; the difference corrects the totals.
    """
    objective, moments = done.objective, done.moments
    rows = np.random.default_rng(0).permutation(law.direction.size)[:_LOOKED_AT]
    some = objective._replace(points=law.points.where(rows), resolution=math.inf)
    exact = score_moments(some, readout)
    gridded = Moments(*(moment[rows] for moment in moments))
    right, solved = (assemble(some, readout, each) for each in (exact, gridded))
    done = assemble(objective, readout, moments)
    sizes = done.gradient_size
    if math.isfinite(objective.alpha):  # the ridge is balanced by much less than single samples
        sizes[3] = readout.spread / (objective.alpha * math.exp(readout.log_chi))
    off = np.abs(done.gradient + right.gradient - solved.gradient) / sizes
    excess = abs(done.excess + right.excess - solved.excess)
    return bool(np.all(off <= _ACCURACY)) and excess <= _ACCURACY
