"""Learning curves that agree with what was measured at a few sizes.

The family is the theory's: the scores of the two classes lie d apart, in units of their spread, and

    d² = S² [1 − (1 + x)^(−c/b)],    x = (n / n₀)^b,

and a fraction ρ of the rarer class carries no signal. While n < n₀ the distance grows as n^(b/2).
For a linear readout b = 1; where a query must be found first b is larger, so that the error stays
at chance and then falls. Beyond n₀ the rest shrinks as n^(−c): c = 1 for one direction to learn,
less where ever weaker ones follow. S and ρ set the floor; n₀ grows with the effective dimension.

Measurements at size n differ from the curve by the noise of the tested samples, by that of the draw
of training samples, whose variance shrinks as 1/n, and by what the family misses, which neighboring
sizes have in common. From a learning curve that misfit is extrapolated too, so that curves that do
not fall are allowed for.

The numbers of priors and noise were found by trying, for intervals that hold and are narrow.
``PILOT`` was chosen on families of ``benchmarks/pilot_truth`` (heavy to variance, needle-10 to 30,
tiger, fox, musk1): sequences in which a token or a direction is found, after which the error falls
fast. ``CURVE`` and its noise were chosen on 100 curves of every other one of 124 public tables
(LCDB, ``benchmarks/curve_truth``): 20 learners, many of which stop falling early. Steeper curves
that end lower (b = 2, S = 3.5) were further off on families not chosen by, and with less noise by
training the intervals hold less often; docs/validation/plans has the rest.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from scipy.linalg import eigh
from scipy.special import betaincinv, logsumexp, ndtr, ndtri
from scipy.stats import multivariate_normal, qmc

from sparsetoken._types import Floats
from sparsetoken.planner.metric import Metric

_POINTS, _ROUNDS = 2**11, 5
_DIMENSIONS = 8
_ENOUGH = 60.0  # effective draws that a proposal is fitted to


class Prior(NamedTuple):
    """The prior of a learning curve: medians with standard deviations of the logarithm."""

    early: tuple[float, float]
    """Exponent b."""
    late: tuple[float, float]
    """Exponent c."""
    scale: tuple[float, float]
    """n₀, in units of the pilot or of the curve's largest size."""
    largest: tuple[float, float]
    """S."""
    hopeless: float
    """Probability that S is below 1/2 instead: next to nothing is learned from any data."""
    ranking: float
    """Standard deviation of what ranks tell beyond errors, in units of d."""


_DRAW = 0.025, 0.9  # noise of one draw of training samples at the largest size, an arcsin √error
_SIGNAL_FREE = 0.3, 5.0  # the parameters of the Beta law of ρ
_TAIL = 0.5  # standard deviation of what a recall tells beyond ranks, in units of d; a guess
PILOT = Prior((1.6, 0.7), (1.6, 0.7), (0.6, 1.5), (3.0, 0.5), hopeless=0.03, ranking=0.5)
CURVE = Prior((1.2, 0.6), (0.3, 0.6), (0.25, 1.7), (2.2, 0.9), hopeless=0.02, ranking=0.7)


class PilotNoise:
    """Of angles measured on parts of one pilot of n samples."""

    training = 0.25  # variance that training on one pilot adds, over n; testing on it has 0.25
    common = 0.9  # correlation between the metrics of that


class CurveNoise:
    """Of angles read from a learning curve; misfit is correlated as exp(−|log size ratio|)."""

    same_tests = 0.5  # correlation of two sizes by the samples that both are tested on; a guess
    misfit = 0.04  # standard deviation of what the family misses
    misfit_of_draws = 0.5  # in units of the noise of a draw: rough curves are misfitted more
    misfit_of_ranks = 0.06  # what ranks and recalls miss beyond that: they follow errors loosely
    common = 0.6  # correlation between the metrics


class CurvePoints(NamedTuple):
    """Errors at several sizes, and how far they may be from a learning curve.

    As angles arcsin √rate, whose variance on n tested samples is about 1/(4n) whatever the rate,
    they have the covariance ``fixed`` + σ² ``scaled``; σ is unknown, or 0 if ``scaled`` is None.
    """

    metrics: tuple[Metric, ...]
    sizes: Floats
    errors: Floats
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


def smoothed(rates: Floats, metrics: Sequence[Metric], n_tested: float) -> Floats:
    """Return rates with something added to either side: none wrong is no proof of zero."""
    pseudo_count = np.array([[metric.pseudo_count] for metric in metrics])
    return (n_tested * rates + pseudo_count) / (n_tested + 2.0 * pseudo_count)


def angles(rates: Floats, metrics: Sequence[Metric], n_tested: float) -> Floats:
    """Return arcsin √rate; the last two axes, of metrics and sizes, are flattened."""
    rates = smoothed(rates, metrics, n_tested)
    return np.arcsin(np.sqrt(np.clip(rates, 0.0, 1.0))).reshape(*rates.shape[:-2], -1)


