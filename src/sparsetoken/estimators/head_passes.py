"""Passes over the tokens for heads: scores, gradients, weights and contributions of tokens.

Each function takes one block of sequences, so that the same text serves for data in memory and for
the chunks of a Dask array. The passes of a fit serve many heads at once, on tokens that are
centered and scaled block by block: nothing as large as the data is ever copied.
"""

import numpy as np

from sparsetoken._njit import njit
from sparsetoken._types import Floats, Indices
from sparsetoken.losses import Logistic
from sparsetoken.sequences.passes import scaled_tokens, token_scores
from sparsetoken.sequences.sequences import Sequences


def query_gradients(
    sequences: Sequences,
    slopes: Floats,
    mean: Floats | None,
    scale: Floats | None,
    readouts: Floats,
) -> Floats:
    """Return Σᵢ (hᵢ/Lᵢ) XᵢᵀPXᵢw for each column: the loss's gradient in the query at q = 0.

    P removes the mean over the tokens of a sequence, and hᵢ is the slope (docs/theory, section 3).
    The tokens are (x − mean)·scale.
    """
    tokens = scaled_tokens(sequences, mean, scale)
    scores = token_scores(tokens, readouts)
    lengths = sequences.lengths
    means = np.add.reduceat(scores, sequences.offsets[:-1]) / lengths[:, np.newaxis]
    weights = np.repeat(slopes / lengths[:, np.newaxis], lengths, axis=0)
    weights *= scores - np.repeat(means, lengths, axis=0)
    return (tokens.T @ weights.astype(tokens.dtype)).astype(np.float64)


def evidence_gradients(
    sequences: Sequences,
    signs: Floats,
    weights: Floats,
    mean: Floats | None,
    scale: Floats | None,
    directions: Floats,
    temperatures: Floats,
    biases: Floats,
    label_column: Indices,
    weight_column: Indices,
) -> tuple[Floats, Floats, Floats]:
    """Return Σᵢ sᵢ ℓ(a·log mean exp(Zᵢw/a) + b; yᵢ), and its gradients in w and b.

    ℓ is the logistic loss. Head k has the labels ``signs[:, label_column[k]]`` and the weights
    ``weights[:, weight_column[k]]``: folds and classes are columns, and two matrix products serve
    all heads.
    """
    tokens = scaled_tokens(sequences, mean, scale)
    attention = tokens @ (directions / temperatures)
    largest = _subtract_largest(attention, sequences.offsets)
    np.exp(attention, out=attention)
    values, by_bias = np.zeros((2, len(biases)))
    samples = sequences.offsets, signs, weights
    heads = label_column, weight_column, temperatures, biases
    _evidence_backward(attention, largest, *samples, *heads, values, by_bias)
    return values, tokens.T @ attention, by_bias


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


def evidence_tokens(
    sequences: Sequences, directions: Floats, temperatures: Floats, center: Floats
) -> tuple[Floats, Floats]:
    """Return attention (tokens, heads), and each token's part of a·log mean exp(Xw/a).

    The tokens divide the score, counted from that of tokens that are all ``center``, in proportion
    to their attention: Σ e^(x·w/a) is a sum over tokens.
    """
    attention = sequences.tokens @ (directions / temperatures)
    largest = _subtract_largest(attention, sequences.offsets)
    total = np.add.reduceat(np.exp(attention, out=attention), sequences.offsets[:-1])
    attention /= np.repeat(total, sequences.lengths, axis=0)
    scores = temperatures * (largest + np.log(total / sequences.lengths[:, np.newaxis]))
    apart = scores - center @ directions
    return attention, attention * np.repeat(apart, sequences.lengths, axis=0)


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
    label_column,
    weight_column,
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
            weight, total = weights[i, weight_column[k]], factor[k]
            factor[k] = 0.0
            if weight > 0.0:
                score = temperatures[k] * (largest[i, k] + np.log(total / length)) + intercepts[k]
                sign = signs[i, label_column[k]]
                values[k] += weight * _loss(score, sign)
                slope = weight * _slope(score, sign)
                by_bias[k] += slope
                factor[k] = slope / total
        for t in range(offsets[i], offsets[i + 1]):
            for k in range(n_heads):
                attention[t, k] *= factor[k]
