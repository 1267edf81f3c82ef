"""What was measured: errors on parts of a pilot, or on a learning curve, and their noise."""

import csv
import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtri
from scipy.stats import rankdata

from sparsetoken._types import Array, Floats, Indices
from sparsetoken._validation import shown
from sparsetoken.estimators.folds import fit_rows, split, take_rows
from sparsetoken.planner.curves import (
    CURVE,
    PILOT,
    CurveNoise,
    CurvePoints,
    PilotNoise,
    correlated,
    likeness,
    smoothed,
)
from sparsetoken.planner.metric import Metric, get_metric
from sparsetoken.planner.words import Progress, no_progress

_FOLDS = 5
_FEWEST_ALARMS = 2.0  # of negatives: with fewer expected, a recall cannot be measured
_COLUMNS = {"sizes": "n_samples", "errors": "error", "accuracies": "accuracy", "aucs": "auc"}
_COLUMNS |= {"recalls": "recall", "n_test": "n_test"}  # of a table, by argument
_MEASURED = {"error", "accuracy", "auc", "recall"}


class HeldOut(NamedTuple):
    """Held-out predictions on a pilot, with axes for sizes, for trainings and for samples.

    NaN stands for a sample that was trained on.
    """

    labels: Indices
    """Class of each sample, counted from 0."""
    sizes: Floats
    """Mean number of samples that were trained on, shape (sizes,)."""
    wrong: Floats
    """1 for a wrong label, 0 for a right one."""
    scores: Floats
    """Score in favor of the second class; all NaN with more classes, or without scores."""


def cut_pilot(y: Array, groups: Any, rng: np.random.Generator) -> list[Indices]:
    """Return folds of a pilot: stratified, and with no group in two of them."""
    labels = np.unique(y, return_inverse=True)[1]
    folds = split(_FOLDS, labels, np.ones(labels.size), groups, np.arange(labels.size), rng)
    if not folds:
        raise ValueError("groups must be at least two for every class, to train and to test on")
    return [fold.held_out for fold in folds]


def train_on_parts(
    estimator: Any,
    X: Any,
    y: Array,
    cuts: Sequence[list[Indices]],
    *,
    groups: Any = None,
    progress: Progress = no_progress,
) -> HeldOut:
    """Train ``estimator`` on parts of the pilot and test it on the others.

    In each of the ``cuts`` it is trained on one fold, on two neighboring ones, and so on, and
    tested on all the others; each fold takes its turn. A part that the estimator cannot be trained
    on is left out, and so is a size at which a sample was never tested.
    """
    labels = np.unique(y, return_inverse=True)[1]
    turns = [[*cut[first:], *cut[:first]] for cut in cuts for first in range(len(cut))]
    shape = (min(map(len, cuts)) - 1, len(turns), labels.size)
    size, wrong, scores = np.zeros(shape[:2]), np.full(shape, np.nan), np.full(shape, np.nan)
    reason: object = "each part has samples of one class only"
    for step, row in np.ndindex(shape[:2]):
        progress(f"training {step * len(turns) + row + 1} of {size.size} on parts of the pilot")
        train = np.sort(np.concatenate(turns[row][: step + 1]))
        test = np.concatenate(turns[row][step + 1 :])
        size[step, row] = train.size
        if np.unique(labels[train]).size <= labels.max():
            continue
        try:
            fitted = fit_rows(estimator, train, X, y, groups)
        except (ValueError, ArithmeticError, np.linalg.LinAlgError) as failure:
            reason = failure
            continue
        tested = take_rows(X, test)
        wrong[step, row, test] = fitted.predict(tested) != y[test]
        methods = [m for m in ("decision_function", "predict_proba") if hasattr(fitted, m)]
        if labels.max() == 1 and methods:
            answers = getattr(fitted, methods[0])(tested)
            scores[step, row, test] = np.reshape(answers, (test.size, -1))[:, -1]
    complete = np.isfinite(wrong).any(axis=1).all(axis=1)
    if not complete.any():
        raise ValueError(f"X must have parts to train on and to test on: {reason}")
    return HeldOut(labels, size.mean(axis=1)[complete], wrong[complete], scores[complete])