def likeness(sizes: Floats, others: Floats) -> Floats:
    """Return how much two sizes have in common, by their ratio."""
    return np.exp(-np.abs(np.subtract.outer(np.log(sizes), np.log(others))))


def correlated(count: int, correlation: float) -> Floats:
    """Return a correlation matrix with the same number everywhere off its diagonal."""
    return correlation + (1.0 - correlation) * np.eye(count)


class LearningCurves:
    """Curves of the family, one for each row of ``normal``, numbers whose prior is standard normal.

    Sizes are in the unit of the points.
    """

    def __init__(self, normal: Floats, chance: float, prior: Prior) -> None:
        self.rate = min(chance, 0.5)  # of the rarer class
        self.classes_factor = chance / self.rate  # above one if there are more than two classes
        columns = normal.T[:, :, np.newaxis]
        laws = prior.early, prior.late, prior.scale, _DRAW
        self.early, self.late, self.scale, self.draw = (
            median * np.exp(deviation * column)
            for (median, deviation), column in zip(laws, columns, strict=False)
        )
        largest, signal_free, ranking, tail = columns[4:]
        self.largest = _largest(ndtr(largest), prior)
        self.signal_free = np.minimum(betaincinv(*_SIGNAL_FREE, ndtr(signal_free)), 0.999)
        self.ranking = prior.ranking * ranking
        self.tail = self.ranking + _TAIL * tail

    def distance(self, size: Floats) -> Floats:
        """Return how far apart the classes are, for each curve and size."""
        learned = np.logaddexp(0.0, self.early * np.log(size / self.scale))
        return self.largest * np.sqrt(-np.expm1(-self.late / self.early * learned))

    def error(self, metric: Metric, size: Floats) -> Floats:
        """Return the error of each curve at each size."""
        gain = {"error": 0.0, "auc": self.ranking, "recall": self.tail}[metric.name]
        distance = np.maximum(self.distance(size) + gain, 0.0)
        value = metric.of_gaussians(distance, self.signal_free, self.rate)
        return self.classes_factor * value if metric.name == "error" else value


def _largest(uniform: Floats, prior: Prior) -> Floats:
    """Return the distance of the classes after endless training: sometimes hardly any."""
    median, deviation = prior.largest
    learnable = (uniform - prior.hopeless) / (1.0 - prior.hopeless)
    normal = ndtri(np.clip(learnable, 1e-12, 1.0 - 1e-12))
    hopeless = 0.5 * uniform / prior.hopeless
    return np.where(learnable > 0.0, median * np.exp(deviation * normal), hopeless)


@dataclass(frozen=True, repr=False)
class Posterior:
    """Learning curves, and how well each agrees with the points."""

    points: CurvePoints
    curves: LearningCurves
    weights: Floats
    residuals: Floats
    """How far the points are from each curve, in ``coordinates``."""
    variances: Floats
    """Of these residuals, which are independent."""
    coordinates: Floats

    def quantiles(self, metric: Metric, sizes: Floats, levels: Sequence[float]) -> Floats:
        """Return quantiles of the error at each size, shape (sizes, levels)."""
        values = self.errors(metric, sizes)
        return np.stack([_quantiles(column, self.weights, levels) for column in values.T])

    def errors(self, metric: Metric, sizes: Floats) -> Floats:
        """Return the error of each curve at each size."""
        size = np.asarray(sizes, dtype=float) / self.points.unit
        errors = self.curves.error(metric, size)
        return errors if self.points.scaled is None else self._with_misfit(metric, size, errors)

    def _with_misfit(self, metric: Metric, size: Floats, errors: Floats) -> Floats:
        """Add what the family misses at other sizes, given what it misses at the points.

        What the points leave open is drawn, once for each curve.
        """
        near = likeness(self.points.sizes / self.points.unit, size)
        alike = [[1.0 if m == metric else CurveNoise.common] for m in self.points.metrics]
        by_ranks = 0.0 if metric.name == "error" else CurveNoise.misfit_of_ranks**2
        own = [[by_ranks if m == metric else 0.0] for m in self.points.metrics]
        shared, ranks = (self.coordinates.T @ np.kron(rows, near) for rows in (alike, own))
        scale = CurveNoise.misfit**2 + (CurveNoise.misfit_of_draws * self.curves.draw) ** 2
        gain, precision = self.residuals / self.variances, 1.0 / self.variances
        moved = scale * (gain @ shared) + gain @ ranks
        explained = scale**2 * (precision @ shared**2) + precision @ ranks**2
        explained += 2.0 * scale * (precision @ (shared * ranks))
        spread = np.sqrt(np.maximum(scale + by_ranks - explained, 0.0))
        angle = np.arcsin(np.sqrt(errors)) + moved + spread * _luck(len(errors))
        return np.sin(np.clip(angle, 0.0, 0.5 * np.pi)) ** 2

    def sizes(
        self, metric: Metric, target: float, levels: Sequence[float], largest: float
    ) -> list[float]:
        """Return quantiles of the number of samples that reach a target; infinite beyond."""
        grid = np.geomspace(4.0, largest, 80)
        values = self.errors(metric, grid)
        rows, first = np.arange(len(values)), (values <= target).argmax(axis=1)
        above, below = values[rows, np.maximum(first - 1, 0)], values[rows, first]
        step = np.where(above > below, (above - target) / np.maximum(above - below, 1e-300), 1.0)
        reached = grid[first] * (grid[1] / grid[0]) ** (np.minimum(step, 1.0) - 1.0)
        reached = np.where(below <= target, reached, np.inf)
        return list(_quantiles(reached, self.weights, levels).tolist())


