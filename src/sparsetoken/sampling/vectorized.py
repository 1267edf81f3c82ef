"""A readout of all tokens in a row, sampled without its L·d features.

Rotate each token so that its first K coordinates are along the kinds of signal. These K·L
coordinates carry the signal; the other L(d−K) are noise, Z, of which the ridge readout sees only
ZZᵀ. With fewer samples than noise coordinates, ZZᵀ = TTᵀ with T triangular (Bartlett): normals
below the diagonal and the root of a χ² on it. The features [signal coordinates, T] give the same
training loss, overlaps and norm of the readout, in law, exactly and at any size.
"""

import math
from itertools import combinations
from typing import Any

import numpy as np

from sparsetoken._types import Floats, Indices
from sparsetoken.law import FeatureLaw, Part, Readout
from sparsetoken.losses import Loss, get_loss
from sparsetoken.performance import Performance
from sparsetoken.problem import Problem, SparseTokenProblem

_MOST_POSITIONS = 20_000


def sample_vectorized(
    problem: Problem, n_samples: int, dim: int, rng: np.random.Generator
) -> tuple[Floats, Indices]:
    """Draw features that stand for vec(X), the coordinates along the signal first, and labels."""
    drawn = problem.draw(n_samples, rng)
    (n_tokens,), n_kinds = problem.lengths, problem.n_kinds
    n_noise, n_along = n_tokens * (dim - n_kinds), n_tokens * n_kinds
    features = np.zeros((n_samples, n_along + min(n_noise, n_samples)))
    n_signal, signal = (
        np.array([getattr(kind, name) for kind in problem.kinds])[drawn.kind, np.newaxis]
        for name in ("n_signal", "signal")
    )
    marked = (np.arange(n_tokens) < n_signal) & drawn.positive[:, np.newaxis]
    shift = signal * rng.permuted(marked, axis=1)
    along = rng.standard_normal((n_samples, n_kinds, n_tokens))
    along[np.arange(n_samples), drawn.direction] += shift
    features[:, :n_along] = along.reshape(n_samples, -1)
    noise = features[:, n_along:]
    if n_noise <= n_samples:
        noise[:] = rng.standard_normal(noise.shape)
        return features, drawn.label
    for row in range(1, n_samples):
        noise[row, :row] = rng.standard_normal(row)
    np.fill_diagonal(noise, np.sqrt(rng.chisquare(n_noise - np.arange(n_samples))))
    return features, drawn.label


def vectorized_performance(
    problem: Problem,
    coef: Floats,
    intercept: float,
    rng: np.random.Generator,
    *,
    loss: str | Loss = "logistic",
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


def _means(kind: SparseTokenProblem, coef: Floats, rng: np.random.Generator) -> Floats:
    """Return the mean score for each kind and choice of the tokens that carry the signal."""
    overlap = coef[: kind.n_kinds * kind.n_tokens].reshape(kind.n_kinds, -1)
    if math.comb(kind.n_tokens, kind.n_signal) <= _MOST_POSITIONS:
        positions: Any = np.array(list(combinations(range(kind.n_tokens), kind.n_signal)))
    else:
        every = np.tile(np.arange(kind.n_tokens), (_MOST_POSITIONS, 1))
        positions = rng.permuted(every, axis=1)[:, : kind.n_signal]
    return kind.signal * np.asarray(overlap[:, positions].sum(axis=2).ravel())