def pilot_points(held_out: HeldOut, metric: Metric | None = None) -> CurvePoints:
    """Return errors, ranks, and a recall if ``metric`` is one and the negatives are enough."""
    labels, counts, n = held_out.labels, np.bincount(held_out.labels), held_out.labels.size
    metrics, values, influences = [], [], []

    def add(metric: Metric, lost: Floats, weights: Floats) -> None:
        """Add what each sample loses, by size, and how much it moves the mean."""
        metrics.append(metric)
        values.append(lost @ weights)
        influences.append((lost - values[-1][:, np.newaxis]) * weights)

    add(get_metric("error"), np.nanmean(held_out.wrong, axis=1), np.full(n, 1.0 / n))
    if np.isfinite(held_out.scores).any():
        add(get_metric("auc"), _by_sample(_wrong_pairs, held_out), 0.5 / counts[labels])
        influences[1] *= 2.0  # the same pairs are wrong in both classes
        fpr = getattr(metric, "fpr", 0.0)
        if metric is not None and fpr * counts[0] >= _FEWEST_ALARMS:
            lost = _by_sample(lambda scores, positive: _outside(scores, positive, fpr), held_out)
            add(metric, lost, labels / counts[1])
            # A negative above the threshold raises it: by the ratio of Gaussian densities there.
            recall = np.clip(1.0 - values[2], 1e-3, 1.0 - 1e-3)
            ratio = np.exp(0.5 * (ndtri(fpr) ** 2 - ndtri(recall) ** 2))[:, np.newaxis]
            influences[2] += ratio * (lost - fpr) * (labels == 0) / counts[0]
    errors, influence = np.array(values), np.concatenate(influences)
    covariance = influence @ influence.T * n / (n - 1)
    bars = np.sqrt(np.diag(covariance)).reshape(errors.shape)
    # As angles: by the samples tested, and by those trained on. The errors of all sizes come from
    # the same pilot, so neighboring sizes have both in common.
    rates, size = smoothed(errors, metrics, n).ravel(), held_out.sizes / n
    slope = 0.5 / np.sqrt(rates * (1.0 - rates))
    tested = covariance * np.outer(slope, slope)
    tested += np.diag(np.maximum(0.125 / n - np.diag(tested), 0.0))  # no error seen is no proof
    trained = PilotNoise.training / n * np.sqrt(np.outer(size, size)) * likeness(size, size)
    common = correlated(len(metrics), PilotNoise.common)
    fixed = tested + np.kron(common, trained) + 1e-5 * np.eye(rates.size)
    chance = 1.0 - counts.max() / n
    return CurvePoints(tuple(metrics), held_out.sizes, errors, bars, n, n, chance, PILOT, fixed)


def _by_sample(lost: Callable[[Floats, Any], Floats], held_out: HeldOut) -> Floats:
    """Return, by size and sample, the mean over trainings of what ``lost`` says of scores."""
    table = np.full(held_out.scores.shape, np.nan)
    for training in np.ndindex(table.shape[:2]):
        tested = np.isfinite(held_out.scores[training])
        positive = held_out.labels[tested] == 1
        if 0 < positive.sum() < positive.size:
            table[training][tested] = lost(held_out.scores[training][tested], positive)
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


