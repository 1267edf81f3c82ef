"""Passes over the tokens: everything the estimators ever compute from them.

Each function takes one block of sequences, so that the same text serves for data in memory and for
the chunks of a Dask array. Products with the tokens keep their type, so that float32 data are never
copied to float64. The passes of the refinement serve many heads at once, on tokens that are centred
and scaled block by block: nothing as large as the data is ever copied.
"""

from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from sparsetoken.losses import Logistic
from sparsetoken.pooling import Softmax
from sparsetoken.sequences.passes import scaled_tokens, weighted_sums
from sparsetoken.sequences.sequences import Sequences

__all__ = [
    "HeadGradients",
    "Heads",
    "attention_features",
    "attention_weights",
    "head_gradients",
    "head_scores",
    "linear_contributions",
    "linear_scores",
    "pooled_gradients",
    "query_gradient",
    "query_gradients",
]

Array = NDArray[Any]
Floats = NDArray[np.float64]


def attention_weights(sequences: Sequences, query: Floats) -> Floats:
    """Return the token weights softmax(Xq), flat over all tokens."""
    scores = _scores(sequences.tokens, query)[:, 0]
    return Softmax().weights(scores, sequences.offsets)


def attention_features(sequences: Sequences, query: Floats) -> Floats:
    """Return f = Xᵀ softmax(Xq) of each sequence."""
    return weighted_sums(sequences, attention_weights(sequences, query))


def query_gradient(sequences: Sequences, slope: Floats, readout: Floats) -> Floats:
    """Return Σᵢ (hᵢ/Lᵢ) XᵢᵀPXᵢw: the gradient of the loss in the query at q = 0.

    P removes the mean over the tokens of a sequence, and hᵢ is ``slope`` (docs/theory, section 3).
    """
    return _query_gradients(sequences, sequences.tokens, slope[:, np.newaxis], readout)[:, 0]


def query_gradients(
    sequences: Sequences,
    slopes: Floats,
    mean: Floats | None,
    scale: Floats | None,
    readouts: Floats,
) -> Floats:
    """Return :func:`query_gradient` of each column, in scaled coordinates (x − mean)·scale."""
    return _query_gradients(sequences, scaled_tokens(sequences, mean, scale), slopes, readouts)


class Heads(NamedTuple):
    """Heads in scaled coordinates z = (x − mean)·scale, a column each."""

    mean: Floats | None
    scale: Floats | None
    """Both None for tokens that are scaled already."""
    queries: Floats
    readouts: Floats
    biases: Floats

    def some(self, chosen: Any) -> "Heads":
        """Return some of the columns."""
        parts = (part[..., chosen] for part in self[2:])
        return Heads(self.mean, self.scale, *parts)


class HeadGradients(NamedTuple):
    """Values and gradients of sums of losses, one column a head; blocks add up entry by entry."""

    values: Floats
    queries: Floats
    readouts: Floats
    biases: Floats


def head_gradients(
    sequences: Sequences,
    signs: Floats,
    shares: Floats,
    heads: Heads,
    sign_of: NDArray[np.int64],
    share_of: NDArray[np.int64],
) -> HeadGradients:
    """Return Σᵢ sᵢ ℓ(⟨w, Zᵢᵀ softmax(Zᵢq)⟩ + b; yᵢ) and its gradient for the logistic loss.

    Head k has the labels ``signs[:, sign_of[k]]`` and the weights ``shares[:, share_of[k]]``: folds
    and classes are columns, and two matrix products serve all heads.
    """
    tokens, attention, along = _forward(sequences, heads)
    values, biases = np.zeros((2, len(heads.biases)))
    _backward(
        attention,
        along,
        sequences.offsets,
        signs,
        shares,
        sign_of,
        share_of,
        heads.biases,
        values,
        biases,
    )
    by_query = (tokens.T @ attention).astype(np.float64)
    by_readout = (tokens.T @ along).astype(np.float64)
    return HeadGradients(values, by_query, by_readout, biases)


def head_scores(sequences: Sequences, heads: Heads) -> Floats:
    """Return the score of each sequence by each head."""
    _, attention, along = _forward(sequences, heads)
    return _pool(sequences, attention, along) + heads.biases


def pooled_gradients(
    sequences: Sequences,
    signs: Floats,
    shares: Floats,
    mean: Floats | None,
    scale: Floats | None,
    readouts: Floats,
    biases: Floats,
    sign_of: NDArray[np.int64],
    share_of: NDArray[np.int64],
) -> tuple[Floats, Floats, Floats]:
    """Return what :func:`head_gradients` does for readouts of sequences of one token each.

    Without the query, the parts are values, gradients in the readouts and in the biases.
    """
    features = scaled_tokens(sequences, mean, scale)
    score = features @ readouts.astype(features.dtype) + biases
    sign, share = _pick(signs, sign_of), _pick(shares, share_of)
    values = np.einsum("nk,nk->k", share, Logistic.value(score, sign))
    slope = share * Logistic.derivative(score, sign)
    by_readout = slope.T.astype(features.dtype) @ features
    return values, by_readout.T.astype(np.float64), slope.sum(axis=0)


