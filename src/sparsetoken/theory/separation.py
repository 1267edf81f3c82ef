"""How much data can be fitted perfectly (docs/theory, section 5)."""

import math

import numpy as np
from scipy.special import ndtr

from sparsetoken._types import Floats
from sparsetoken.estimate import Estimate, warn_not_converged
from sparsetoken.law import FeatureLaw, Points
from sparsetoken.pooling import Pooling
from sparsetoken.problem import Problem, check_problem
from sparsetoken.theory.features import DEFAULT_POINTS, get_model


def capacity(
    problem: Problem,
    model: str | Pooling,
    *,
    cosine: float | None = None,
    sharpness: float | None = None,
    n_points: int = DEFAULT_POINTS,
) -> Estimate:
    """Return how many samples per dimension can be separated perfectly by the readout.

    Below it the training data are linearly separable with probability tending to one, above it with
    probability tending to zero.

    Parameters
    ----------
    problem : SparseTokenProblem or Population
        The model of the data.
    model : {"vectorized", "pooled", "attention", "hardmax", "elementwise"} or Pooling
        The classifier whose features are separated.
    cosine, sharpness : float, optional
        Cosine between query and signal, and β‖q‖; needed for all but the linear models.
    n_points : int, default=16384
        Points per class for the law of the attention features.

    Returns
    -------
    Estimate
        A float with ``uncertainty`` and ``converged``.

    Examples
    --------
    >>> import sparsetoken as st
    >>> round(st.theory.capacity(st.SparseTokenProblem(10, 1, 3.0), "pooled"), 5)
    2.30491
    """
    classifier = get_model(model, cosine, sharpness, n_points)
    threshold = law_capacity(classifier.law(check_problem(problem), problem))
    if not threshold.converged:
        warn_not_converged(f"capacity of {classifier.name}")
    factor = 1.0 / classifier.ratio(problem, 1.0)
    return Estimate(factor * threshold, factor * threshold.uncertainty, threshold.converged)


def law_capacity(law: FeatureLaw) -> Estimate:
    """Return the capacity for features of the given law."""
    if np.all(law.points.label == law.points.label[0]):
        return Estimate(math.inf)
    if np.any(law.points.scale <= 0.0):  # both classes share samples without any feature
        return Estimate(0.0)
    start = np.zeros(3)
    if law.batches > 1:
        start, _, _ = _least_cost(law.batch(0).points, start)
    x, value, converged = _least_cost(law.points, start)
    each = law.by_batch(_separation_cost(law.points, x)[3]) / value**2
    return Estimate.from_batches(1.0 / value, each, beside=1e-12 / value**2, converged=converged)


def _least_cost(points: Points, x: Floats) -> tuple[Floats, float, bool]:
    """Minimize the convex cost of separation by Newton's method with step halving."""
    value, gradient, hessian, _ = _separation_cost(points, x)
    for _ in range(100):
        move = -np.linalg.lstsq(hessian, gradient, rcond=1e-14)[0]
        gain = -float(gradient @ move)
        if gain <= 1e-12 * value:
            break
        for _ in range(60):
            trial = _separation_cost(points, x + move)
            if trial[0] <= value - 1e-4 * gain or gain < 1e-10 * value:
                break
            move *= 0.5
            gain *= 0.5
        x = x + move
        value, gradient, hessian, _ = trial
    return x, value, gain <= 1e-8 * value


def _separation_cost(p: Points, x: Floats) -> tuple[float, Floats, Floats, Floats]:
    """Return E[(G − y(a₁w₁ + (μ₂ + c h₂)w₂ + b)/c)₊²], its derivatives, and its value per point.

    The two Gaussians add up to one of deviation s = √(1 + w₂²): the average is that of (sG − u)₊².
    """
    w1, w2, bias = x
    s = math.hypot(1.0, w2)
    u = p.label * (p.along_query * w1 + p.along_rest * w2 + bias) / p.scale
    t = u / s
    below = ndtr(-t)
    density = np.exp(-0.5 * np.minimum(t**2, 1400.0)) / math.sqrt(2 * math.pi)
    each = (s**2 + u**2) * below - u * s * density
    by_u = 2.0 * (u * below - s * density)
    by_s = 2.0 * s * below
    du = p.label / p.scale * np.stack([p.along_query, p.along_rest, np.ones_like(u)])
    ds = np.array([0.0, w2 / s, 0.0])

    def total(values: Floats) -> Floats:
        return np.einsum("in,n->i", du, p.weight * values)

    gradient = total(by_u) + ds * p.average(by_s)
    mixed = np.outer(total(-2.0 * density), ds)
    hessian = np.stack([total(2.0 * below * row) for row in du]) + mixed + mixed.T
    hessian += np.outer(ds, ds) * p.average(2.0 * below + 2.0 * t * density)
    hessian[1, 1] += p.average(by_s) / s**3
    return p.average(each), gradient, hessian, each
