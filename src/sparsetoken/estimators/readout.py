"""The ridge-regularized readout, solved to optimality.

The objective is (1/Σs) Σ sᵢ ℓ(⟨w, fᵢ⟩ + b; yᵢ) + (λ/2)‖w‖² with an unpenalized bias b, convex for
every loss. With more features than samples the optimum lies in the span of the features, and the
problem is first reduced to it by a QR decomposition: nothing of size d×d is built.

* square loss: scikit-learn's ``Ridge`` solves exactly this (λ times Σs is its ``alpha``);
* smooth losses: damped Newton in the reduced space. scikit-learn's Newton solver knows no loss but
  the logistic and stops on an absolute gradient, which separable data with small λ stay below;
* hinge loss: a primal–dual interior-point method. ``LinearSVC`` penalizes the bias, and ``SVC``
  (libsvm) needs a number of steps that grows with C = 1/(nλ): with λ = 1e-8 it does not end.
"""

import warnings
from typing import NamedTuple

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve, lstsq
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import Ridge

from sparsetoken._types import Array, Floats
from sparsetoken.losses import Loss

_LARGEST = 1e100  # squares of features, and products of these, must be floats
_PRECISION = 1e-12  # of the objective at its minimum
_MOST_STEPS = 200  # then a solver gives up, with a ConvergenceWarning


class LinearReadout(NamedTuple):
    """A linear readout of features."""

    coef: Floats
    intercept: float


def fit_readout(
    features: Array, sign: Floats, reg: float, loss: Loss, sample_weight: Floats | None = None
) -> LinearReadout:
    """Return the minimum (w, b) of the ridge-regularized loss, for labels −1 and +1."""
    features = np.asarray(features, dtype=np.float64)
    weights = np.ones(len(sign)) if sample_weight is None else np.asarray(sample_weight, float)
    used = weights > 0
    if not used.all():  # a sample of weight zero is no sample
        features, sign, weights = features[used], sign[used], weights[used]
    weights = weights / weights.sum()
    largest = np.abs(features).max()
    if largest > _LARGEST or 0.0 < largest < 1.0 / _LARGEST:
        raise ValueError(
            f"features must lie between {1 / _LARGEST:g} and {_LARGEST:g} in magnitude, got "
            f"{largest:g}; scale them first, for instance by PerToken()"
        )
    if loss.quadratic:
        ridge = Ridge(alpha=reg * len(sign), solver="svd")
        ridge.fit(features, sign, sample_weight=weights * len(sign))
        return LinearReadout(ridge.coef_, float(ridge.intercept_))
    # Centering changes only the bias and makes the Hessian's blocks nearly orthogonal.
    center = weights @ features
    basis, reduced = None, features - center
    if len(features) < features.shape[1]:  # coordinates in the span of the rows
        basis, triangle = np.linalg.qr(reduced.T)
        reduced = np.ascontiguousarray(triangle.T)
    solve = _newton if loss.corner is None else _interior_point
    solution = solve(reduced, sign, reg, loss, weights)
    coef = solution[:-1] if basis is None else basis @ solution[:-1]
    return LinearReadout(coef, float(solution[-1] - coef @ center))


def _solve_bordered(features: Floats, curvature: Floats, reg: float, right: Floats) -> Floats:
    """Solve the Newton system of readout and bias, with weights ``curvature`` on the samples."""
    n_features = features.shape[1]
    hessian = np.empty((n_features + 1, n_features + 1))
    weighted = features * curvature[:, np.newaxis]
    hessian[:-1, :-1] = features.T @ weighted
    hessian[:-1, -1] = hessian[-1, :-1] = weighted.sum(axis=0)
    hessian[-1, -1] = curvature.sum()
    hessian.flat[: -1 : n_features + 2] += reg
    try:
        return cho_solve(cho_factor(hessian, check_finite=False), right, check_finite=False)
    except LinAlgError:  # no curvature along the bias
        return lstsq(hessian, right, check_finite=False)[0]


