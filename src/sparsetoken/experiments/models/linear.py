"""Readouts without a query: of the mean token, and of all tokens in a row.

The second is simulated without its L·d features. Rotate each token so that its first coordinate is
along the signal. These L coordinates carry the signal; the other L(d−1) are noise, Z, of which the
ridge readout sees only ZZᵀ. With fewer samples than noise coordinates, ZZᵀ = TTᵀ with T triangular
(Bartlett): normals below the diagonal and the root of a χ² on it. The features
[signal coordinates, T] give the same training loss, overlaps and norm of the readout, in law,
exactly and at any size.
"""

import math
from collections.abc import Mapping
from itertools import combinations
from typing import Any

import numpy as np

from sparsetoken._types import Floats, Indices
from sparsetoken.experiments.cell import Cell
from sparsetoken.experiments.models.base import Rng, count_samples
from sparsetoken.experiments.models.readout import ReadoutModel, TrainingSet
from sparsetoken.law import FeatureLaw, Part, Readout
from sparsetoken.losses import Loss, get_loss
from sparsetoken.performance import Performance
from sparsetoken.pooling import Mean
from sparsetoken.population import AnyProblem, lengths, only_length
from sparsetoken.problem import SparseTokenProblem
from sparsetoken.sampling import pooled_performance, sample_features

_MOST_POSITIONS = 20_000


class PooledModel(ReadoutModel):
    """A readout of the mean token."""

    name = "pooled"

    def draw_training(self, cell: Cell, rng: Rng) -> TrainingSet:
        """Draw mean tokens; every direction of the signal is as good as another."""
        dim = cell.values["dim"]
        zero, direction = np.zeros(dim), np.eye(1, dim)[0]
        features, y = sample_features(
            cell.problem,
            count_samples(cell.alpha1, dim),
            zero,
            direction,
            pooling=Mean(),
            random_state=rng,
        )
        return TrainingSet(features, 2.0 * y - 1.0, direction)

    def judge(
        self, problem: AnyProblem, trained: TrainingSet, loss: str, rng: Rng, n_windows: int
    ) -> Performance:
        """Return the readout's performance: its scores are Gaussian."""
        coef, intercept = trained.readout
        return pooled_performance(problem, coef, intercept, trained.direction, loss=loss)


class VectorizedModel(ReadoutModel):
    """A readout of all tokens in a row."""

    name = "vectorized"

    def check(self, values: Mapping[str, Any], cell: Cell) -> None:
        """Refuse sequences of several lengths, and runs, which are rare at the ends."""
        if values["contiguous"]:
            raise ValueError("contiguous: model 'vectorized' knows signals at any places only")
        only_length(cell.problem, "model 'vectorized' needs")

    def draw_training(self, cell: Cell, rng: Rng) -> TrainingSet:
        """Draw reduced features; the signal is spread evenly over the tokens."""
        dim, (n_tokens,) = cell.values["dim"], lengths(cell.problem)
        n_samples = count_samples(cell.alpha1, dim)
        features, y = sample_vectorized(cell.problem, n_samples, dim, rng)
        along = np.arange(features.shape[1]) < n_tokens
        return TrainingSet(features, 2.0 * y - 1.0, along / math.sqrt(n_tokens))

    def judge(
        self, problem: AnyProblem, trained: TrainingSet, loss: str, rng: Rng, n_windows: int
    ) -> Performance:
        """Return the readout's performance, averaged over the places of the signal."""
        coef, intercept = trained.readout
        return vectorized_performance(problem, coef, intercept, rng, loss=loss)


def sample_vectorized(
    problem: AnyProblem, n_samples: int, dim: int, rng: Rng
) -> tuple[Floats, Indices]:
    """Draw features that stand for vec(X), the coordinates along the signal first, and labels."""
    drawn = problem.draw(n_samples, rng)
    (n_tokens,) = lengths(problem)
    n_noise = n_tokens * (dim - 1)
    features = np.zeros((n_samples, n_tokens + min(n_noise, n_samples)))
    n_signal = np.array([kind.n_signal for kind in problem.kinds])[drawn.kind]
    marked = (np.arange(n_tokens) < n_signal[:, np.newaxis]) & drawn.positive[:, np.newaxis]
    signal = np.array([kind.signal for kind in problem.kinds])[drawn.kind]
    shift = signal[:, np.newaxis] * rng.permuted(marked, axis=1)
    features[:, :n_tokens] = rng.standard_normal((n_samples, n_tokens)) + shift
    y = drawn.label
    noise = features[:, n_tokens:]
    if n_noise <= n_samples:
        noise[:] = rng.standard_normal(noise.shape)
        return features, y
    for row in range(1, n_samples):
        noise[row, :row] = rng.standard_normal(row)
    degrees = n_noise - np.arange(n_samples)
    np.fill_diagonal(noise, np.sqrt(rng.chisquare(degrees)))
    return features, y


def vectorized_performance(
    problem: AnyProblem, coef: Floats, intercept: float, rng: Rng, *, loss: str | Loss = "logistic"
) -> Performance:
    """Return what a readout of :func:`sample_vectorized` does on fresh samples.

    The score of a fresh sample is Gaussian with deviation ‖w‖ and, for a positive one, a mean that
    depends on which tokens carry the signal: all choices are averaged over, or many drawn ones.
    """
    parts = []
    for kind, positive, label, probability in problem.groups:
        mean = _means(kind, coef, rng) if positive else np.zeros(1)
        zero, one = np.zeros_like(mean), np.ones_like(mean)
        parts.append(Part(label, positive, probability, mean, zero, one))
    readout = Readout(1.0, 0.0, intercept, float(np.linalg.norm(coef)))
    return Performance(FeatureLaw.mixture(parts), readout, get_loss(loss))


def _means(kind: SparseTokenProblem, coef: Floats, rng: Rng) -> Floats:
    """Return the mean score for each choice of the tokens that carry the signal."""
    overlap = coef[: kind.n_tokens]
    if math.comb(kind.n_tokens, kind.n_signal) <= _MOST_POSITIONS:
        positions: Any = np.array(list(combinations(range(kind.n_tokens), kind.n_signal)))
    else:
        every = np.tile(np.arange(kind.n_tokens), (_MOST_POSITIONS, 1))
        positions = rng.permuted(every, axis=1)[:, : kind.n_signal]
    return kind.signal * np.asarray(overlap[positions].sum(axis=1))
