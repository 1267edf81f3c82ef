"""What a linear readout achieves on samples of a feature law (docs/theory, sections 4 and 12)."""

import math
from collections.abc import Callable
from functools import cached_property, partial
from typing import Any, ClassVar, NamedTuple

import numpy as np
from scipy.integrate import trapezoid
from scipy.optimize import brentq
from scipy.special import ndtr, ndtri

from sparsetoken._njit import njit
from sparsetoken._types import Floats
from sparsetoken._validation import check_count, check_real
from sparsetoken.estimate import Estimate, Record, standard_error
from sparsetoken.law import FeatureLaw, Points, Readout, score_mean
from sparsetoken.losses import Loss

LEAST_UNCERTAINTY = 1e-8  # sums of single points are not better than this
_MOST_PAIRS = 100_000
GRID = 129  # thresholds over which scores are integrated
_TAIL = 5.0  # outermost inner thresholds, as normal quantiles
_MOST_HALVINGS = 40  # of the gap around a score without noise, where levels jump
_CROWDED = 0.05  # if more of the pairs than this share a grid cell, refine the grid


class Rates(NamedTuple):
    """What a threshold on the score does."""

    fpr: Estimate  # probability that a sample recorded as negative scores above it
    recall: Estimate  # probability that a sample recorded as positive does


class Roc(NamedTuple):
    """False-positive rate and recall at thresholds from high to low."""

    threshold: Floats
    fpr: Floats
    recall: Floats
    uncertainty: Floats  # numerical error of the recall at its false-positive rate


