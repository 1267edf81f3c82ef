"""Held-out predictions of a classifier trained on parts of a pilot.

The pilot is cut into folds, a few times anew. The classifier is trained on one fold, on two
neighboring ones, and so on, and tested on all the others; each fold takes its turn. So every
sequence is tested equally often at each size, and no group is on both sides.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from scipy.special import ndtri
from scipy.stats import rankdata
from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold

from sparsetoken._types import Array, Floats, Indices
from sparsetoken.estimators.folds import fit_rows
from sparsetoken.planner.curves import (
    PILOT,
    Measurements,
    PilotNoise,
    correlated,
    likeness,
    smoothed,
)
from sparsetoken.planner.metric import Metric, get_metric
from sparsetoken.planner.request import Progress, silent

_FOLDS = 5
_FEWEST_ALARMS = 2.0  # of negatives: with fewer expected, a recall cannot be measured


class Observed(NamedTuple):
    """What was seen on the pilot. Arrays have an axis of sizes, one of trainings, one of sequences.

    NaN stands for a sequence that was trained on.
    """

    labels: Indices
    """Class of each sequence, counted from 0."""
    sizes: Floats
    """Mean number of sequences that were trained on, shape (sizes,)."""
    wrong: Floats
    """1 for a wrong label, 0 for a right one."""
    scores: Floats
    """Score in favor of the second class; all NaN where there are more than two classes."""


def observe(
    estimator: Any,
    X: Any,
    y: Array,
    *,
    groups: Any = None,
    seeds: Sequence[int] = (0, 1),
    progress: Progress = silent,
) -> Observed:
    """Train ``estimator`` on parts of the pilot and test it on the others.

    The pilot is cut anew with each of ``seeds``. A part that the estimator cannot be trained on is
    left out, and so is a size at which a sequence was never tested. If nothing is left, ValueError
    says why.
    """
    labels = np.unique(y, return_inverse=True)[1]
    cuts = [_cut(labels, groups, seed) for seed in seeds]
    starts = [(cut, first) for cut in cuts for first in range(len(cut))]
    shape = (len(cuts[0]) - 1, len(starts), labels.size)
    size, wrong, scores = np.zeros(shape[:2]), np.full(shape, np.nan), np.full(shape, np.nan)
    reason: object = "each part has sequences of one class only"
    for step, row in np.ndindex(shape[:2]):
        progress(f"training {step * len(starts) + row + 1} of {size.size} on parts of the pilot")
        cut, first = starts[row]
        ordered = [*cut[first:], *cut[:first]]
        train = np.sort(np.concatenate(ordered[: step + 1]))
        test = np.concatenate(ordered[step + 1 :])
        size[step, row] = train.size
        if np.unique(labels[train]).size <= labels.max():
            continue
        try:
            fitted = fit_rows(estimator, train, X, y, groups)
        except (ValueError, ArithmeticError, np.linalg.LinAlgError) as failure:
            reason = failure
            continue
        wrong[step, row, test] = fitted.predict(X[test]) != y[test]
        if labels.max() == 1:
            has_scores = hasattr(fitted, "decision_function")
            score = fitted.decision_function if has_scores else fitted.predict_proba
            scores[step, row, test] = np.reshape(score(X[test]), (test.size, -1))[:, -1]
    tested = np.isfinite(wrong).any(axis=1).all(axis=1)
    if not tested.any():
        raise ValueError(f"X must have parts to train on and to test on: {reason}")
    return Observed(labels, size.mean(axis=1)[tested], wrong[tested], scores[tested])


def _cut(labels: Indices, groups: Any, seed: int) -> list[Indices]:
    """Return the folds: stratified, and with no group in two of them."""
    n_folds, kind = min(_FOLDS, int(np.bincount(labels).min())), StratifiedKFold
    if groups is not None:
        n_folds, kind = min(n_folds, np.unique(groups).size), StratifiedGroupKFold
        if n_folds < 2:
            raise ValueError("groups must be at least two, got one")
    cut = kind(n_folds, shuffle=True, random_state=seed)
    return [fold for _, fold in cut.split(labels, labels, groups)]


def measure(observed: Observed, metric: Metric | None = None) -> Measurements:
    """Return mean errors and ranks, with the covariance between the sequences tested.

    A recall is measured only if ``metric`` asks for it and the negatives are enough.
    """
    labels, counts, n = observed.labels, np.bincount(observed.labels), observed.labels.size
    metrics, values, influences = [], [], []

    def add(metric: Metric, lost: Floats, weights: Floats) -> None:
        """Add what each sequence loses, by size, and how much it moves the mean."""
        metrics.append(metric)
        values.append(lost @ weights)
        influences.append((lost - values[-1][:, np.newaxis]) * weights)

    add(get_metric("error"), np.nanmean(observed.wrong, axis=1), np.full(n, 1.0 / n))
    if counts.size == 2:
        add(get_metric("auc"), _by_sequence(_wrong_pairs, observed), 0.5 / counts[labels])
        influences[1] *= 2.0  # the same pairs are wrong in both classes
        fpr = getattr(metric, "fpr", 0.0)
        if metric is not None and fpr * counts[0] >= _FEWEST_ALARMS:
            lost = _by_sequence(partial(_outside, fpr=fpr), observed)
            add(metric, lost, labels / counts[1])
            # A negative above the threshold raises it: by the ratio of Gaussian densities there.
            recall = np.clip(1.0 - values[2], 1e-3, 1.0 - 1e-3)
            ratio = np.exp(0.5 * (ndtri(fpr) ** 2 - ndtri(recall) ** 2))[:, np.newaxis]
            influences[2] += ratio * (lost - fpr) * (labels == 0) / counts[0]
    shortfalls, influence = np.array(values), np.concatenate(influences)
    covariance = influence @ influence.T * n / (n - 1)
    chance = 1.0 - counts.max() / n
    bars = np.sqrt(np.diag(covariance)).reshape(shortfalls.shape)
    fixed = _noise(metrics, shortfalls, covariance, observed.sizes / n, n)
    sizes = observed.sizes
    return Measurements(tuple(metrics), sizes, shortfalls, bars, n, n, chance, PILOT, fixed)


def _noise(
    metrics: list[Metric], values: Floats, covariance: Floats, size: Floats, n: int
) -> Floats:
    """Return the covariance of angles: by the sequences tested, and by those trained on.

    The errors of all sizes come from the same pilot, so neighboring sizes have both in common.
    """
    rates = smoothed(values, metrics, n).ravel()
    slope = 0.5 / np.sqrt(rates * (1.0 - rates))
    tested = covariance * np.outer(slope, slope)
    tested += np.diag(np.maximum(0.125 / n - np.diag(tested), 0.0))  # no error seen is no proof
    trained = PilotNoise.training / n * np.sqrt(np.outer(size, size)) * likeness(size)
    common = correlated(len(metrics), PilotNoise.common)
    return tested + np.kron(common, trained) + 1e-5 * np.eye(rates.size)


def _by_sequence(lost: Callable[[Floats, Any], Floats], observed: Observed) -> Floats:
    """Return, by size and sequence, the mean over trainings of what ``lost`` says of scores."""
    table = np.full(observed.scores.shape, np.nan)
    for training in np.ndindex(table.shape[:2]):
        tested = np.isfinite(observed.scores[training])
        positive = observed.labels[tested] == 1
        if 0 < positive.sum() < positive.size:
            table[training][tested] = lost(observed.scores[training][tested], positive)
    return np.nanmean(table, axis=1)


def _wrong_pairs(scores: Floats, positive: Any) -> Floats:
    """Return the fraction of the other class that each is ranked wrongly against."""
    below = rankdata(scores)
    for mask in (positive, ~positive):
        below[mask] -= rankdata(scores[mask])  # what is left counts the other class
    fraction = below / np.where(positive, np.sum(~positive), np.sum(positive))
    return np.where(positive, 1.0 - fraction, fraction)


def _outside(scores: Floats, positive: Any, fpr: float) -> Floats:
    """Return 1 for a positive below the quantile of the negatives, and for a negative above."""
    threshold = np.quantile(scores[~positive], 1.0 - fpr, method="higher")
    return np.where(positive, scores < threshold, scores > threshold).astype(float)
