"""The vectorized classifier simulated without its L·d features.

Rotate each token so that its first coordinate is along the signal. These L coordinates carry the
signal; the other L(d−1) are noise, Z, of which the ridge readout sees only ZZᵀ. With fewer samples
than noise coordinates, ZZᵀ = TTᵀ with T triangular (Bartlett): normals below the diagonal and the
root of a χ² on it. The features [signal coordinates, T] give the same training loss, overlaps and
norm of the readout, in law, exactly and at any size.
"""

import math
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from sparsetoken.problem import SparseTokenProblem

__all__ = ["sample_vectorized", "vectorized_test_error"]

Floats = NDArray[np.float64]

_MOST_POSITIONS = 20_000


def sample_vectorized(
    problem: SparseTokenProblem, n_samples: int, dim: int, rng: np.random.Generator
) -> tuple[Floats, NDArray[np.int64]]:
    """Draw features that stand for vec(X), the coordinates along the signal first, and labels."""
    y = problem.sample_labels(n_samples, rng)
    n_tokens = problem.n_tokens
    n_noise = n_tokens * (dim - 1)
    features = np.zeros((n_samples, n_tokens + min(n_noise, n_samples)))
    marked = np.arange(n_tokens) < problem.n_signal
    positions = rng.permuted(marked & (y[:, np.newaxis] == 1), axis=1)
    features[:, :n_tokens] = rng.standard_normal((n_samples, n_tokens)) + problem.signal * positions
    noise = features[:, n_tokens:]
    if n_noise <= n_samples:
        noise[:] = rng.standard_normal(noise.shape)
        return features, y
    for row in range(1, n_samples):
        noise[row, :row] = rng.standard_normal(row)
    degrees = n_noise - np.arange(n_samples)
    np.fill_diagonal(noise, np.sqrt(rng.chisquare(degrees)))
    return features, y


def vectorized_test_error(
    problem: SparseTokenProblem, coef: Floats, intercept: float, rng: np.random.Generator
) -> float:
    """Return the error of a readout of :func:`sample_vectorized` on fresh samples.

    The score of a fresh sample is Gaussian with deviation ‖w‖ and, for a positive one, a mean that
    depends on which tokens carry the signal: all choices are averaged over, or many drawn ones.
    """
    overlap = coef[: problem.n_tokens]
    if math.comb(problem.n_tokens, problem.n_signal) <= _MOST_POSITIONS:
        chosen: Any = np.array(list(combinations(range(problem.n_tokens), problem.n_signal)))
    else:
        every = np.tile(np.arange(problem.n_tokens), (_MOST_POSITIONS, 1))
        chosen = rng.permuted(every, axis=1)[:, : problem.n_signal]
    norm = float(np.linalg.norm(coef))
    if norm == 0.0:
        return 1.0 - problem.positive_rate if intercept > 0 else problem.positive_rate
    mean = problem.signal * overlap[chosen].sum(axis=1) + intercept
    missed = float(ndtr(-mean / norm).mean())
    false_alarm = float(ndtr(intercept / norm))
    return problem.positive_rate * missed + (1.0 - problem.positive_rate) * false_alarm
