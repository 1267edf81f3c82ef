"""Law of the features: the triple of docs/theory, section 2, as weighted points.

Given (y, v, g) a feature vector is Gaussian, so its law is that of the triple (along the query,
along the rest of the signal, scale). For a pooling it is integrated over the token noise g by
several independent scramblings of a Sobol sequence ("batches"), whose disagreement gives the error
bars. For the linear models one point is exact.

Tokens are exchangeable, so the noise is drawn sorted, the largest first: the few leading Sobol
coordinates then carry the tokens that get the weight, and the error falls by four to ten.
"""

import math
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri
from scipy.stats import qmc

from sparsetoken.pooling import Pooling
from sparsetoken.problem import SparseTokenProblem

__all__ = ["FeatureLaw", "Points", "Triples", "attention_law", "linear_law", "token_noise"]

Array = NDArray[np.float64]

BATCHES = 8
_SOBOL_COLUMNS = 64  # the largest tokens; the others are drawn at random
_MOST_NUMBERS = 10_000_000  # tokens drawn for one law at most; long sequences get fewer points
_CACHED_NUMBERS = 500_000  # per batch
_SEED = 20250925


class Triples(NamedTuple):
    """Weighted points of one class."""

    along_query: Array
    """a₁: the feature along the query's direction û."""
    along_rest: Array
    """μ₂: its mean along e₂, the part of the signal's direction orthogonal to û."""
    scale: Array
    """c: its standard deviation along every direction orthogonal to û."""
    weight: Array
    """Probability of each point; the weights add up to one."""


class Points(NamedTuple):
    """The points of both classes in one list, weighted by the class probabilities."""

    label: Array
    along_query: Array
    along_rest: Array
    scale: Array
    weight: Array

    def average(self, values: Array) -> float:
        """Return the mean of ``values``; a plain sum, the threads of a BLAS would cost more."""
        return float(np.einsum("n,n->", self.weight, values))


@dataclass(frozen=True)
class FeatureLaw:
    """Law of the features of a positive and of a negative sample.

    The points of a class are ``batches`` equally large independent groups, one after the other.
    """

    positive: Triples
    negative: Triples
    positive_rate: float
    batches: int

    @cached_property
    def points(self) -> Points:
        """The points of both classes, the positive ones first."""
        sizes = self.positive.weight.size, self.negative.weight.size
        columns = [np.concatenate(both) for both in zip(self.positive, self.negative, strict=True)]
        columns[3][: sizes[0]] *= self.positive_rate
        columns[3][sizes[0] :] *= 1.0 - self.positive_rate
        return Points(np.repeat([1.0, -1.0], sizes), *columns)

    @cached_property
    def first_batch(self) -> "FeatureLaw":
        """The law of the first batch alone: a coarse version of the whole."""
        size = self.positive.weight.size // self.batches
        positive, negative = (
            Triples(t[0][:size], t[1][:size], t[2][:size], t.weight[:size] * self.batches)
            for t in (self.positive, self.negative)
        )
        return FeatureLaw(positive, negative, self.positive_rate, 1)

    def by_batch(self, values: Array) -> Array:
        """Average ``values``, one row per entry of :attr:`points`, within each batch."""
        halves = values.reshape(2, self.batches, -1, *values.shape[1:]).mean(axis=2)
        return self.positive_rate * halves[0] + (1.0 - self.positive_rate) * halves[1]


def linear_law(mean: float, positive_rate: float) -> FeatureLaw:
    """Law of a linear model's features: mean ``mean`` along the signal, unit noise."""
    one, zero = np.ones(1), np.zeros(1)
    positive = Triples(zero, np.full(1, mean), one, one)
    return FeatureLaw(positive, Triples(zero, zero, one, one), positive_rate, 1)


@lru_cache(maxsize=16)
def attention_law(
    problem: SparseTokenProblem,
    pooling: Pooling,
    cosine: float,
    sharpness: float,
    n_points: int,
) -> FeatureLaw:
    """Law of pooled features for a query at the given cosine and sharpness.

    ``n_points`` per class, fewer for very long sequences; both classes share the token noise.
    """
    sine = math.sqrt(max(0.0, 1.0 - cosine**2))
    columns: list[list[Array]] = [[], []]
    for batch in range(BATCHES):
        noise = token_noise(problem, n_points, batch)
        for column, signal in zip(columns, (problem.signal, 0.0), strict=True):
            scores = sharpness * noise
            scores[:, : problem.n_signal] += sharpness * signal * cosine
            weights = pooling.weights(scores)
            on_signal = signal * weights[:, : problem.n_signal].sum(axis=1)
            along = cosine * on_signal + np.einsum("nl,nl->n", weights, noise)
            scale = np.sqrt(np.einsum("nl,nl->n", weights, weights))
            column.append(np.stack([along, sine * on_signal, scale]))
    size = sum(column.shape[1] for column in columns[0])
    weight = np.full(size, 1.0 / size)
    joined = [np.concatenate(column, axis=1) for column in columns]
    positive, negative = (Triples(c[0], c[1], c[2], weight) for c in joined)
    return FeatureLaw(positive, negative, problem.positive_rate, BATCHES)


def token_noise(problem: SparseTokenProblem, n_points: int, batch: int) -> Array:
    """Return the normals of one batch, (points, n_tokens), the same for the same arguments.

    The batches together have ``n_points`` rows, or as many as bounded work allows. The columns of
    the signal tokens come first; theirs, and the others', are sorted in each row.
    """
    affordable = max(16 * BATCHES, min(n_points, _MOST_NUMBERS // problem.n_tokens))
    rows = 1 << max(4, round(math.log2(affordable / BATCHES)))  # Sobol points come in powers of 2
    small = rows * problem.n_tokens <= _CACHED_NUMBERS
    draw = _cached_noise if small else _draw_noise
    return draw(problem.n_tokens, problem.n_signal, rows, batch)


def _draw_noise(n_tokens: int, n_signal: int, n_points: int, batch: int) -> Array:
    groups = [n for n in (n_signal, n_tokens - n_signal) if n > 0]
    rng = np.random.default_rng([_SEED, n_tokens, n_signal, batch])
    # The Sobol columns go to the largest of both groups, then to the second largest, ...
    rank = np.concatenate([np.arange(n) for n in groups])
    leading = np.argsort(rank, kind="stable")[:_SOBOL_COLUMNS]
    uniform = np.empty((n_points, n_tokens))
    if n_tokens > _SOBOL_COLUMNS:
        rng.random(out=uniform)
    uniform[:, leading] = qmc.Sobol(leading.size, scramble=True, rng=rng).random(n_points)
    np.clip(uniform, 1e-12, 1.0 - 1e-12, out=uniform)
    # The largest of n uniforms is U^(1/n), the next that times V^(1/(n−1)), and so on.
    np.log(uniform, out=uniform)
    start = 0
    for n in groups:
        part = uniform[:, start : start + n]
        part /= np.arange(n, 0, -1)
        np.cumsum(part, axis=1, out=part)
        start += n
    np.negative(np.expm1(uniform, out=uniform), out=uniform)
    return np.negative(ndtri(uniform, out=uniform), out=uniform)


@lru_cache(maxsize=64)
def _cached_noise(n_tokens: int, n_signal: int, n_points: int, batch: int) -> Array:
    noise = _draw_noise(n_tokens, n_signal, n_points, batch)
    noise.flags.writeable = False
    return noise