class Performance(Record):
    """What a readout achieves on samples of a feature law.

    Every number is an :class:`~sparsetoken.estimate.Estimate`: a float with ``uncertainty``.

    Parameters
    ----------
    law : FeatureLaw
        Law of the features it is tested on; of those of one window if there are several.
    readout : Readout
        The trained readout.
    loss : Loss
        The loss that ``test_loss`` averages.
    moves : ndarray of shape (batches, k), optional
        How far each batch alone would move the first entries of the readout: its numerical
        uncertainty. None for a readout known exactly.
    converged : bool, default=True
        Whether the solver behind the readout converged.
    n_windows : int, default=1
        A sample's score is the largest of so many windows; at most one has the signal.
    window_law : callable, optional
        Returns the law of one window for a number of windows.
    """

    columns: ClassVar[tuple[str, ...]] = (
        "test_error",
        "uncertainty",
        "test_loss",
        "auc",
        "converged",
    )

    law: FeatureLaw
    readout: Readout
    loss: Loss
    moves: Floats | None = None
    converged: bool = True
    n_windows: int = 1
    window_law: Callable[[int], FeatureLaw] | None = None

    @cached_property
    def test_error(self) -> Estimate:
        """Probability that the sign of a fresh sample's score is not its recorded label."""
        return self._estimate(self._error)

    @property
    def uncertainty(self) -> float:
        """Estimated numerical error of ``test_error``: one standard error."""
        return self.test_error.uncertainty

    @cached_property
    def test_loss(self) -> Estimate:
        """Mean loss of a fresh sample."""
        return self._estimate(self._loss)

    @cached_property
    def auc(self) -> Estimate:
        """Probability that a fresh positive sample scores above a fresh negative one."""
        return self._estimate(self._auc)

    def threshold(self, fpr: float) -> Estimate:
        """Return the threshold on the score that a fraction ``fpr`` of the negatives exceeds."""
        fpr = check_real("fpr", fpr, low=0.0, high=1.0, above=True)
        return self._estimate(lambda law, readout: self._threshold(law, readout, fpr))

    def recall(self, fpr: float) -> Estimate:
        """Return the fraction of the positives above the threshold that ``fpr`` sets."""
        fpr = check_real("fpr", fpr, low=0.0, high=1.0, above=True)

        def recall(law: FeatureLaw, readout: Readout) -> float:
            return self._above(law, readout, 1.0, self._threshold(law, readout, fpr))

        return self._estimate(recall)

    def rates(self, threshold: float) -> Rates:
        """Return the false-positive rate and the recall of a threshold on the score."""
        threshold = check_real("threshold", threshold)

        def above(label: float) -> Estimate:
            return self._estimate(partial(self._above, label=label, threshold=threshold))

        return Rates(fpr=above(-1.0), recall=above(1.0))

    def roc(self) -> Roc:
        """Return the ROC curve at thresholds from the highest to the lowest score.

        From one to the next the normal quantiles of both rates rise by a tenth at most.
        """
        thresholds, (fpr, recall) = self._curve(self.law, self.readout, 0.1)
        error = np.full(thresholds.size, LEAST_UNCERTAINTY)
        if self._batches:  # at a fixed false-positive rate the threshold moves along
            batches = np.stack([self._above_both(*pair, thresholds) for pair in self._batches])
            slope = np.gradient(recall) / np.maximum(np.gradient(fpr), 1e-300)
            slope = np.where(np.gradient(fpr) > 1e-12, slope, 0.0)
            each = batches[:, 1] - slope * batches[:, 0]
            error = np.hypot(standard_error(each), self._rare_event_floor)
        return Roc(thresholds, fpr, recall, error)

    def windowed(self, n_windows: int) -> "Performance":
        """Return the performance of the largest score over so many equal windows of a sample.

        The signal, if there is one, is in one of the windows.
        """
        n_windows = check_count("n_windows", n_windows)
        if self.window_law is None or self.n_windows > 1:
            raise ValueError("windowed needs the law of a whole sample, which this one has not")
        law = self.window_law(n_windows)
        return Performance(law, self.readout, self.loss, self.moves, self.converged, n_windows)

    def __repr__(self) -> str:
        return f"Performance(test_error={self.test_error:.6g} ± {self.uncertainty:.1g})"

    # Each number is a function of law and readout, so that its error bar is how it varies when
    # each batch of points takes the place of the law, with the readout that it would train.

    @cached_property
    def _batches(self) -> list[tuple[FeatureLaw, Readout]]:
        if self.law.batches == 1:
            return []
        laws = map(self.law.batch, range(self.law.batches))
        if self.moves is None:
            return [(law, self.readout) for law in laws]
        return [(law, self.readout.moved(by)) for law, by in zip(laws, self.moves, strict=True)]

    def _estimate(self, number: Callable[[FeatureLaw, Readout], float]) -> Estimate:
        return self._with_error(
            number(self.law, self.readout),
            lambda: [number(law, readout) for law, readout in self._batches],
        )

    def _with_error(self, value: float, each: Callable[[], list[float]]) -> Estimate:
        """Attach to a number the error bar from what it is in each batch."""
        beside = self._rare_event_floor if self.law.batches > 1 else LEAST_UNCERTAINTY
        return Estimate.from_batches(value, each, beside=beside, converged=self.converged)

    @property
    def _rare_event_floor(self) -> float:
        """Errors on tokens rarer than the points can show do not appear in their spread."""
        return 0.02 / max(int(np.count_nonzero(self.law.points.label > 0)), 1)

    def _error(self, law: FeatureLaw, readout: Readout) -> float:
        p = law.points
        if self.n_windows == 1:
            margin = p.label * score_mean(p, readout)
            return p.average(error_rate(margin, p.scale * readout.norm_rest))
        rate = float(p.weight[p.label > 0].sum())
        alarm, recall = (
            self._above(law, readout, y, 0.0) if weight > 0.0 else 0.0
            for y, weight in ((-1.0, 1.0 - rate), (1.0, rate))
        )
        return rate * (1.0 - recall) + (1.0 - rate) * alarm

    def _loss(self, law: FeatureLaw, readout: Readout) -> float:
        p = law.points
        if self.n_windows == 1:
            mean, deviation = score_mean(p, readout), p.scale * readout.norm_rest
            return p.average(np.asarray(self.loss.average(mean, deviation, p.label)))
        grid = np.linspace(*self._range(law, readout), GRID)
        total = 0.0
        for y in (-1.0, 1.0):
            weight = float(p.weight[p.label == y].sum())
            if weight > 0.0:
                losses = np.asarray(self.loss.value(grid, y))
                total -= weight * integral(losses, self._above(law, readout, y, grid))
        return total

    def _above(self, law: FeatureLaw, readout: Readout, label: float, threshold: Any) -> Any:
        """Return the probability that a sample of a label scores above a threshold, or each."""
        if np.ndim(threshold) == 0:
            return float(self._above(law, readout, label, np.array([float(threshold)]))[0])
        if self.n_windows == 1:
            return _survival(law.positive if label > 0 else law.negative, readout, threshold)
        labelled = law.points.label == label
        signal = (law.direction >= 0) & labelled
        below_noise = _log_below(law.noise, readout, threshold)
        true = float(law.points.weight[signal].sum() / law.points.weight[labelled].sum())
        above = -(1.0 - true) * np.expm1(self.n_windows * below_noise)
        if true > 0.0:
            below = _log_below(law.points.where(signal), readout, threshold)
            above -= true * np.expm1(below + (self.n_windows - 1) * below_noise)
        return above

    def _above_both(self, law: FeatureLaw, readout: Readout, thresholds: Floats) -> Floats:
        return np.stack([self._above(law, readout, y, thresholds) for y in (-1.0, 1.0)])

    def _threshold(self, law: FeatureLaw, readout: Readout, fpr: float) -> float:
        above = partial(self._above, law, readout, -1.0)
        return find_threshold(above, fpr, *self._range(law, readout))

    def _curve(self, law: FeatureLaw, readout: Readout, step: float) -> tuple[Floats, Floats]:
        """Return falling thresholds, and how much of each class is above them, shape (2, n).

        Thresholds are added until the normal quantiles of these rates rise by at most ``step``:
        as fine where scores crowd as where they are far apart.
        """
        low, high = self._range(law, readout)
        high += 1e-9 * max(high - low, 1.0)  # above all scores, also those without noise

        thresholds = np.linspace(high, low, 33)
        rates = self._above_both(law, readout, thresholds)
        for _ in range(_MOST_HALVINGS):
            wide = np.flatnonzero(np.diff(_normal_quantile(rates)).max(axis=0) > step)
            if not wide.size:
                break
            middle = 0.5 * (thresholds[wide] + thresholds[wide + 1])
            thresholds = np.insert(thresholds, wide + 1, middle)
            rates = np.insert(rates, wide + 1, self._above_both(law, readout, middle), axis=1)
        return thresholds, rates

    def _range(self, law: FeatureLaw, readout: Readout) -> tuple[float, float]:
        """Return where all the scores are, but for 1e-12 or so."""
        mean, deviation = score_mean(law.points, readout), law.points.scale * readout.norm_rest
        return float((mean - 8.0 * deviation).min()) - 1e-9, float((mean + 8.0 * deviation).max())

    def _auc(self, law: FeatureLaw, readout: Readout) -> float:
        positive, negative = law.positive, law.negative
        pairs = positive.weight.size * negative.weight.size
        if self.n_windows > 1 or pairs > _MOST_PAIRS:
            grid = np.linspace(*self._range(law, readout), GRID)
            alarm, recall = self._above_both(law, readout, grid)
            if float(np.diff(alarm) @ np.diff(recall)) < _CROWDED:
                return min(-integral(recall, alarm), 1.0)
            alarm, recall = self._curve(law, readout, _TAIL / GRID)[1]
            return float(trapezoid(recall, alarm))
        gap = np.subtract.outer(score_mean(positive, readout), score_mean(negative, readout))
        spread = readout.norm_rest * np.hypot.outer(positive.scale, negative.scale)
        return min(float(positive.weight @ error_rate(-gap, spread) @ negative.weight), 1.0)


