"""Plans from measured performance: ``plan.from_pilot`` and ``plan.from_curve``."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtri
from scipy.stats import rankdata
from sklearn.utils.validation import _num_samples

from sparsetoken._types import Array, Floats, Indices
from sparsetoken._validation import check_count, check_real
from sparsetoken.estimators import SparseTokenClassifier
from sparsetoken.estimators.folds import check_groups, fit_rows, split, take_rows
from sparsetoken.inspection.estimation import count_labels
from sparsetoken.planner.curves import (
    PILOT,
    CurvePoints,
    PilotNoise,
    Posterior,
    complete_measurements,
    correlated,
    curve_points,
    extrapolate,
    likeness,
    smoothed,
)
from sparsetoken.planner.metric import DEFAULT_FPR, Metric, get_metric
from sparsetoken.planner.words import (
    PlanResult,
    Progress,
    answer_by_curves,
    no_progress,
    trust_in_curves,
    words_by_curves,
)
from sparsetoken.problem import RandomState
from sparsetoken.sequences.sequences import as_sequences

_FOLDS = 5
_REPEATS = 2  # times the pilot is cut anew
_REACH = 100  # times the pilot: the extrapolation is not asked about larger studies
_LEVELS = (0.1, 0.5, 0.9)
_FEWEST_ALARMS = 2.0  # of negatives: with fewer expected, a recall cannot be measured


class PilotCurve(NamedTuple):
    """Expected error against the number of samples."""

    n_samples: tuple[int, ...]
    lower: tuple[float, ...]
    median: tuple[float, ...]
    upper: tuple[float, ...]


@dataclass(frozen=True, repr=False)
class PilotPlan(PlanResult):
    """The answer of ``st.plan.from_pilot`` and ``st.plan.from_curve``.

    An "error" is what the plan's metric lacks: the test error, 1 − AUC, or 1 − recall.
    """

    _drawing = "draw_pilot"

    target: float
    """The error asked for."""
    aim: Metric
    """What is planned for."""
    posterior: Posterior
    """The learning curves that agree with what was measured."""
    source: str
    """What was extrapolated: "pilot" or "learning curve"."""
    unit: str
    """What is counted: "sequences" or "samples"."""
    classifier: str
    """What the plan is about."""
    class_counts: dict[Any, int]
    """Samples of each class in the pilot; empty for a curve."""
    method: str
    """How the errors were measured, in a sentence."""

    _words = words_by_curves
    answer, trust = property(answer_by_curves), property(trust_in_curves)

    @property
    def points(self) -> CurvePoints:
        """What was measured."""
        return self.posterior.points

    @property
    def metric(self) -> str:
        """What is planned for: "error", "auc" or "recall"."""
        return self.aim.name

    @property
    def pilot_size(self) -> int:
        """Number of samples in the pilot, or the largest size of the curve."""
        return round(self.points.unit)

    @property
    def farthest(self) -> int:
        """Number of samples beyond which nothing is said."""
        return _REACH * self.pilot_size

    def predict(self, sizes: ArrayLike) -> Floats:
        """Return the expected error after training on each number of samples.

        Parameters
        ----------
        sizes : array-like of shape (k,)
            Numbers of labelled samples.

        Returns
        -------
        ndarray of shape (k, 3)
            The 10 %, 50 % and 90 % points: lower, median and upper. With ``metric="auc"`` they are
            of 1 − AUC, with ``metric="recall"`` of 1 − recall.
        """
        sizes = np.atleast_1d(np.asarray(sizes, dtype=float))
        if sizes.ndim != 1 or not np.all(np.isfinite(sizes) & (sizes >= 1)):
            raise ValueError(f"sizes must be numbers of samples >= 1, got {sizes!r}")
        return self.posterior.quantiles(self.aim, sizes, _LEVELS)

    @cached_property
    def needed(self) -> list[float]:
        """Samples at which the target is reached with probability 10 %, 50 % and 90 %."""
        return self.posterior.sizes(self.aim, self.target, _LEVELS, self.farthest)

    @property
    def n_samples(self) -> int | None:
        """Number of samples that reach the target, as likely too many as too few; or None."""
        return _whole(self.needed[1])

    @property
    def interval(self) -> tuple[int, int] | None:
        """Between these numbers of samples the target is reached, with 80 % probability.

        None if there is no upper end: ``trust`` says why.
        """
        high = _whole(self.needed[2])
        return None if high is None else (math.ceil(self.needed[0]), high)

    def assured(self, probability: float) -> int | None:
        """Return the number of samples that reaches the target with this probability.

        Parameters
        ----------
        probability : float
            How sure to be, in (0, 1); 0.5 gives ``n_samples``.

        Returns
        -------
        int or None
            None if 100 times the pilot is not enough for that.

        Examples
        --------
        >>> import sparsetoken as st
        >>> errors = [0.35, 0.27, 0.2, 0.16]
        >>> plan = st.plan.from_curve([25, 50, 100, 200], errors, n_test=500, error=0.17)
        >>> plan.assured(0.5) == plan.n_samples < plan.assured(0.8)
        True
        """
        levels = [check_real("probability", probability, 1e-6, 1.0 - 1e-6)]
        return _whole(*self.posterior.sizes(self.aim, self.target, levels, self.farthest))

    def probability(self, n_samples: float) -> float:
        """Return the probability that the target is reached with ``n_samples``."""
        errors = self.posterior.errors(self.aim, np.array([n_samples]))[:, 0]
        return float(self.posterior.weights @ (errors <= self.target))

    @property
    def more(self) -> dict[Any, int] | None:
        """How many more of each class to label, at the pilot's rates; None if not known."""
        if self.n_samples is None or not self.class_counts:
            return None
        factor = max(self.n_samples / self.pilot_size - 1.0, 0.0)
        return {name: math.ceil(factor * count) for name, count in self.class_counts.items()}

    @cached_property
    def curve(self) -> PilotCurve:
        """Expected error from a tenth of the pilot, or less, to at least ten times its size."""
        last = max(10.0 * self.pilot_size, *(1.5 * n for n in self.needed if math.isfinite(n)))
        first = max(2.0, min(0.1 * self.pilot_size, self.needed[0]))
        sizes = np.unique(np.geomspace(first, last, 40).round())
        lower, median, upper = self.predict(sizes).T
        return PilotCurve(tuple(int(n) for n in sizes), tuple(lower), tuple(median), tuple(upper))

    @property
    def learns(self) -> bool:
        """Whether a metric clearly beats chance at the largest size."""
        points, last = self.points, int(self.points.sizes.argmax())
        chances = [metric.chance(points.chance) for metric in points.metrics]
        return bool(np.any(chances - points.errors[:, last] > 3.0 * points.bars[:, last]))

    def measured(self) -> tuple[str, list[tuple[float, float, float]]]:
        """Return the label, and size, error and standard error of what was measured.

        That is the plan's metric, or else the first.
        """
        points, metrics = self.points, self.points.metrics
        row = metrics.index(self.aim) if self.aim in metrics else 0
        table = np.stack([points.sizes, points.errors[row], points.bars[row]], axis=1)
        return metrics[row].label, sorted(map(tuple, table.tolist()))

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain data, ready for JSON."""
        names = ("answer", "n_samples", "trust", "target", "metric", "source", "pilot_size")
        columns = ("n_samples", "error", "standard_error")
        return {
            **{name: getattr(self, name) for name in names},
            "interval": None if self.interval is None else list(self.interval),
            "more": None if self.more is None else {str(k): n for k, n in self.more.items()},
            "label": self.aim.label,
            "observed": [dict(zip(columns, row, strict=True)) for row in self.measured()[1]],
            "curve": {name: list(values) for name, values in self.curve._asdict().items()},
        }


def _whole(size: float) -> int | None:
    return math.ceil(size) if math.isfinite(size) else None


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
    tested on all the others; each fold takes its turn. So every sample is tested equally often at
    each size. A part that the estimator cannot be trained on is left out, and so is a size at which
    a sample was never tested. If nothing is left, ValueError says why.
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
            found = np.reshape(getattr(fitted, methods[0])(tested), (test.size, -1))
            scores[step, row, test] = found[:, -1]
    complete = np.isfinite(wrong).any(axis=1).all(axis=1)
    if not complete.any():
        raise ValueError(f"X must have parts to train on and to test on: {reason}")
    return HeldOut(labels, size.mean(axis=1)[complete], wrong[complete], scores[complete])


def pilot_points(held_out: HeldOut, metric: Metric | None = None) -> CurvePoints:
    """Return mean errors and ranks, with the covariance between the samples tested.

    A recall is measured only if ``metric`` asks for it and the negatives are enough.
    """
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
            lost = _by_sample(partial(_outside, fpr=fpr), held_out)
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


def plan_from_pilot(
    X: Any,
    y: ArrayLike,
    *,
    error: float,
    estimator: Any = None,
    groups: ArrayLike | None = None,
    metric: str = "error",
    fpr: float = DEFAULT_FPR,
    effort: float = 1.0,
    random_state: RandomState = 0,
    progress: Progress = no_progress,
) -> PilotPlan:
    """Plan the number of samples from pilot data, for any classifier.

    The classifier is trained on parts of the pilot, of several sizes, and tested on the rest.
    Learning curves of the theory's family that agree with these errors are extrapolated.

    Parameters
    ----------
    X : array, data frame, sparse matrix, list or Sequences
        The pilot, in any form that the classifier's ``fit`` takes; for the default one, sequences.
    y : array-like of shape (n,)
        Their labels; at least four of each.
    error : float
        Target: the test error, below that of always predicting the commonest label. With
        ``metric="auc"`` it is 1 − AUC, with ``metric="recall"`` 1 − recall.
    estimator : classifier, optional
        By default the plan is for a :class:`~sparsetoken.estimators.SparseTokenClassifier`; pass
        any unfitted scikit-learn classifier to change it.
    groups : array-like of shape (n,), optional
        Groups of samples that belong together, such as those of one patient: no group is trained
        on and tested on at the same time. A ``fit`` that takes ``groups`` gets them.
    metric : {"error", "auc", "recall"}, default="error"
        What ``error`` means. The last two need two classes; the second label in sorted order is the
        positive one.
    fpr : float, default=0.01
        The false-positive rate of the recall.
    effort : float, default=1.0
        2 cuts the pilot into parts twice as often, for a somewhat narrower interval.
    random_state : int, Generator or None, default=0
        Decides the parts. The same seed gives the same observed errors whatever the target.
    progress : callable, optional
        Called with a few words before each training.

    Returns
    -------
    PilotPlan
        With ``n_samples``, ``interval``, ``assured``, ``predict``, ``curve`` and ``trust``.

    Examples
    --------
    >>> import sparsetoken as st
    >>> problem = st.SparseTokenProblem(n_tokens=4, n_signal=2, signal=4.0)
    >>> X, y = problem.sample(40, 60, random_state=0)
    >>> pilot = st.plan.from_pilot(X, y, error=0.05, estimator=st.PooledClassifier(reg=0.1))
    >>> pilot
    PilotPlan(About 126 labelled sequences for a 5 % test error (80 % interval: 25 to unbounded))
    >>> pilot.predict([80, 160]).round(2)  # lower, median and upper expected error
    array([[0.02, 0.06, 0.12],
           [0.01, 0.05, 0.12]])
    """
    aim = get_metric(metric, fpr)
    repeats = max(1, round(_REPEATS * check_real("effort", effort, low=0.0, above=True)))
    X = as_sequences(X) if estimator is None else X
    labels = np.asarray(y)
    counts, codes = count_labels(labels, _num_samples(X)), check_groups(groups, labels.size)
    if len(counts) < 2:
        raise ValueError(f"y must have at least two labels, got {len(counts)}")
    if len(counts) > 2 and aim.name != "error":
        raise ValueError(f"metric must be 'error' with {len(counts)} labels in y, got {metric!r}")
    target = aim.check(error, 1.0 - max(counts.values()) / labels.size)
    rng = np.random.default_rng(random_state)
    cuts = [cut_pilot(labels, codes, rng) for _ in range(repeats)]
    if estimator is None:
        estimator = SparseTokenClassifier(random_state=int(rng.integers(2**31)))
    held_out = train_on_parts(estimator, X, labels, cuts, groups=codes, progress=progress)
    progress("fitting learning curves")
    posterior = extrapolate(pilot_points(held_out, aim))
    together = "" if codes is None else f", {np.unique(codes).size} groups kept together"
    method = f"held out after training on parts of the pilot of {labels.size}{together}"
    unit, name = "sequences" if _has_tokens(X) else "samples", type(estimator).__name__
    return PilotPlan(target, aim, posterior, "pilot", unit, name, counts, method)


def _has_tokens(X: Any) -> bool:
    """Whether the samples are sequences of tokens, not rows of a table."""
    if hasattr(X, "offsets"):
        return bool(X.lengths.max() > 1)
    return len(getattr(X, "shape", ())) == 3 or (isinstance(X, list) and np.ndim(X[0]) == 2)


def plan_from_curve(
    sizes: ArrayLike,
    errors: ArrayLike | None = None,
    *,
    n_test: int,
    error: float,
    aucs: ArrayLike | None = None,
    recalls: ArrayLike | None = None,
    chance: float = 0.5,
    metric: str = "error",
    fpr: float = DEFAULT_FPR,
) -> PilotPlan:
    """Plan the number of samples from a learning curve alone.

    The curve may be anybody's: of a paper, or of a classifier that this package does not know. Test
    errors come with the noise of ``n_test`` samples, and with that of each draw of training
    samples, which is estimated from the roughness of the curve.

    Parameters
    ----------
    sizes : array-like of shape (k,)
        Numbers of training samples; two different ones at least. A size may come several times.
    errors, aucs, recalls : array-like of shape (k,) or (k, repeats), optional
        Test errors, areas under the ROC curve, and recalls at the false-positive rate ``fpr``, at
        each size: at least one of the three. NaN is left out, with all that belongs to it.
    n_test : int
        Number of test samples.
    error, metric, fpr
        The target, as in :meth:`from_pilot`. A metric that was not measured is inferred, which
        ``trust`` says.
    chance : float, default=0.5
        Error of always predicting the commonest class.

    Returns
    -------
    PilotPlan
        As of :meth:`from_pilot`.

    Examples
    --------
    >>> import sparsetoken as st
    >>> errors = [0.35, 0.27, 0.2, 0.16]
    >>> plan = st.plan.from_curve([25, 50, 100, 200], errors, n_test=500, error=0.13)
    >>> plan
    PilotPlan(About 601 labelled samples for a 13 % test error (80 % interval: 221 to unbounded))
    >>> plan.predict([400, 800]).round(2)  # lower, median and upper expected error
    array([[0.09, 0.14, 0.2 ],
           [0.07, 0.12, 0.19]])
    """
    aim = get_metric(metric, fpr)
    n_test = check_count("n_test", n_test, minimum=2)
    chance = check_real("chance", chance, low=0.0, high=1.0, above=True)
    target = aim.check(error, chance)
    tables = {get_metric("error"): errors}
    for other, table in (("auc", aucs), ("recall", recalls)):
        tables[get_metric(other, fpr)] = None if table is None else 1.0 - np.asarray(table, float)
    points = curve_points(*complete_measurements(sizes, tables), n_test, chance)
    method = f"measured on {n_test} test samples at {np.unique(points.sizes).size} sizes"
    description = "learning curve", "samples", "the classifier of the curve", dict[Any, int]()
    return PilotPlan(target, aim, extrapolate(points), *description, method)
