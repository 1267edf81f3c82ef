"""Learning curves that agree with the errors on a pilot.

Curves are drawn from a prior and weighted by how well they agree with the held-out errors and
ranking scores. Two families are averaged, each in proportion to its evidence:

* power laws with a floor, e = c [f + (1 − f) (1 + n/n₀)^−b], c the error of chance;
* the theory's curves: classes that lie d apart in units of their spread, d² = S² x/(1 + x) with
  x = (n/n₀)^b, of which a fraction ρ of the rarer class carries no signal. A linear classifier has
  b = 1; a query that must be found first has a larger b: the error stays at chance and then falls.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaincinv, ndtr, ndtri
from scipy.stats import qmc

from sparsetoken.planner.observe import Observed

__all__ = ["Posterior", "Summary", "extrapolate", "summarise"]

Array = NDArray[np.float64]

_CURVES = 2**13  # of each family
_TEST = 1.4  # variance of the errors, in units of that between the tested sequences
_TRAINING = 0.15  # standard deviation that training on one pilot adds, for 30 sequences
_RANKING = (0.0, 0.25)  # scores rank better than errors tell: by how much, mean and deviation


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


class Family:
    """Learning curves drawn from a prior; sizes are in units of the pilot's."""

    def __init__(self, chance: float) -> None:
        self.chance = chance

    def error(self, size: Array) -> Array:
        """Return the error of each curve at each size."""
        raise NotImplementedError

    def auc(self, size: Array, gain: Array) -> Array:
        """Return the area under the ROC curve; ``gain`` is how much better the scores rank."""
        raise NotImplementedError


class PowerLaws(Family):
    """Power laws with a floor."""

    def __init__(self, chance: float) -> None:
        super().__init__(chance)
        draws = _draws(3, 1)
        normal = ndtri(draws[:, :2])
        self.exponent = np.exp(math.log(0.8) + 0.6 * normal[:, :1])
        self.scale = np.exp(-0.5 + 1.8 * normal[:, 1:])
        self.floor = betaincinv(0.5, 3.0, draws[:, 2:])

    def error(self, size: Array) -> Array:
        """Return the error of each curve at each size."""
        fall = (1.0 + size / self.scale) ** -self.exponent
        return self.chance * (self.floor + (1.0 - self.floor) * fall)

    def auc(self, size: Array, gain: Array) -> Array:
        """Return the area of two Gaussian classes with this error."""
        grid = np.linspace(12.0, 0.0, 1201)
        half = 0.5 * np.interp(self.error(size), _error(grid, self.chance, 0.0), grid)
        return ndtr(math.sqrt(2.0) * np.maximum(half + gain, 0.0))


class TheoryCurves(Family):
    """Two Gaussian classes that come apart as the signal is learned; some carry none."""

    def __init__(self, chance: float) -> None:
        super().__init__(chance)
        draws = _draws(4, 2)
        normal = ndtri(draws[:, :3])
        self.exponent = np.exp(math.log(1.2) + 0.5 * normal[:, :1])
        self.scale = np.exp(-0.5 + 1.5 * normal[:, 1:2])
        self.largest = np.exp(math.log(3.0) + 0.5 * normal[:, 2:])
        self.silent = betaincinv(0.3, 3.0, draws[:, 3:])

    def _distance(self, size: Array) -> Array:
        learned = (size / self.scale) ** self.exponent
        return self.largest * np.sqrt(learned / (1.0 + learned))

    def error(self, size: Array) -> Array:
        """Return the error of each curve at each size."""
        return _error(self._distance(size), self.chance, self.silent)

    def auc(self, size: Array, gain: Array) -> Array:
        """Return the area under the ROC curve."""
        half = np.maximum(0.5 * self._distance(size) + gain, 0.0)
        return (1.0 - self.silent) * ndtr(math.sqrt(2.0) * half) + 0.5 * self.silent


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


@lru_cache
def _draws(dimension: int, seed: int) -> Array:
    return qmc.Sobol(dimension, scramble=True, rng=np.random.default_rng(seed)).random(_CURVES)


@dataclass(frozen=True, repr=False)
class Posterior:
    """Learning curves, and how well each agrees with the pilot."""

    summary: Summary
    families: tuple[Family, ...]
    weights: Array
    """Of the curves of all families, in a row."""

    def errors(self, sizes: Array, levels: Sequence[float]) -> Array:
        """Return quantiles of the error at each size, shape (sizes, levels)."""
        curves = self._curves(sizes)
        return np.stack([_quantiles(errors, self.weights, levels) for errors in curves.T])

    def _curves(self, sizes: Array) -> Array:
        size = np.asarray(sizes, dtype=float) / self.summary.n_samples
        return np.concatenate([family.error(size) for family in self.families])

    def sizes(self, target: float, levels: Sequence[float], largest: float) -> Array:
        """Return quantiles of the number of samples that reach a target; infinite beyond."""
        grid = np.geomspace(1.0, largest, 400)
        met = self._curves(grid) <= target
        first = np.where(met.any(axis=1), grid[met.argmax(axis=1)], np.inf)
        return _quantiles(first, self.weights, levels)

    def reaches(self, target: float, n_samples: float) -> float:
        """Return the probability that ``n_samples`` reach a target."""
        return float(self.weights @ (self._curves(np.array([n_samples]))[:, 0] <= target))


def extrapolate(observed: Observed) -> Posterior:
    """Return the learning curves that agree with what was observed."""
    summary = summarise(observed)
    families = (PowerLaws(summary.chance), TheoryCurves(summary.chance))
    fits = np.concatenate([_log_likelihood(family, summary) for family in families])
    weights = np.exp(fits - fits.max())
    return Posterior(summary, families, weights / weights.sum())


def _log_likelihood(family: Family, summary: Summary) -> Array:
    """Return how well each curve agrees, up to a constant.

    The angle arcsin √e of an error has the same deviation 1/(2√n) at all errors.
    """
    size = summary.sizes / summary.n_samples
    gain = _RANKING[0] + _RANKING[1] * ndtri(_draws(1, 3))
    expected, seen = [family.error(size)], [summary.error]
    if summary.auc.size:
        expected.append(1.0 - family.auc(size, gain))
        seen.append(1.0 - summary.auc)
    rates = (np.concatenate(seen) * summary.n_samples + 0.5) / (summary.n_samples + 1.0)
    slope = 0.5 / np.sqrt(rates * (1.0 - rates))
    covariance = _TEST * summary.covariance * np.outer(slope, slope)
    covariance += np.diag(np.maximum(0.125 / summary.n_samples - np.diag(covariance), 0.0) + 1e-5)
    near = np.exp(-np.abs(np.subtract.outer(np.log(size), np.log(size))))
    training = _TRAINING**2 * 30 / summary.n_samples * np.sqrt(np.outer(size, size)) * near
    covariance += np.kron([[1.0, 0.9], [0.9, 1.0]] if summary.auc.size else [[1.0]], training)
    residual = _angle(rates) - _angle(np.hstack(expected))
    scaled = np.linalg.solve(np.linalg.cholesky(covariance), residual.T)
    return -0.5 * (scaled**2).sum(axis=0)


def _angle(rate: Array) -> Array:
    return np.arcsin(np.sqrt(np.clip(rate, 0.0, 1.0)))


def _quantiles(values: Array, weights: Array, levels: Sequence[float]) -> Array:
    """Return weighted quantiles; an infinite value is never averaged with a finite one."""
    order = np.argsort(values)
    total = np.cumsum(weights[order])
    places = np.searchsorted(total / total[-1], levels)
    return values[order][np.minimum(places, values.size - 1)]
