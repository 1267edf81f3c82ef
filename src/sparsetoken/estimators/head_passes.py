"""Passes over the tokens that fit heads: gradients of many heads at once.

Directions are for tokens as they are: no token is centered or scaled. Products are in double
precision, since fits amplify rounding until the processor matters.
"""

from typing import NamedTuple

import numpy as np

from sparsetoken._njit import njit
from sparsetoken._types import Floats, Indices
from sparsetoken.losses import Logistic
from sparsetoken.sequences.sequences import Sequences


def query_gradients(sequences: Sequences, slopes: Floats, readouts: Floats) -> Floats:
    """Return Σᵢ (hᵢ/Lᵢ) XᵢᵀPXᵢw for each column: the loss's gradient in the query at q = 0.

    P removes the mean over the tokens of a sequence, and hᵢ is the slope (docs/theory, section 3).
    """
    tokens, lengths = sequences.tokens.astype(np.float64, copy=False), sequences.lengths
    scores = tokens @ readouts
    means = np.add.reduceat(scores, sequences.offsets[:-1]) / lengths[:, np.newaxis]
    weights = np.repeat(slopes / lengths[:, np.newaxis], lengths, axis=0)
    weights *= scores - np.repeat(means, lengths, axis=0)
    return tokens.T @ weights


class TaskHeads(NamedTuple):
    """What heads are, beside their directions: folds and classes are columns of all samples."""

    temperatures: Floats
    biases: Floats
    label_column: Indices
    weight_column: Indices


def evidence_gradients(
    sequences: Sequences, signs: Floats, weights: Floats, directions: Floats, heads: TaskHeads
) -> tuple[Floats, Floats, Floats]:
    """Return Σᵢ sᵢ ℓ(a·log mean exp(Xᵢw/a) + b; yᵢ), and its gradients in w and b.

    ℓ is the logistic loss. Two matrix products serve all heads.
    """
    tokens = sequences.tokens.astype(np.float64, copy=False)
    attention = tokens @ (directions / heads.temperatures)
    largest = _subtract_largest(attention, sequences.offsets)
    np.exp(attention, out=attention)
    values, by_bias = np.zeros((2, len(heads.biases)))
    samples = sequences.offsets, signs, weights
    _evidence_backward(attention, largest, samples, heads, values, by_bias)
    return values, tokens.T @ attention, by_bias


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
def _evidence_backward(attention, largest, samples, heads, values, by_bias):  # type: ignore[no-untyped-def]
    """Turn e^(attention score − its largest) into the tokens' weights in the gradient."""
    (offsets, signs, weights), n_heads = samples, values.size
    temperatures, biases, label_column, weight_column = heads
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
                score = temperatures[k] * (largest[i, k] + np.log(total / length)) + biases[k]
                sign = signs[i, label_column[k]]
                values[k] += weight * _loss(score, sign)
                slope = weight * _slope(score, sign)
                by_bias[k] += slope
                factor[k] = slope / total
        for t in range(offsets[i], offsets[i + 1]):
            for k in range(n_heads):
                attention[t, k] *= factor[k]
