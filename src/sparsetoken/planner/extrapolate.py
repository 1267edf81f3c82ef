"""Learning curves that agree with the errors on a pilot.

Curves are drawn from a prior and weighted by how well they agree with the held-out errors and with
how well the held-out scores rank. The family is the theory's: the scores of the two classes lie d
apart, in units of their spread, and

    d² = S² x / (1 + x),    x = (n / n₀)^b,

and a fraction ρ of the rarer class carries no signal. For a linear readout b = 1. A query must be
found first, so b is larger: the error stays at chance, then falls. S and ρ set the floor; n₀ grows
with the effective dimension.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaincinv, ndtr, ndtri
from scipy.stats import qmc

from sparsetoken.planner.observe import Observed

__all__ = ["Curves", "Posterior", "Summary", "TheoryCurves", "draws", "extrapolate", "summarise"]

Array = NDArray[np.float64]

_CURVES = 2**14
_TRAINING = 0.3  # variance that training on one pilot adds, next to 0.25 that testing on it has
_HOPELESS = 0.03  # probability that the classifier learns next to nothing from any data
_RANKING = 0.25  # scores may rank better or worse than errors tell: deviation in units of d/2
_UNSEEN = 0.5, 0.1  # samples added to those on the wrong side: in errors, and in ranks of all pairs


class Summary(NamedTuple):
    """Errors and areas under the ROC curve at each size, and their covariance."""

    n_samples: int
    chance: float
    sizes: Array
    error: Array
    auc: Array
    """Empty for more than two classes."""
    covariance: Array
    """Of errors and areas in a row."""

    def rows(self) -> list[tuple[float, float, float]]:
        """Return size, error and standard error of each size."""
        bars = np.sqrt(np.diag(self.covariance))
        return list(zip(self.sizes.tolist(), self.error.tolist(), bars.tolist(), strict=False))


def summarise(observed: Observed) -> Summary:
    """Return mean errors and areas, with the covariance between the sequences tested."""
    n = observed.labels.size
    wrong = np.nanmean(observed.wrong, axis=1)
    error = wrong.mean(axis=1)
    influence = (wrong - error[:, np.newaxis]) / n
    auc = np.empty(0)
    if observed.counts.size == 2:
        positive = observed.labels == 1
        place = _placements(observed.scores, positive)
        auc = place[:, positive].mean(axis=1)
        centred = (place - auc[:, np.newaxis]) / np.where(positive, *observed.counts[::-1])
        influence = np.concatenate([influence, centred])
    covariance = influence @ influence.T * n / (n - 1)
    chance = 1.0 - observed.counts.max() / n
    return Summary(n, chance, observed.sizes, error, auc, covariance)


def _placements(scores: Array, positive: NDArray[np.bool_]) -> Array:
    """Return, for each size and sequence, the part of the other class that it is ranked right to.

    The mean over either class is the area under the ROC curve.
    """
    place = np.full(scores.shape, np.nan)
    rows = (table.reshape(-1, positive.size) for table in (place, scores))
    for found, row in zip(*rows, strict=True):
        tested = np.isfinite(row)
        for one, sign in ((positive & tested, 1.0), (~positive & tested, -1.0)):
            others = np.sort(sign * row[tested & ~one])
            if others.size:
                ranks = [
                    np.searchsorted(others, sign * row[one], side) for side in ("left", "right")
                ]
                found[one] = 0.5 * (ranks[0] + ranks[1]) / others.size
    return np.nanmean(place, axis=1)


class Curves(Protocol):
    """Learning curves drawn from a prior; sizes are in units of the pilot's."""

    def error(self, size: Array) -> Array:
        """Return the error of each curve at each size."""
        ...

    def auc(self, size: Array, gain: Array) -> Array:
        """Return the area under the ROC curve if the classes are ``gain`` further apart."""
        ...


class TheoryCurves:
    """Two Gaussian classes that come apart as the signal is learned."""

    def __init__(self, chance: float) -> None:
        self.rate = min(chance, 0.5)  # of the rarer class
        self.many = chance / self.rate  # more than one if there are more than two classes
        uniform = draws()[:, 1:]
        normal = ndtri(uniform[:, :2])
        self.exponent = 1.6 * np.exp(0.7 * normal[:, :1])
        self.scale = 0.6 * np.exp(1.5 * normal[:, 1:])
        self.largest = _largest(uniform[:, 2:3])
        self.silent = betaincinv(0.3, 5.0, uniform[:, 3:])

    def _distance(self, size: Array) -> Array:
        learned = (size / self.scale) ** self.exponent
        return self.largest * np.sqrt(learned / (1.0 + learned))

    def error(self, size: Array) -> Array:
        """Return the error of each curve at each size."""
        return self.many * _error(self._distance(size), self.rate, self.silent)

    def auc(self, size: Array, gain: Array) -> Array:
        """Return the area under the ROC curve if the classes are ``gain`` further apart."""
        half = np.maximum(0.5 * (self._distance(size) + gain), 0.0)
        return (1.0 - self.silent) * ndtr(math.sqrt(2.0) * half) + 0.5 * self.silent


def _largest(uniform: Array) -> Array:
    """Return the distance of the classes after endless training: sometimes hardly any."""
    learnable = (uniform - _HOPELESS) / (1.0 - _HOPELESS)
    normal = ndtri(np.clip(learnable, 1e-12, 1.0))
    return np.where(learnable > 0.0, 3.0 * np.exp(0.5 * normal), 0.5 * uniform / _HOPELESS)


