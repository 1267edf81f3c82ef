"""Passes over the tokens: everything the estimators ever compute from them.

Each function takes one block of sequences, so that the same text serves for data in memory and for
the chunks of a Dask array. Results per sample are float64; products with the tokens keep their
type, so that float32 data are never copied to float64.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from sparsetoken.estimators.sequences import Sequences
from sparsetoken.losses import Logistic
from sparsetoken.pooling import Softmax

__all__ = [
    "JointGradient",
    "attention_features",
    "attention_weights",
    "joint_gradient",
    "pooled_features",
    "query_gradient",
    "token_covariance",
    "token_variances",
]

Floats = NDArray[np.float64]


def pooled_features(sequences: Sequences) -> Floats:
    """Return the mean token X̄ of each sequence."""
    weights = np.repeat(1.0 / sequences.lengths, sequences.lengths)
    return _weighted_sums(sequences, weights)


def attention_weights(sequences: Sequences, query: Floats) -> Floats:
    """Return the token weights softmax(Xq), flat over all tokens."""
    scores = _scores(sequences, query)[:, 0].astype(np.float64)
    return Softmax().weights(scores, sequences.offsets)


def attention_features(sequences: Sequences, query: Floats) -> Floats:
    """Return f = Xᵀ softmax(Xq) of each sequence."""
    return _weighted_sums(sequences, attention_weights(sequences, query))


def query_gradient(sequences: Sequences, slope: Floats, readout: Floats) -> Floats:
    """Return Σᵢ (hᵢ/Lᵢ) XᵢᵀPXᵢw: the gradient of the loss in the query at q = 0.

    P removes the mean over the tokens of a sequence, and hᵢ is ``slope`` (docs/theory, section 3).
    """
    scores = _scores(sequences, readout)[:, 0].astype(np.float64)
    lengths = sequences.lengths
    mean = np.add.reduceat(scores, sequences.offsets[:-1]) / lengths
    return _token_sum(
        sequences, np.repeat(slope / lengths, lengths) * (scores - np.repeat(mean, lengths))
    )


class JointGradient(NamedTuple):
    """Value and gradient of a sum of losses; blocks add up entry by entry."""

    value: float
    query: Floats
    readout: Floats
    bias: float


def joint_gradient(
    sequences: Sequences,
    sign: Floats,
    share: Floats,
    query: Floats,
    readout: Floats,
    bias: float,
) -> JointGradient:
    """Return Σᵢ sᵢ ℓ(⟨w, Xᵢᵀ softmax(Xᵢq)⟩ + b; yᵢ) and its gradient, for the logistic loss.

    One pass over the memory: each sequence is read twice, the second time from the cache.
    """
    by_query, by_readout = np.zeros((2, sequences.dim))
    kind = sequences.dtype
    value, by_bias = _add_joint(
        sequences.tokens,
        sequences.offsets,
        sign,
        share,
        query.astype(kind),
        readout.astype(kind),
        bias,
        by_query,
        by_readout,
    )
    return JointGradient(value, by_query, by_readout, by_bias)


def token_variances(sequences: Sequences, share: Floats, mean: Floats) -> Floats:
    """Return Σ s(x − mean)², feature by feature; the tokens of sequence i share sᵢ evenly."""
    total = np.zeros(sequences.dim)
    for block, weights in _blocks(sequences, share):
        total += weights @ (block - mean) ** 2
    return total


def token_covariance(sequences: Sequences, share: Floats, mean: Floats) -> Floats:
    """Return Σ s(x − mean)(x − mean)ᵀ; the tokens of sequence i share sᵢ evenly."""
    total = np.zeros((sequences.dim, sequences.dim))
    for block, weights in _blocks(sequences, share):
        centred = block - mean
        total += centred.T @ (centred * weights[:, np.newaxis])
    return total


def _blocks(sequences: Sequences, share: Floats) -> Iterator[tuple[NDArray[Any], Floats]]:
    """Yield some tokens at a time with their weights: no centred copy of all of them."""
    weights = np.repeat(share / sequences.lengths, sequences.lengths)
    for start in range(0, len(weights), _BLOCK):
        chosen = slice(start, start + _BLOCK)
        yield sequences.tokens[chosen], weights[chosen]


_BLOCK = 2048  # tokens


def _scores(sequences: Sequences, directions: Floats) -> NDArray[Any]:
    """Return ⟨token, direction⟩ for one or several directions, in the type of the tokens."""
    directions = directions.reshape(sequences.dim, -1)
    return sequences.tokens @ directions.astype(sequences.dtype)


def _token_sum(sequences: Sequences, weights: Floats) -> Floats:
    """Return Σ weight·token over all tokens."""
    return (sequences.tokens.T @ weights.astype(sequences.dtype)).astype(np.float64)


def _weighted_sums(sequences: Sequences, weights: Floats) -> Floats:
    """Return Σ weight·token over the tokens of each sequence."""
    sums = np.zeros((len(sequences), sequences.dim))
    _add_weighted(sequences.tokens, sequences.offsets, weights, sums)
    return sums


@njit(cache=True, fastmath={"reassoc", "contract"})
def _add_weighted(tokens, offsets, weights, sums):  # type: ignore[no-untyped-def]
    for i in range(sums.shape[0]):
        row = sums[i]
        for token in range(offsets[i], offsets[i + 1]):
            for j in range(row.size):
                row[j] += weights[token] * tokens[token, j]


_loss, _slope = Logistic.value, Logistic.derivative


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract"})
def _add_joint(  # type: ignore[no-untyped-def]
    tokens, offsets, sign, share, query, readout, bias, by_query, by_readout
):
    longest = 0
    for i in range(share.size):
        longest = max(longest, offsets[i + 1] - offsets[i])
    attention, along = np.empty(longest), np.empty(longest)
    pulled, read = np.empty_like(query), np.empty_like(query)  # sums of one sequence, in its type
    value = by_bias = 0.0
    for i in range(share.size):
        if share[i] == 0.0:
            continue
        start, length = offsets[i], offsets[i + 1] - offsets[i]
        top = -np.inf
        for t in range(length):
            token = tokens[start + t]
            a = b = token[0] * 0
            for j in range(token.size):
                a += token[j] * query[j]
                b += token[j] * readout[j]
            attention[t], along[t] = a, b
            top = max(top, attention[t])
        total = output = 0.0
        for t in range(length):
            attention[t] = np.exp(attention[t] - top)
            total += attention[t]
            output += attention[t] * along[t]
        output /= total
        score = output + bias
        value += share[i] * _loss(score, sign[i])
        slope = share[i] * _slope(score, sign[i])
        by_bias += slope
        pulled[:] = 0
        read[:] = 0
        for t in range(length):
            token = tokens[start + t]
            weight = attention[t] / total
            pull = pulled.dtype.type(weight * (along[t] - output))
            share_of_token = pulled.dtype.type(weight)
            for j in range(token.size):
                pulled[j] += pull * token[j]
                read[j] += share_of_token * token[j]
        for j in range(pulled.size):
            by_query[j] += slope * pulled[j]
            by_readout[j] += slope * read[j]
    return value, by_bias