def _newton(features: Floats, sign: Floats, reg: float, loss: Loss, weights: Floats) -> Floats:
    def objective(at: Floats) -> tuple[float, Floats]:
        score = features @ at[:-1] + at[-1]
        return float(weights @ loss.value(score, sign) + 0.5 * reg * at[:-1] @ at[:-1]), score

    point = np.zeros(features.shape[1] + 1)
    value, score = objective(point)
    for _ in range(_MOST_STEPS):
        slope = weights * loss.derivative(score, sign)
        gradient = np.append(slope @ features + reg * point[:-1], slope.sum())
        curvature = weights * loss.second_derivative(score, sign)
        step = -_solve_bordered(features, curvature, reg, gradient)
        decrease = -float(gradient @ step)
        length = 1.0
        while True:
            candidate = point + length * step
            new_value, new_score = objective(candidate)
            if new_value <= value - 1e-4 * length * decrease + 1e-15 * abs(value):
                break
            length *= 0.5
            if length < 1e-12:
                return _converged(decrease, value, point)
        point, value, score = candidate, new_value, new_score
        if length == 1.0 and decrease <= _PRECISION * abs(value):
            return point
    return _converged(decrease, value, point)


def _interior_point(
    features: Floats, sign: Floats, reg: float, loss: Loss, weights: Floats
) -> Floats:
    """Minimize the hinge loss: slack ξ ≥ 0, excess r = y⟨w,f⟩ + yb − corner + ξ ≥ 0, a their price.

    Optimality: λw = Σ aᵢyᵢfᵢ, Σ aᵢyᵢ = 0, aᵢrᵢ = 0 and (sᵢ − aᵢ)ξᵢ = 0 with 0 ≤ a ≤ s. Mehrotra's
    predictor and corrector follow the path on which both products equal a μ that goes to zero.
    """
    assert loss.corner is not None
    n_samples, corner = len(sign), loss.corner
    point, best_gap, stalled = np.zeros(features.shape[1] + 1), np.inf, 0
    price, other = weights / 2, weights / 2  # two variables: a difference could round to zero
    slack, excess = np.ones(n_samples), np.ones(n_samples)
    for _ in range(_MOST_STEPS):
        margin = sign * (features @ point[:-1] + point[-1])
        gap = float(price @ excess + other @ slack)
        priced, imbalance = (price * sign) @ features, float(price @ sign)
        value = float(weights @ loss.value(margin, 1.0) + 0.5 * reg * point[:-1] @ point[:-1])
        bound = float(
            corner * price.sum() - priced @ priced / (2 * reg) - abs(point[-1] * imbalance)
        )
        if value - bound < best_gap:  # `bound` is below every value of the objective
            best, best_gap, best_value, stalled = point, value - bound, value, 0
        else:
            stalled += 1
        if best_gap <= _PRECISION * best_value or stalled > 5:
            break
        dual = np.append(reg * point[:-1] - priced, -imbalance)
        primal = excess - (margin - corner + slack)
        weight = 1.0 / (excess / price + slack / other)
        mu, second_excess, second_slack = 0.0, 0.0, 0.0
        for stage in ("predict", "correct"):
            to_excess = mu - price * excess - second_excess
            to_slack = mu - other * slack - second_slack
            drive = to_excess / price - to_slack / other + primal
            pull = sign * weight * drive
            right = -dual + np.append(pull @ features, pull.sum())
            move = _solve_bordered(features, weight, reg, right)
            d_price = weight * (drive - sign * (features @ move[:-1] + move[-1]))
            d_slack = (to_slack + slack * d_price) / other
            d_excess = (to_excess - excess * d_price) / price
            pairs = (price, d_price), (other, -d_price), (slack, d_slack), (excess, d_excess)
            length = min(_to_boundary(value, change) for value, change in pairs)
            if stage == "predict":
                after = (price + length * d_price) @ (excess + length * d_excess)
                after += (other - length * d_price) @ (slack + length * d_slack)
                mu = gap / (2 * n_samples) * (after / gap) ** 3
                second_excess, second_slack = d_price * d_excess, -d_price * d_slack
        length = min(1.0, 0.995 * length)
        point = point + length * move
        price, other = price + length * d_price, other - length * d_price
        slack, excess = slack + length * d_slack, excess + length * d_excess
    return _converged(best_gap, best_value, best)


def _to_boundary(value: Floats, change: Floats) -> float:
    """Return the longest step up to 1/0.995 that keeps ``value`` non-negative."""
    shrinks = change < 0
    return float((-value[shrinks] / change[shrinks]).min(initial=1.0 / 0.995))


def _converged(gap: float, value: float, point: Floats) -> Floats:
    """Return ``point``, with a warning unless its objective is within 1e-7 of the minimum."""
    if gap > 1e-7 * abs(value):
        warnings.warn(
            f"the readout is not optimal: its objective {value:.3g} may be {gap:.1g} too large",
            ConvergenceWarning,
            stacklevel=4,
        )
    return point