def find_threshold(above: Callable[[float], float], rate: float, low: float, high: float) -> float:
    """Return the threshold between two others that a fraction ``rate`` of the scores is above."""

    def excess(threshold: float) -> float:
        return math.log(max(above(threshold), 1e-300) / rate)

    if excess(high) >= 0.0 or excess(low) <= 0.0:  # scores without noise
        return high if excess(high) >= 0.0 else low
    return float(brentq(excess, low, high, xtol=1e-10 * (high - low), rtol=1e-10))


def integral(values: Floats, over: Floats) -> float:
    """Integrate along a curve by the trapezoid rule, extrapolated from twice the step."""
    fine, coarse = (trapezoid(values[::n], over[::n]) for n in (1, 2))
    return float(fine + (fine - coarse) / 3.0)


def _normal_quantile(level: Floats) -> Floats:
    return np.clip(ndtri(level), -_TAIL, _TAIL)


def _survival(points: Points, readout: Readout, thresholds: Floats) -> Floats:
    mean, deviation = score_mean(points, readout), points.scale * readout.norm_rest
    result = np.zeros(thresholds.size)
    _add_survival(mean, deviation, points.weight, thresholds, result)
    return np.minimum(result, 1.0)  # weights add up to one but for rounding


@njit(error_model="numpy")
def _add_survival(mean, deviation, weight, thresholds, result):  # type: ignore[no-untyped-def]
    """Add up the probabilities that the points score above each threshold."""
    for i in range(mean.size):
        m, d, w = mean[i], deviation[i], weight[i]
        for k in range(thresholds.size):
            gap = m - thresholds[k]
            if gap > 8.0 * d:
                result[k] += w
            elif gap == 0.0:
                result[k] += 0.5 * w
            elif gap > -8.0 * d:
                result[k] += 0.5 * w * math.erfc(-gap / (1.4142135623730951 * d))


def _log_below(points: Points, readout: Readout, thresholds: Floats) -> Floats:
    return np.log1p(-np.minimum(_survival(points, readout, thresholds), 1.0 - 1e-16))


def error_rate(margin: Floats, deviation: Floats) -> Floats:
    """Probability of a Gaussian below zero; one that is exactly zero counts half."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(ndtr(-np.where(margin == 0.0, 0.0, margin / deviation)))
