"""Learning curves that agree with what was measured at a few sizes.

The family is the theory's: the scores of the two classes lie d apart, in units of their spread, and

    d² = S² [1 − (1 + x)^(−c/b)],    x = (n / n₀)^b,

and a fraction ρ of the rarer class carries no signal. While n < n₀ the distance grows as n^(b/2).
For a linear readout b = 1; where a query must be found first b is larger, so that the error stays
at chance and then falls. Beyond n₀ the rest shrinks as n^(−c): c = 1 for one direction to learn,
less where ever weaker ones follow. S and ρ set the floor; n₀ grows with the effective dimension.

Measurements at size n differ from the curve by the noise of the tested samples, by that of the draw
of training samples, whose variance shrinks as 1/n, and by what the family misses, which neighboring
sizes have in common.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from scipy.linalg import eigh
from scipy.special import betaincinv, ndtr, ndtri
from scipy.stats import qmc

from sparsetoken._types import Floats
from sparsetoken.planner.metric import Metric
from sparsetoken.planner.tuned import Prior

_POINTS, _ROUNDS = 2**11, 5
_DIMENSIONS = 8
_ENOUGH = 60.0  # effective draws that a proposal is fitted to
_CLEARLY = 4.0  # standard errors that an error must rise by: many sizes are compared
_RECENT = 0.1  # of the largest size: a rise is not sought among smaller ones


class Measurements(NamedTuple):
    """Shortfalls at several sizes, and how far they may be from a learning curve.

    As angles arcsin √rate, whose variance on n tested samples is about 1/(4n) whatever the rate,
    they have the covariance ``fixed`` + σ² ``scaled``; σ is unknown, or 0 if ``scaled`` is None.
    """

    metrics: tuple[Metric, ...]
    sizes: Floats
    shortfalls: Floats
    """Shape (metrics, sizes)."""
    bars: Floats
    """Their standard errors by the tested samples, in the same shape."""
    n_tested: float
    unit: float
    """The size that the prior calls 1."""
    chance: float
    """Error of always predicting the commonest class."""
    prior: Prior
    fixed: Floats
    scaled: Floats | None = None

    def row(self, name: str) -> int | None:
        """Return the place of a metric; None if it was not measured."""
        names = [metric.name for metric in self.metrics]
        return names.index(name) if name in names else None


def smoothed(rates: Floats, metrics: Sequence[Metric], n_tested: float) -> Floats:
    """Return rates with something added to either side: none wrong is no proof of zero."""
    unseen = np.array([[metric.unseen] for metric in metrics])
    return (n_tested * rates + unseen) / (n_tested + 2.0 * unseen)


def angles(rates: Floats, metrics: Sequence[Metric], n_tested: float) -> Floats:
    """Return arcsin √rate; the last two axes, of metrics and sizes, are flattened."""
    rates = smoothed(rates, metrics, n_tested)
    flat: Floats = np.arcsin(np.sqrt(np.clip(rates, 0.0, 1.0))).reshape(*rates.shape[:-2], -1)
    return flat


def likeness(sizes: Floats) -> Floats:
    """Return how much neighboring sizes have in common, by the ratio of each two."""
    logs = np.log(sizes)
    return np.exp(-np.abs(np.subtract.outer(logs, logs)))


def correlated(count: int, correlation: float) -> Floats:
    """Return a correlation matrix with the same number everywhere off its diagonal."""
    return correlation + (1.0 - correlation) * np.eye(count)


class LearningCurves:
    """Curves of the family, one for each row of ``normal``, numbers whose prior is standard normal.

    Sizes are in the unit of the measurements.
    """

    def __init__(self, normal: Floats, chance: float, prior: Prior) -> None:
        self.rate = min(chance, 0.5)  # of the rarer class
        self.classes_factor = chance / self.rate  # above one if there are more than two classes
        early, late, scale, draw, largest, silent, ranking, tail = normal.T[:, :, np.newaxis]
        self.early = _lognormal(prior.early, early)
        self.late = _lognormal(prior.late, late)
        self.scale = _lognormal(prior.scale, scale)
        self.draw = _lognormal(prior.draw, draw)
        self.largest = _largest(ndtr(largest), prior)
        self.silent = np.minimum(betaincinv(*prior.silent, ndtr(silent)), 0.999)
        self.ranking = prior.ranking * ranking
        self.tail = self.ranking + prior.tail * tail

    def distance(self, size: Floats) -> Floats:
        """Return how far apart the classes are, for each curve and size."""
        learned = np.logaddexp(0.0, self.early * np.log(size / self.scale))
        return self.largest * np.sqrt(-np.expm1(-self.late / self.early * learned))

    def shortfall(self, metric: Metric, size: Floats) -> Floats:
        """Return the shortfall of each curve at each size."""
        gain = {"error": 0.0, "auc": self.ranking, "recall": self.tail}[metric.name]
        distance = np.maximum(self.distance(size) + gain, 0.0)
        value = metric.of_gaussians(distance, self.silent, self.rate)
        return self.classes_factor * value if metric.name == "error" else value


def _lognormal(law: tuple[float, float], normal: Floats) -> Floats:
    median, deviation = law
    return median * np.exp(deviation * normal)


def _largest(uniform: Floats, prior: Prior) -> Floats:
    """Return the distance of the classes after endless training: sometimes hardly any."""
    median, deviation = prior.largest
    learnable = (uniform - prior.hopeless) / (1.0 - prior.hopeless)
    normal = ndtri(np.clip(learnable, 1e-12, 1.0 - 1e-12))
    hopeless = 0.5 * uniform / prior.hopeless
    return np.where(learnable > 0.0, median * np.exp(deviation * normal), hopeless)


@dataclass(frozen=True, repr=False)
class Posterior:
    """Learning curves, and how well each agrees with the measurements."""

    measurements: Measurements
    curves: LearningCurves
    weights: Floats

    def quantiles(self, metric: Metric, sizes: Floats, levels: Sequence[float]) -> Floats:
        """Return quantiles of the shortfall at each size, shape (sizes, levels)."""
        values = self._shortfalls(metric, sizes)
        return np.stack([_quantiles(column, self.weights, levels) for column in values.T])

    def _shortfalls(self, metric: Metric, sizes: Floats) -> Floats:
        unit = self.measurements.unit
        return self.curves.shortfall(metric, np.asarray(sizes, dtype=float) / unit)

    def sizes(
        self, metric: Metric, target: float, levels: Sequence[float], largest: float
    ) -> Floats:
        """Return quantiles of the number of samples that reach a target; infinite beyond."""
        grid = np.geomspace(4.0, largest, 80)
        values = self._shortfalls(metric, grid)
        rows, first = np.arange(len(values)), (values <= target).argmax(axis=1)
        above, below = values[rows, np.maximum(first - 1, 0)], values[rows, first]
        step = np.where(above > below, (above - target) / np.maximum(above - below, 1e-300), 1.0)
        reached = grid[first] * (grid[1] / grid[0]) ** (np.minimum(step, 1.0) - 1.0)
        return _quantiles(np.where(below <= target, reached, np.inf), self.weights, levels)

    def reaches(self, metric: Metric, target: float, n_samples: float) -> float:
        """Return the probability that ``n_samples`` reach a target."""
        values = self._shortfalls(metric, np.array([n_samples]))[:, 0]
        return float(self.weights @ (values <= target))


def extrapolate(
    measurements: Measurements, family: type[LearningCurves] = LearningCurves
) -> Posterior:
    """Return the learning curves that agree with what was measured."""
    metrics, size = measurements.metrics, measurements.sizes / measurements.unit
    seen = angles(measurements.shortfalls, metrics, measurements.n_tested)
    scaled = np.eye(seen.size) if measurements.scaled is None else measurements.scaled
    # In these coordinates both covariances are diagonal, whatever σ.
    fixed, coordinates = eigh(measurements.fixed, scaled)

    def log_likelihood(normal: Floats) -> Floats:
        curves = family(normal, measurements.chance, measurements.prior)
        expected = np.stack([curves.shortfall(metric, size) for metric in metrics], axis=1)
        residual = (seen - angles(expected, metrics, measurements.n_tested)) @ coordinates
        unknown = 0.0 if measurements.scaled is None else curves.draw**2
        variance = np.maximum(fixed, 1e-9) + unknown
        return -0.5 * np.sum(residual**2 / variance + np.log(variance), axis=1)

    normal, weights = _sample(log_likelihood)
    return Posterior(measurements, family(normal, measurements.chance, measurements.prior), weights)


def find_rise(measured: Measurements) -> tuple[int, int] | None:
    """Return the sizes between which the first metric rises most clearly, if it does.

    Means of one to three neighboring sizes are compared with those of later ones, as angles, in
    units of the noise of the tests or of the curve's own roughness, whichever is larger. Roughness
    is that of draws of training samples: its variance shrinks as one over the size.
    """
    sizes, place = np.unique(measured.sizes, return_inverse=True)
    rates = np.bincount(place, weights=measured.shortfalls[0]) / np.bincount(place)
    angle = np.arcsin(np.sqrt(np.clip(rates, 0.0, 1.0)))
    roughness = 0.0
    if sizes.size >= 6:  # third differences see no smooth curve
        roughness = float(np.median(np.abs(np.diff(angle, 3)))) / (0.6745 * math.sqrt(20.0))
    drawn = roughness**2 * np.median(sizes) / sizes
    variance = np.maximum(drawn, 0.25 / measured.n_tested)
    clearest, where = _CLEARLY, None
    for width in (1, 2, 3):
        window = np.full(width, 1.0 / width)
        mean, bar = (np.convolve(x, window, mode="valid") for x in (angle, variance / width))
        early = int(np.searchsorted(sizes, _RECENT * sizes[-1]))  # old dips have no say any more
        for before, after in early + np.transpose(np.triu_indices(mean.size - early, width)):
            rise = (mean[after] - mean[before]) / math.sqrt(bar[before] + bar[after])
            if rise > clearest:
                clearest, where = rise, (round(sizes[before]), round(sizes[after + width - 1]))
    return where


def _sample(log_likelihood: Callable[[Floats], Floats]) -> tuple[Floats, Floats]:
    """Return weighted draws from the posterior of a standard normal prior.

    Adaptive importance sampling: each round draws from a normal law fitted to the draws before it,
    and each draw is weighted against the mixture of all these laws (Cornuet and others, 2012).
    """
    laws = [(np.zeros(_DIMENSIONS), np.eye(_DIMENSIONS))]
    draws, density = np.empty((0, _DIMENSIONS)), np.empty(0)
    for normal in _normal_points():
        center, factor = laws[-1]
        fresh = center + normal @ factor.T
        draws = np.vstack([draws, fresh])
        prior = -0.5 * np.sum(fresh**2, axis=1)
        density = np.concatenate([density, log_likelihood(fresh) + prior])
        log_weights = density - _log_mixture(draws, laws)
        laws.append(_fit_normal(draws, log_weights))
    weights = np.exp(log_weights - log_weights.max())
    return draws, weights / weights.sum()


def _fit_normal(draws: Floats, log_weights: Floats) -> tuple[Floats, Floats]:
    """Return center and factor of a normal law wider than the draws, of which enough count."""
    power, enough = 1.0, False
    while not enough:
        weights = np.exp(power * (log_weights - log_weights.max()))
        weights /= weights.sum()
        enough = 1.0 / np.sum(weights**2) >= _ENOUGH
        power *= 0.7
    center = weights @ draws
    moved = draws - center
    covariance = 1.5 * (moved.T * weights) @ moved + 1e-3 * np.eye(_DIMENSIONS)
    return center, np.linalg.cholesky(covariance)


def _log_mixture(draws: Floats, laws: Sequence[tuple[Floats, Floats]]) -> Floats:
    """Return the log density of an equal mixture of normal laws, up to a constant."""
    logs = []
    for center, factor in laws:
        standard = np.linalg.solve(factor, (draws - center).T)
        logs.append(-0.5 * np.sum(standard**2, axis=0) - np.log(np.diag(factor)).sum())
    mixture: Floats = np.logaddexp.reduce(logs)
    return mixture - math.log(len(laws))


@lru_cache(maxsize=1)
def _normal_points() -> list[Floats]:
    """Return points that fill the normal law evenly, a set for each round."""
    return [
        ndtri(
            qmc.Sobol(_DIMENSIONS, scramble=True, rng=np.random.default_rng(seed)).random(_POINTS)
        )
        for seed in range(_ROUNDS)
    ]


def _quantiles(values: Floats, weights: Floats, levels: Sequence[float]) -> Floats:
    """Return weighted quantiles; an infinite value is never averaged with a finite one."""
    order = np.argsort(values)
    total = np.cumsum(weights[order])
    places = np.searchsorted(total / total[-1], levels)
    return values[order][np.minimum(places, values.size - 1)]
