"""Members weighed by how well their held-out scores explain the labels, and calibrated by them."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import log_softmax

from sparsetoken.estimators.minimize import minimize_many
from sparsetoken.losses import Logistic

__all__ = ["Stack", "log_losses", "stack"]

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]

_MOST = 30.0  # of the logarithm of a scale
_SHIFT = 0.35  # prior deviation of a shift between equal classes, in log-odds
_PULL = 10.0  # of the weights towards equal ones: like that many samples


class Stack(NamedTuple):
    """The score Σ weightᵢ·(scaleᵢ·scoreᵢ + shift) of all members together."""

    weights: Floats
    """Each member's part in the spread of the score: not negative, their sum is one."""
    scales: Floats
    shift: Floats
    """One entry, or one for each class."""

    def combine(self, scores: Floats) -> Floats:
        """Return the score from members' scores (members, n, classes)."""
        return np.tensordot(self.weights * self.scales, scores, 1) + self.shift


def stack(scores: Floats, index: Indices, share: Floats, prior: Floats) -> Stack:
    """Return weights that are not negative, near ``prior`` where samples are few.

    Each member's scores are first scaled and shifted to fit the labels: a score from training is
    too sure of itself. Then the weights of all are found by the same loss, with a penalty like
    that of ten samples for leaving ``prior``.

    Parameters
    ----------
    scores : ndarray of shape (members, n, classes)
        Scores of samples that were held out; NaN for those that never were. Two classes have one
        column, the log-odds of the second.
    index : ndarray of int, shape (n,)
        The class of each sample.
    share : ndarray of shape (n,)
        Weights of the samples.
    prior : ndarray of shape (members,)
        Weights without any samples; their sum is one.
    """
    n_members, _, n_columns = scores.shape
    seen = np.isfinite(scores).all(axis=(0, 2)) & (share > 0)
    if np.unique(index[seen]).size < 2:
        return Stack(prior, np.ones(n_members), np.zeros(n_columns))
    scores, index, share = scores[:, seen], index[seen], share[seen] / share[seen].sum()
    deviation = _shift_deviation(index, share, n_columns)
    scales, shifts = _calibrate(scores, index, share, deviation)
    calibrated = scales[:, np.newaxis, np.newaxis] * scores + shifts[:, np.newaxis]
    n_samples = len(index)

    def objective(point: Floats) -> tuple[float, Floats]:
        weights, shift = point[:n_members], point[n_members:]
        value, slope = _loss(np.tensordot(weights, calibrated, 1) + shift, index, share)
        pull = (weights - prior) / prior * _PULL / n_members
        pull_back = shift / deviation**2
        value += 0.5 * (pull @ (weights - prior) + pull_back @ shift) / n_samples
        by_weights = np.tensordot(calibrated, slope, 2) + pull / n_samples
        return value, np.append(by_weights, slope.sum(axis=0) + pull_back / n_samples)

    start = np.append(prior, np.zeros(n_columns))
    bounds = [(0.0, None)] * n_members + [(None, None)] * n_columns
    point = minimize(objective, start, jac=True, method="L-BFGS-B", bounds=bounds).x
    weights, shift = point[:n_members], point[n_members:]
    if weights.sum() < _LEAST:  # nothing helps; keep the order that the members suggest
        weights = _LEAST * prior
    # A member whose scores were scaled down to nothing has no part, whatever its factor.
    spread = np.maximum(calibrated.std(axis=(1, 2)), 1e-9)
    total = float(weights @ spread)
    return Stack(weights * spread / total, total / spread * scales, shift + weights @ shifts)


_LEAST = 1e-3


def log_losses(score: Floats, index: Indices) -> Floats:
    """Return −log of the probability that scores (n, classes) give to each sample's class."""
    if score.shape[1] == 1:
        return Logistic.value(score[:, 0], np.where(index == 1, 1.0, -1.0))
    return -log_softmax(score, axis=1)[np.arange(len(index)), index]


def _loss(score: Floats, index: Indices, share: Floats) -> tuple[float, Floats]:
    """Return the weighted log-loss of scores (..., n, classes) and its slope in each."""
    if score.shape[-1] == 1:
        sign = np.where(index == 1, 1.0, -1.0)[:, np.newaxis]
        slope = share[:, np.newaxis] * Logistic.derivative(score, sign)
        return (Logistic.value(score, sign)[..., 0] @ share), slope
    logs = log_softmax(score, axis=-1)
    rows = np.arange(len(index))
    slope = np.exp(logs)
    slope[..., rows, index] -= 1.0
    return -(logs[..., rows, index] @ share), share[:, np.newaxis] * slope


def _shift_deviation(index: Indices, share: Floats, n_columns: int) -> Floats:
    """Return the prior deviation of each column's shift.

    Members that are held back from fitting the labels closely favour the common class. So the less
    equal the classes are, the further a threshold may be from its place.
    """
    logs = np.log(np.maximum(np.bincount(index, share, minlength=max(n_columns, 2)), 1e-12))
    odds = np.diff(logs) if n_columns == 1 else logs - logs.mean()
    return np.hypot(_SHIFT, odds)


def _calibrate(
    scores: Floats, index: Indices, share: Floats, deviation: Floats
) -> tuple[Floats, Floats]:
    """Return a positive scale and a shift for each member.

    A weak prior keeps the scale positive, and the threshold within about a ``deviation`` of its
    place, when scores tell little.
    """
    n_samples = scores.shape[1]
    # In units of its own spread: a member's score may have any.
    spread = np.sqrt(np.mean(scores**2, axis=(1, 2)))
    unit = 1.0 / np.where(spread > 0, np.maximum(spread, 1.0), 1.0)

    def objective(points: Floats, which: Indices) -> tuple[Floats, Floats]:
        scale = np.exp(np.clip(points[:, 0], -_MOST, _MOST))  # a trial step may be too long
        scaled = (scale * unit[which])[:, np.newaxis, np.newaxis] * scores[which]
        values, slope = _loss(scaled + points[:, np.newaxis, 1:], index, share)
        by_scale = (slope * scaled).sum(axis=(1, 2)) + points[:, 0] / n_samples
        by_shift = slope.sum(axis=1) + points[:, 1:] / deviation**2 / n_samples
        values = values + 0.5 * points[:, 0] ** 2 / n_samples
        values += 0.5 * ((points[:, 1:] / deviation) ** 2).sum(axis=1) / n_samples
        return values, np.column_stack([by_scale, by_shift])

    start = np.zeros((len(scores), 1 + scores.shape[2]))
    points = minimize_many(objective, start, 100, 1e-9)
    return np.exp(np.clip(points[:, 0], -_MOST, _MOST)) * unit, points[:, 1:]