def read_curve(text: str) -> dict[str, Any]:
    """Return the arguments of ``plan.from_curve`` that a table with commas, or with tabs, has.

    Columns without a meaning are left out, empty cells are not measured, and the smallest of
    several ``n_test`` counts.
    """
    mark = "\t" if "\t" in text else ","
    rows = list(csv.DictReader(text.lower().splitlines(), delimiter=mark, skipinitialspace=True))
    if not rows or "n_samples" not in rows[0] or not _MEASURED & rows[0].keys():
        raise ValueError(
            "the curve must have columns n_samples and error (or accuracy), auc or recall, and a "
            f"row for each training, with commas or tabs between its columns, got {shown(text)}"
        )
    table: dict[str, Any] = {}
    for argument, name in _COLUMNS.items():
        if name in rows[0]:
            try:
                table[argument] = [float(row[name] or math.nan) for row in rows]
            except ValueError as wrong:
                raise ValueError(f"the curve must have numbers as {name}: {wrong}") from None
    if "accuracies" in table:
        table.setdefault("errors", [1.0 - value for value in table.pop("accuracies")])
    return table | ({"n_test": int(min(table["n_test"]))} if "n_test" in table else {})


def curve_points(
    sizes: ArrayLike, tables: dict[Metric, ArrayLike], n_test: int, chance: float
) -> CurvePoints:
    """Return the points of a curve with their noise: of tests, of draws, and of the family.

    ``tables`` has what was measured: errors, and areas or recalls.
    """
    metrics, at, errors = _complete_measurements(sizes, tables)
    size = at / at.max()
    tested = correlated(size.size, CurveNoise.same_tests) / (4.0 * n_test)
    misfit, common = likeness(size, size), correlated(len(metrics), CurveNoise.common)
    of_ranks = np.diag([CurveNoise.misfit_of_ranks**2 * (m.name != "error") for m in metrics])
    fixed = np.kron(common, tested + CurveNoise.misfit**2 * misfit) + np.kron(of_ranks, misfit)
    drawn: Floats = np.eye(size.size) / size
    scaled: Any = np.kron(common, drawn + CurveNoise.misfit_of_draws**2 * misfit)
    bars = np.sqrt(np.maximum(errors * (1.0 - errors), 0.0) / n_test)
    unit = float(at.max())
    return CurvePoints(tuple(metrics), at, errors, bars, n_test, unit, chance, CURVE, fixed, scaled)


def _complete_measurements(
    sizes: ArrayLike, tables: dict[Metric, ArrayLike]
) -> tuple[list[Metric], Floats, Floats]:
    """Return metrics, and the size and the errors of each measurement that is complete.

    A column of repeats becomes sizes that come several times.
    """
    at = check_sizes(sizes)
    values = {metric: _numbers(f"{metric.name}s", table) for metric, table in tables.items()}
    if not values:
        raise ValueError("errors, aucs or recalls must be given, got none")
    repeats = next(iter(values.values())).shape[1:]
    for metric, table in values.items():
        if table.shape != (at.size, *repeats) or table.ndim > 2:
            raise ValueError(
                f"{metric.name}s must have a row for each of the {at.size} sizes, and as many "
                f"repeats as the others, got shape {table.shape}"
            )
        if np.any((table < 0.0) | (table > 1.0)):
            raise ValueError(f"{metric.name}s must be in [0, 1], got {shown(tables[metric])}")
    at = np.repeat(at, repeats[0] if repeats else 1)
    losses = [table if m.name == "error" else 1.0 - table for m, table in values.items()]
    errors = np.stack([table.ravel() for table in losses])
    complete = np.isfinite(errors).all(axis=0)
    if np.unique(at[complete]).size < 2:
        raise ValueError("sizes must have two different ones at least, with something measured")
    return list(values), at[complete], errors[:, complete]


def check_sizes(sizes: ArrayLike) -> Floats:
    """Return a row of numbers of samples, or raise ValueError."""
    at = np.atleast_1d(_numbers("sizes", sizes))
    if at.ndim != 1 or not np.all(np.isfinite(at) & (at >= 1)):
        raise ValueError(f"sizes must be a row of numbers of samples >= 1, got {shown(sizes)}")
    return at


def _numbers(name: str, values: ArrayLike) -> Floats:
    try:
        return np.asarray(values, dtype=float)
    except (TypeError, ValueError):
        raise ValueError(f"{name} must be numbers, got {shown(values)}") from None
