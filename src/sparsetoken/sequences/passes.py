"""Passes over the tokens that need no model: means, scales, covariances.

Each function takes one block of sequences, so that the same text serves for data in memory, in a
folder and in the chunks of a Dask array. Products with the tokens keep their type, so that float32
data are never copied to float64.
"""

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from sparsetoken.sequences.sequences import Sequences

__all__ = [
    "largest_magnitudes",
    "pooled_features",
    "scaled_tokens",
    "token_covariance",
    "token_variances",
    "weighted_sums",
]

Array = NDArray[Any]
Floats = NDArray[np.float64]


def pooled_features(sequences: Sequences) -> Array:
    """Return the mean token X̄ of each sequence, in the type of the tokens."""
    weights = np.repeat(1.0 / sequences.lengths, sequences.lengths)
    return weighted_sums(sequences, weights).astype(sequences.dtype, copy=False)


def largest_magnitudes(sequences: Sequences) -> Array:
    """Return the largest |x| of each feature: one row, whatever the number of sequences."""
    tokens = sequences.tokens
    return np.maximum(tokens.max(axis=0), -tokens.min(axis=0))[np.newaxis].astype(np.float64)


def scaled_tokens(sequences: Sequences, mean: Floats | None, scale: Floats | None) -> Array:
    """Return (x − mean)·scale of all tokens; the tokens themselves without a scale."""
    if mean is None or scale is None:
        return sequences.tokens
    kind = sequences.dtype
    scaled = sequences.tokens - mean.astype(kind)
    scaled *= scale.astype(kind)
    return scaled


def token_variances(sequences: Sequences, share: Floats, mean: Floats, scale: Floats) -> Floats:
    """Return Σ s((x − mean)·scale)² by feature; the tokens of sequence i share sᵢ evenly."""
    return _token_shares(sequences, share) @ ((sequences.tokens - mean) * scale) ** 2


def token_covariance(sequences: Sequences, share: Floats, mean: Floats, scale: Floats) -> Floats:
    """Return Σ s zzᵀ of z = (x − mean)·scale; the tokens of sequence i share sᵢ evenly."""
    scaled = (sequences.tokens - mean) * scale
    return scaled.T @ (scaled * _token_shares(sequences, share)[:, np.newaxis])


def _token_shares(sequences: Sequences, share: Floats) -> Floats:
    return np.repeat(share / sequences.lengths, sequences.lengths)


def weighted_sums(sequences: Sequences, weights: Floats) -> Floats:
    """Return Σ weight·token over the tokens of each sequence."""
    sums = np.zeros((len(sequences), sequences.dim))
    _add_weighted(sequences.tokens, sequences.offsets, weights, sums)
    return sums


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract"})
def _add_weighted(tokens, offsets, weights, sums):  # type: ignore[no-untyped-def]
    for i in range(sums.shape[0]):
        row = sums[i]
        for token in range(offsets[i], offsets[i + 1]):
            for j in range(row.size):
                row[j] += weights[token] * tokens[token, j]