def _error(distance: Array, rate: float, silent: Array | float) -> Array:
    """Return the least error of a threshold on Gaussian scores.

    The rarer class, of this rate, lies ``distance`` above the other, but for a part of it that is
    ``silent``. The threshold is where both classes are equally likely.
    """
    distance = np.maximum(distance, 1e-6)
    odds = np.log((1.0 - rate - rate * silent) / (rate * (1.0 - silent)))
    threshold = 0.5 * distance + odds / distance
    missed = (1.0 - silent) * ndtr(threshold - distance) + silent * ndtr(threshold)
    return rate * missed + (1.0 - rate) * ndtr(-threshold)


@lru_cache(maxsize=1)
def draws() -> Array:
    """Return points that fill the unit cube evenly: a row for each curve.

    The first column is for the ranking, the others are for the parameters of a curve.
    """
    return qmc.Sobol(5, scramble=True, rng=np.random.default_rng(0)).random(_CURVES)


@dataclass(frozen=True, repr=False)
class Posterior:
    """Learning curves, and how well each agrees with the pilot."""

    summary: Summary
    curves: Curves
    weights: Array

    def errors(self, sizes: Array, levels: Sequence[float]) -> Array:
        """Return quantiles of the error at each size, shape (sizes, levels)."""
        errors = self._errors(sizes)
        return np.stack([_quantiles(column, self.weights, levels) for column in errors.T])

    def _errors(self, sizes: Array) -> Array:
        return self.curves.error(np.asarray(sizes, dtype=float) / self.summary.n_samples)

    def sizes(self, target: float, levels: Sequence[float], largest: float) -> Array:
        """Return quantiles of the number of samples that reach a target; infinite beyond."""
        grid = np.geomspace(4.0, largest, 80)
        errors = self._errors(grid)
        rows, found = np.arange(len(errors)), (errors <= target).argmax(axis=1)
        above, below = errors[rows, np.maximum(found - 1, 0)], errors[rows, found]
        part = np.where(above > below, (above - target) / np.maximum(above - below, 1e-300), 1.0)
        reached = grid[found] * (grid[1] / grid[0]) ** (np.minimum(part, 1.0) - 1.0)
        return _quantiles(np.where(below <= target, reached, np.inf), self.weights, levels)

    def reaches(self, target: float, n_samples: float) -> float:
        """Return the probability that ``n_samples`` reach a target."""
        return float(self.weights @ (self._errors(np.array([n_samples]))[:, 0] <= target))


def extrapolate(summary: Summary, curves: Curves | None = None) -> Posterior:
    """Return the learning curves that agree with what was observed."""
    curves = TheoryCurves(summary.chance) if curves is None else curves
    fit = _log_likelihood(curves, summary)
    weights = np.exp(fit - fit.max())
    return Posterior(summary, curves, weights / weights.sum())


def _log_likelihood(curves: Curves, summary: Summary) -> Array:
    """Return how well each curve agrees with the errors and areas, up to a constant.

    Both are compared as angles arcsin √e, whose variance on n tested sequences is about 1/(4n) for
    all e. The errors of all sizes come from the same pilot, so they are correlated: by the tested
    sequences, and by the training sequences, which neighbouring sizes have in common.
    """
    n, size = summary.n_samples, summary.sizes / summary.n_samples
    expected, seen = curves.error(size), summary.error
    blocks, more = np.ones((1, 1)), np.full(size.size, _UNSEEN[0])
    if summary.auc.size:
        gain = 2.0 * _RANKING * ndtri(draws()[:, :1])
        expected = np.hstack([expected, 1.0 - curves.auc(size, gain)])
        seen = np.concatenate([seen, 1.0 - summary.auc])
        blocks, more = np.array([[1.0, 0.9], [0.9, 1.0]]), np.repeat(_UNSEEN, size.size)
    seen, expected = ((n * rate + more) / (n + 2.0 * more) for rate in (seen, expected))
    slope = 0.5 / np.sqrt(seen * (1.0 - seen))
    tested = summary.covariance * np.outer(slope, slope)
    tested += np.diag(np.maximum(0.125 / n - np.diag(tested), 0.0))  # no error seen is no proof
    common = np.exp(-np.abs(np.subtract.outer(np.log(size), np.log(size))))
    trained = _TRAINING / n * np.sqrt(np.outer(size, size)) * common
    covariance = tested + np.kron(blocks, trained) + 1e-5 * np.eye(seen.size)
    residual = _angle(seen) - _angle(expected)
    scaled = np.linalg.solve(np.linalg.cholesky(covariance), residual.T)
    fit: Array = -0.5 * (scaled**2).sum(axis=0)
    return fit


def _angle(rate: Array) -> Array:
    return np.arcsin(np.sqrt(np.clip(rate, 0.0, 1.0)))


def _quantiles(values: Array, weights: Array, levels: Sequence[float]) -> Array:
    """Return weighted quantiles; an infinite value is never averaged with a finite one."""
    order = np.argsort(values)
    total = np.cumsum(weights[order])
    places = np.searchsorted(total / total[-1], levels)
    return values[order][np.minimum(places, values.size - 1)]
