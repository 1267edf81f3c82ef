"""Passes over the tokens for heads: scores, gradients, weights and contributions of tokens.

Each function takes one block of sequences, so that the same text serves for data in memory and for
the chunks of a Dask array. Products with the tokens keep their type, so that float32 data are never
copied to float64. The passes of the refinement serve many heads at once, on tokens that are centred
and scaled block by block: nothing as large as the data is ever copied.
"""

from typing import NamedTuple

import numpy as np

from sparsetoken._njit import njit
from sparsetoken._types import Array, Floats, Indices
from sparsetoken.losses import Logistic
from sparsetoken.sequences.passes import scaled_tokens, token_scores
from sparsetoken.sequences.sequences import Sequences


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


class EvidenceGradients(NamedTuple):
    """Values and gradients of sums of losses, one column a head; blocks add up entry by entry."""

    values: Floats
    directions: Floats
    biases: Floats


def evidence_gradients(
    sequences: Sequences,
    signs: Floats,
    weights: Floats,
    mean: Floats | None,
    scale: Floats | None,
    directions: Floats,
    temperatures: Floats,
    biases: Floats,
    sign_of: Indices,
    weight_of: Indices,
) -> EvidenceGradients:
    """Return Σᵢ sᵢ ℓ(a·log mean exp(Zᵢw/a) + b; yᵢ) and its gradient for the logistic loss.

    Head k has the labels ``signs[:, sign_of[k]]`` and the weights ``weights[:, weight_of[k]]``:
    folds and classes are columns, and two matrix products serve all heads.
    """
    tokens = scaled_tokens(sequences, mean, scale)
    attention = tokens @ (directions / temperatures)
    largest = _subtract_largest(attention, sequences.offsets)
    np.exp(attention, out=attention)
    values, by_bias = np.zeros((2, len(biases)))
    _evidence_backward(
        attention,
        largest,
        sequences.offsets,
        signs,
        weights,
        sign_of,
        weight_of,
        temperatures,
        biases,
        values,
        by_bias,
    )
    return EvidenceGradients(values, tokens.T @ attention, by_bias)


def evidence_scores(
    sequences: Sequences,
    directions: Floats,
    temperatures: Floats,
    mean: Floats | None = None,
    scale: Floats | None = None,
) -> Floats:
    """Return a·log mean exp(Xw/a) of each sequence for each column."""
    scores = scaled_tokens(sequences, mean, scale) @ (directions / temperatures)
    largest = _subtract_largest(scores, sequences.offsets)
    total = np.add.reduceat(np.exp(scores, out=scores), sequences.offsets[:-1])
    return temperatures * (largest + np.log(total / sequences.lengths[:, np.newaxis]))


def linear_scores(sequences: Sequences, queries: Floats, coefs: Floats) -> Floats:
    """Return ⟨w, Xᵀ softmax(Xq)⟩ of each sequence for each column, in double precision."""
    attention = _exponentials(sequences, queries)
    return _pool(sequences, attention, sequences.tokens @ coefs)


def linear_tokens(
    sequences: Sequences, queries: Floats, coefs: Floats, center: Floats
) -> tuple[Floats, Floats]:
    """Return attention (tokens, heads), and what each token adds to ⟨w, Xᵀ softmax(Xq)⟩.

    The contribution is counted from that of the token ``center``.
    """
    attention = _softmax(sequences, queries)
    return attention, attention * (sequences.tokens @ coefs - center @ coefs)


def evidence_tokens(
    sequences: Sequences, directions: Floats, temperatures: Floats, center: Floats
) -> tuple[Floats, Floats]:
    """Return attention (tokens, heads), and each token's part of a·log mean exp(Xw/a).

    The tokens divide the score, counted from that of tokens that are all ``center``, in proportion
    to their attention: Σ e^(x·w/a) is a sum over tokens.
    """
    attention = _softmax(sequences, directions / temperatures)
    scores = evidence_scores(sequences, directions, temperatures) - center @ directions
    return attention, attention * np.repeat(scores, sequences.lengths, axis=0)


def _softmax(sequences: Sequences, queries: Floats) -> Floats:
    attention = _exponentials(sequences, queries)
    total = np.add.reduceat(attention, sequences.offsets[:-1])
    attention /= np.repeat(total, sequences.lengths, axis=0)
    return attention


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
    scores = token_scores(tokens, readouts)
    lengths = sequences.lengths
    mean = np.add.reduceat(scores, sequences.offsets[:-1]) / lengths[:, np.newaxis]
    weights = np.repeat(slopes / lengths[:, np.newaxis], lengths, axis=0)
    weights *= scores - np.repeat(mean, lengths, axis=0)
    return (tokens.T @ weights.astype(tokens.dtype)).astype(np.float64)


@njit(nogil=True)
def _subtract_largest(scores, offsets):  # type: ignore[no-untyped-def]
    """Subtract from every column a sequence's largest score, and return these, (n, heads)."""
    largest = np.empty((offsets.size - 1, scores.shape[1]), scores.dtype)
    for i in range(offsets.size - 1):
        top = largest[i]
        top[:] = scores[offsets[i]]
        for t in range(offsets[i] + 1, offsets[i + 1]):
            for k in range(top.size):
                top[k] = max(top[k], scores[t, k])
        for t in range(offsets[i], offsets[i + 1]):
            for k in range(top.size):
                scores[t, k] -= top[k]
    return largest


_loss, _slope = Logistic.value, Logistic.derivative


@njit(nogil=True, fastmath={"reassoc", "contract"})
def _evidence_backward(  # type: ignore[no-untyped-def]
    attention,
    largest,
    offsets,
    signs,
    weights,
    sign_of,
    weight_of,
    temperatures,
    intercepts,
    values,
    by_bias,
):
    """Turn e^(attention score − its largest) into the tokens' weights in the gradient."""
    n_heads = values.size
    factor = np.empty(n_heads)
    for i in range(offsets.size - 1):
        length = offsets[i + 1] - offsets[i]
        factor[:] = 0.0
        for t in range(offsets[i], offsets[i + 1]):
            for k in range(n_heads):
                factor[k] += attention[t, k]
        for k in range(n_heads):
            weight, total = weights[i, weight_of[k]], factor[k]
            factor[k] = 0.0
            if weight > 0.0:
                score = temperatures[k] * (largest[i, k] + np.log(total / length)) + intercepts[k]
                sign = signs[i, sign_of[k]]
                values[k] += weight * _loss(score, sign)
                slope = weight * _slope(score, sign)
                by_bias[k] += slope
                factor[k] = slope / total
        for t in range(offsets[i], offsets[i + 1]):
            for k in range(n_heads):
                attention[t, k] *= factor[k]
