"""Attention features of fresh samples, from n·d + n·L normals (docs/theory, sections 2 and 7)."""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from sparsetoken._types import Array, Bools, Floats, Indices
from sparsetoken._validation import check_count, check_real
from sparsetoken.pooling import Pooling, get_pooling
from sparsetoken.problem import Problem, RandomState, SparseTokenProblem, check_directions

_BLOCK = 1 << 17  # numbers in flight at once: small enough to stay in the cache


class TokenSums(NamedTuple):
    """Sums over the weighted tokens of each sample, s being its token weights."""

    signal: Floats  # s·v: the weight on tokens that carry the signal
    noise: Floats  # s·g: the weighted noise along the query
    scale: Floats  # ‖s‖: the standard deviation of the feature's noise orthogonal to the query


def query_geometry(
    query: ArrayLike, directions: Floats, beta: float
) -> tuple[Floats, Floats, float]:
    """Return what of a query matters for the features: its unit vector û, cosines and sharpness.

    There is a cosine for each direction. Any unit vector stands for a query of zero.
    """
    query = np.asarray(query, dtype=float)
    if query.shape != directions[0].shape or not np.isfinite(query).all():
        raise ValueError(
            f"query must be finite and have the shape {directions[0].shape}, got {query!r}"
        )
    norm = float(np.linalg.norm(query))
    unit = query / norm if norm > 0 else directions[0]
    return unit, directions @ unit, beta * norm


def draw_token_sums(
    problem: SparseTokenProblem,
    positive: Bools,
    cosine: float | Floats,
    sharpness: float,
    pooling: Pooling,
    rng: np.random.Generator,
) -> TokenSums:
    """Draw the token sums of one sample per entry of ``positive``; O(n·L) normals.

    There may be a cosine between query and signal for each sample. The law does not depend on which
    tokens carry the signal, so they are the first ones.
    """
    n_samples, n_signal = positive.size, problem.n_signal
    if not pooling.uses_scores:  # the weights are all 1/L: one normal per sample suffices
        root = math.sqrt(problem.n_tokens)
        signal = np.where(positive, problem.sparsity, 0.0)
        return TokenSums(
            signal, rng.standard_normal(n_samples) / root, np.full(n_samples, 1 / root)
        )
    noise = rng.standard_normal((n_samples, problem.n_tokens))
    scores = sharpness * noise
    shift = sharpness * problem.signal * np.broadcast_to(cosine, n_samples)
    scores[positive, :n_signal] += shift[positive, np.newaxis]
    weights = pooling.weights(scores)
    return TokenSums(
        np.where(positive, weights[:, :n_signal].sum(axis=1), 0.0),
        np.einsum("nl,nl->n", weights, noise),
        np.sqrt(np.einsum("nl,nl->n", weights, weights)),
    )


def sample_features(
    problem: Problem,
    n_samples: int,
    query: ArrayLike,
    direction: ArrayLike,
    *,
    pooling: str | Pooling = "softmax",
    beta: float = 1.0,
    random_state: RandomState = None,
) -> tuple[Array, Indices]:
    """Draw the features f = Xᵀ s of fresh samples for a frozen query, without drawing the tokens.

    Parameters
    ----------
    problem : SparseTokenProblem or Population
        The model the samples come from.
    n_samples : int
        Number of samples.
    query : array-like of shape (dim,)
        The frozen query q; the scores are βXq.
    direction : array-like of shape (dim,) or (n_kinds, dim)
        The signal's unit vector ξ, or those of its kinds.
    pooling : str or Pooling, default="softmax"
        How scores become token weights; "mean" gives the pooled linear features.
    beta : float, default=1.0
        Inverse temperature of the attention.
    random_state : int, Generator or None, default=None
        Source of randomness.

    Returns
    -------
    F : ndarray of shape (n_samples, dim)
        The features.
    y : ndarray of shape (n_samples,)
        Labels, 0 or 1.

    Examples
    --------
    >>> import numpy as np, sparsetoken as st
    >>> problem = st.SparseTokenProblem(n_tokens=10, signal=5.0)
    >>> direction = np.eye(50)[0]
    >>> F, y = st.sampling.sample_features(problem, 200, 1.5 * direction, direction, random_state=0)
    >>> F.shape
    (200, 50)
    """
    n_samples = check_count("n_samples", n_samples)
    dim = check_count("dim", np.shape(direction)[-1] if np.ndim(direction) else 0)
    directions = check_directions(direction, problem.n_kinds, dim)
    beta = check_real("beta", beta, low=0.0)
    unit, cosines, sharpness = query_geometry(query, directions, beta)
    pooling = get_pooling(pooling)
    rng = np.random.default_rng(random_state)

    drawn = problem.draw(n_samples, rng)
    features = np.empty((n_samples, dim))
    axes = np.vstack([directions, unit])
    rows = max(1, _BLOCK // max(dim, *problem.lengths))
    for start in range(0, n_samples, rows):
        block = slice(start, start + rows)
        sums = TokenSums(*np.empty((3, len(features[block]))))
        for index, kind in enumerate(problem.kinds):
            of_kind = drawn.kind[block] == index
            positive, cosine = drawn.positive[block][of_kind], cosines[drawn.direction[block]]
            one = draw_token_sums(kind, positive, cosine[of_kind], sharpness, pooling, rng)
            sums.signal[of_kind] = kind.signal * one.signal
            sums.noise[of_kind], sums.scale[of_kind] = one.noise, one.scale
        # Normals h become θ(s·v)ξ + (s·g)û + ‖s‖(h − ûûᵀh), in place.
        f = rng.standard_normal(out=features[block])
        along = sums.noise - sums.scale * (f @ axes[-1])
        f *= sums.scale[:, np.newaxis]
        f += along[:, np.newaxis] * axes[-1]
        f += sums.signal[:, np.newaxis] * axes[drawn.direction[block]]
    return features, drawn.label