def _pick(columns: Floats, chosen: NDArray[np.int64]) -> Floats:
    """Return some columns; without a copy where there is one only."""
    if columns.shape[1] > 1:
        return columns[:, chosen]
    return np.broadcast_to(columns, (len(columns), len(chosen)))


def linear_scores(sequences: Sequences, queries: Floats, coefs: Floats) -> Floats:
    """Return ⟨w, Xᵀ softmax(Xq)⟩ of each sequence for each column, in double precision."""
    attention = _exponentials(sequences, queries)
    return _pool(sequences, attention, sequences.tokens @ coefs)


def linear_contributions(
    sequences: Sequences, queries: Floats, coefs: Floats, weights: Floats, centre: Floats
) -> Floats:
    """Return each token's Σ weight·attention and its contribution to Σ weight·score over heads.

    The contribution is counted from that of the token ``centre``.
    """
    attention = _exponentials(sequences, queries)
    total = np.add.reduceat(attention, sequences.offsets[:-1])
    attention /= np.repeat(total, sequences.lengths, axis=0)
    along = sequences.tokens @ coefs - centre @ coefs
    return np.stack([attention @ weights, (attention * along) @ weights], axis=1)


def _exponentials(sequences: Sequences, queries: Floats) -> Floats:
    scores = sequences.tokens @ queries
    _subtract_largest(scores, sequences.offsets)
    return np.exp(scores)


def _pool(sequences: Sequences, attention: Array, along: Array) -> Floats:
    starts = sequences.offsets[:-1]
    total = np.add.reduceat(attention, starts, dtype=np.float64)
    return np.add.reduceat(attention * along, starts, dtype=np.float64) / total


def _query_gradients(
    sequences: Sequences, tokens: Array, slopes: Floats, readouts: Floats
) -> Floats:
    scores = _scores(tokens, readouts)
    lengths = sequences.lengths
    mean = np.add.reduceat(scores, sequences.offsets[:-1]) / lengths[:, np.newaxis]
    weights = np.repeat(slopes / lengths[:, np.newaxis], lengths, axis=0)
    weights *= scores - np.repeat(mean, lengths, axis=0)
    return (tokens.T @ weights.astype(tokens.dtype)).astype(np.float64)


def _scores(tokens: Array, directions: Floats) -> Floats:
    """Return ⟨token, direction⟩ for one or several directions, computed in the tokens' type."""
    directions = directions.reshape(tokens.shape[1], -1)
    return (tokens @ directions.astype(tokens.dtype)).astype(np.float64)


def _forward(sequences: Sequences, heads: Heads) -> tuple[Array, Array, Array]:
    """Return scaled tokens, e^(attention score − its largest), and readout scores."""
    tokens = scaled_tokens(sequences, heads.mean, heads.scale)
    attention = tokens @ heads.queries.astype(tokens.dtype)
    _subtract_largest(attention, sequences.offsets)
    np.exp(attention, out=attention)
    return tokens, attention, tokens @ heads.readouts.astype(tokens.dtype)


@njit(cache=True, nogil=True)
def _subtract_largest(scores, offsets):  # type: ignore[no-untyped-def]
    top = np.empty_like(scores[0])
    for i in range(offsets.size - 1):
        top[:] = scores[offsets[i]]
        for t in range(offsets[i] + 1, offsets[i + 1]):
            for k in range(top.size):
                top[k] = max(top[k], scores[t, k])
        for t in range(offsets[i], offsets[i + 1]):
            for k in range(top.size):
                scores[t, k] -= top[k]


_loss, _slope = Logistic.value, Logistic.derivative


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract"})
def _backward(  # type: ignore[no-untyped-def]
    attention, along, offsets, signs, shares, sign_of, share_of, intercepts, values, biases
):
    """Turn attention and readout scores into the tokens' weights in the two gradients."""
    n_heads = values.size
    total, output = np.empty_like(attention[0]), np.empty_like(attention[0])
    slope = np.empty_like(attention[0])
    for i in range(offsets.size - 1):
        total[:] = 0
        output[:] = 0
        for t in range(offsets[i], offsets[i + 1]):
            for k in range(n_heads):
                total[k] += attention[t, k]
                output[k] += attention[t, k] * along[t, k]
        for k in range(n_heads):
            output[k] /= total[k]
            slope[k] = 0
            share = shares[i, share_of[k]]
            if share > 0.0:
                score, sign = output[k] + intercepts[k], signs[i, sign_of[k]]
                values[k] += share * _loss(score, sign)
                change = share * _slope(score, sign)
                biases[k] += change
                slope[k] = change / total[k]
        for t in range(offsets[i], offsets[i + 1]):
            for k in range(n_heads):
                weight = slope[k] * attention[t, k]
                attention[t, k] = weight * (along[t, k] - output[k])
                along[t, k] = weight