def extrapolate(points: CurvePoints, family: type[LearningCurves] = LearningCurves) -> Posterior:
    """Return the learning curves that agree with what was measured."""
    metrics, size = points.metrics, points.sizes / points.unit
    seen = angles(points.errors, metrics, points.n_tested)
    scaled = np.eye(seen.size) if points.scaled is None else points.scaled
    # In these coordinates both covariances are diagonal, whatever σ.
    fixed, coordinates = eigh(points.fixed, scaled)

    def compare(curves: LearningCurves) -> tuple[Floats, Floats]:
        """Return the residuals of each curve in these coordinates, and their variances."""
        expected = np.stack([curves.error(metric, size) for metric in metrics], axis=1)
        residuals = (seen - angles(expected, metrics, points.n_tested)) @ coordinates
        unknown = 0.0 if points.scaled is None else curves.draw**2
        return residuals, np.maximum(fixed, 1e-9) + unknown * np.ones_like(residuals)

    def log_likelihood(normal: Floats) -> Floats:
        residuals, variances = compare(family(normal, points.chance, points.prior))
        return -0.5 * np.sum(residuals**2 / variances + np.log(variances), axis=1)

    normal, weights = _sample(log_likelihood)
    curves = family(normal, points.chance, points.prior)
    return Posterior(points, curves, weights, *compare(curves), coordinates)


def _sample(log_likelihood: Callable[[Floats], Floats]) -> tuple[Floats, Floats]:
    """Return weighted draws by adaptive importance sampling (Cornuet and others, 2012).

    Each round draws from a normal law fitted to the draws before; all laws weigh each draw.
    """
    laws = [(np.zeros(_DIMENSIONS), np.eye(_DIMENSIONS))]
    draws, density = np.empty((0, _DIMENSIONS)), np.empty(0)
    for normal in _normal_points():
        center, covariance = laws[-1]
        fresh = center + normal @ np.linalg.cholesky(covariance).T
        draws = np.vstack([draws, fresh])
        prior = -0.5 * np.sum(fresh**2, axis=1)
        density = np.concatenate([density, log_likelihood(fresh) + prior])
        mixture = logsumexp([multivariate_normal.logpdf(draws, *law) for law in laws], axis=0)
        log_weights = density - mixture
        laws.append(_fit_normal(draws, log_weights))
    weights = np.exp(log_weights - log_weights.max())
    return draws, weights / weights.sum()


def _fit_normal(draws: Floats, log_weights: Floats) -> tuple[Floats, Floats]:
    """Return center and covariance of a normal law wider than the draws, of which enough count."""
    power, enough = 1.0, False
    while not enough:
        weights = np.exp(power * (log_weights - log_weights.max()))
        weights /= weights.sum()
        enough = 1.0 / np.sum(weights**2) >= _ENOUGH
        power *= 0.7
    center = weights @ draws
    moved = draws - center
    return center, 1.5 * (moved.T * weights) @ moved + 1e-3 * np.eye(_DIMENSIONS)


@lru_cache(maxsize=1)
def _normal_points() -> list[Floats]:
    """Return points that fill the normal law evenly, a set for each round."""
    sequences = [qmc.Sobol(_DIMENSIONS, scramble=True, rng=seed) for seed in range(_ROUNDS)]
    return [ndtri(sequence.random(_POINTS)) for sequence in sequences]


@lru_cache(maxsize=1)
def _luck(count: int) -> Floats:
    """Return a column of normal numbers, evenly spread and in no order."""
    order = np.random.default_rng(0).permutation(count)
    luck: Floats = ndtri((order + 0.5) / count)[:, np.newaxis]
    return luck


def _quantiles(values: Floats, weights: Floats, levels: Sequence[float]) -> Floats:
    """Return weighted quantiles; an infinite value is never averaged with a finite one."""
    order = np.argsort(values)
    total = np.cumsum(weights[order])
    places = np.searchsorted(total / total[-1], levels)
    return values[order][np.minimum(places, values.size - 1)]
