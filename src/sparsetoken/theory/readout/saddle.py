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

    objective: ReadoutObjective
    readout: Readout
    moments: Moments
    value: float
    gradient: Floats
    hessian: Floats
    metric: Floats
    """E[∂r ∂rᵀ]: how the scores change with x."""
    cross: Floats
    chi_gradient: float = 0.0
    chi_hessian: float = -1.0
    excess: float = 0.0
    """log of E[(r−p)²/c²] over τ²/α, zero when χ is right."""
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

    ∂r/∂x = (a, b, 1, 0) + cG·(0, rest, 0, spread).
    """
    value = used = saved = 0.0
    h_1 = h_a = h_b = h_g = c_1 = c_a = c_b = c_g = 0.0
    k_1 = k_a = k_b = k_aa = k_ab = k_bb = k_g = k_ga = k_gb = k_gg = 0.0
    m_1 = m_a = m_b = m_aa = m_ab = m_bb = m_gg = 0.0
    for n in range(points.weight.size):
        a, b, c = points.along_query[n], points.along_rest[n], points.scale[n]
        w, c2 = points.weight[n], c * c
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
    hessian = _products((k_aa, k_ab, k_a, k_bb, k_b, k_1), (k_ga, k_gb, k_g, k_gg), slopes)
    # A turn of (w₂, τ) keeps ρ to first order, but it is another readout: other scores as well.
    nothing = (0.0, 0.0, 0.0, 0.0)
    metric = _products((m_aa, m_ab, m_a, m_bb, m_b, m_1), nothing, (0.0, 0.0))
    metric[1, 1] += m_gg
    metric[3, 3] += m_gg
    gradient = np.array([h_a, h_b + rest * h_g, h_1, spread * h_g])
    cross = np.array([c_a, c_b + rest * c_g, c_1, spread * c_g])
    return (value, used, saved, h_g), gradient, cross, hessian, metric


@njit()
def _products(without_noise, with_noise, slopes):  # type: ignore[no-untyped-def]
    """Return the symmetric matrix E[∂r ∂rᵀ ·], from its sums."""
    aa, ab, a, bb, b, one = without_noise
    ga, gb, g, gg = with_noise
    rest, spread = slopes
    a_b, a_s = ab + rest * ga, spread * ga
    b_b, b_1 = bb + 2.0 * rest * gb + rest * rest * gg, b + rest * g
    b_s, s_1, s_s = spread * (gb + rest * gg), spread * g, spread * spread * gg
    return np.array(
        [[aa, a_b, a, a_s], [a_b, b_b, b_1, b_s], [a, b_1, one, s_1], [a_s, b_s, s_1, s_s]]
    )


@np.errstate(all="ignore")
def is_stationary(law: FeatureLaw, done: Derivatives, readout: Readout) -> bool:
    """Whether a solution holds without grids: a second look before it is called converged.

    The last pass has the solver's averages over G of all points. The first batch is averaged again,
    exactly; the difference corrects the totals.
    """
    objective, moments = done.objective, done.moments
    some = objective._replace(points=law.batch(0).points, resolution=math.inf)
    exact = score_moments(some, readout)
    gridded = Moments(*(moment[law.rows(0)] for moment in moments))
    right, solved = (assemble(some, readout, each) for each in (exact, gridded))
    done = assemble(objective, readout, moments)
    sizes = done.gradient_size
    if math.isfinite(objective.alpha):  # the ridge is balanced by much less than single samples
        sizes[3] = readout.spread / (objective.alpha * math.exp(readout.log_chi))
    off = np.abs(done.gradient + right.gradient - solved.gradient) / sizes
    excess = abs(done.excess + right.excess - solved.excess)
    return bool(np.all(off <= _ACCURACY)) and excess <= _ACCURACY
