"""Passes over the tokens that need no model: means, scales, covariances, fingerprints.

Each function takes one block of sequences. Products with the tokens keep their type, so that
float32 data are not copied to float64, unless a fit needs them centered and scaled.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sparsetoken._njit import njit
from sparsetoken._types import Array, Bools, Floats
from sparsetoken.sequences.sequences import Sequences

_LARGEST = 1e18


def pooled_features(sequences: Sequences) -> Floats:
    """Return the mean token X̄ of each sequence."""
    return weighted_sums(sequences, np.repeat(1.0 / sequences.lengths, sequences.lengths))


def largest_magnitudes(sequences: Sequences) -> Array:
    """Return the largest |x| of each feature: one row, whatever the number of sequences."""
    tokens = sequences.tokens
    return np.maximum(tokens.max(axis=0), -tokens.min(axis=0))[np.newaxis].astype(np.float64)


def token_variances(sequences: Sequences, weights: Floats, mean: Floats, scale: Floats) -> Floats:
    """Return Σ s((x − mean)·scale)² by feature; the tokens of sequence i divide sᵢ evenly."""
    return _token_weights(sequences, weights) @ ((sequences.tokens - mean) * scale) ** 2


def token_covariance(sequences: Sequences, weights: Floats, mean: Floats, scale: Floats) -> Floats:
    """Return Σ s zzᵀ of z = (x − mean)·scale; the tokens of sequence i divide sᵢ evenly."""
    scaled = (sequences.tokens - mean) * scale
    return scaled.T @ (scaled * _token_weights(sequences, weights)[:, np.newaxis])


def _token_weights(sequences: Sequences, weights: Floats) -> Floats:
    return np.repeat(weights / sequences.lengths, sequences.lengths)


def weighted_sums(sequences: Sequences, weights: Floats) -> Floats:
    """Return Σ weight·token over the tokens of each sequence."""
    sums = np.zeros((len(sequences), sequences.dim))
    _add_weighted(sequences.tokens, sequences.offsets, weights, sums)
    return sums


@njit(nogil=True, fastmath={"reassoc", "contract"})
def _add_weighted(tokens, offsets, weights, sums):  # type: ignore[no-untyped-def]
    for i in range(sums.shape[0]):
        row = sums[i]
        for token in range(offsets[i], offsets[i + 1]):
            for j in range(row.size):
                row[j] += weights[token] * tokens[token, j]


def in_units(tokens: Array, unit: Floats) -> Floats:
    """Return tokens times ``unit``, such that their squares are numbers in single precision."""
    with np.errstate(over="ignore"):
        scaled: Floats = tokens * unit
    return np.clip(scaled, -_LARGEST, _LARGEST, out=scaled)


def token_statistics(sequences: Sequences, unit: Floats) -> NDArray[np.float32]:
    """Return mean, largest, smallest and deviation of each sequence's tokens times ``unit``."""
    statistics = np.zeros((len(sequences), 4, sequences.dim))
    _add_statistics(sequences.tokens, sequences.offsets, unit, statistics)
    return statistics.reshape(len(sequences), -1).astype(np.float32)


@njit(nogil=True)
def _add_statistics(tokens, offsets, unit, statistics):  # type: ignore[no-untyped-def]
    for i in range(statistics.shape[0]):
        first, last = offsets[i], offsets[i + 1]
        mean, largest, smallest, deviation = statistics[i]
        largest[:], smallest[:] = -_LARGEST, _LARGEST
        for token in range(first, last):
            for j in range(mean.size):
                value = min(max(tokens[token, j] * unit[j], -_LARGEST), _LARGEST)
                mean[j] += value
                largest[j] = max(largest[j], value)
                smallest[j] = min(smallest[j], value)
        mean /= last - first
        for token in range(first, last):
            for j in range(mean.size):
                value = min(max(tokens[token, j] * unit[j], -_LARGEST), _LARGEST)
                deviation[j] += (value - mean[j]) ** 2
        deviation[:] = np.sqrt(deviation / (last - first))


def token_fractions(sequences: Sequences, levels: Floats) -> NDArray[np.float32]:
    """Return what fraction of each sequence's tokens exceeds each of the levels, (levels, d)."""
    counts = np.zeros((len(sequences), *levels.shape))
    _count_beyond(sequences.tokens, sequences.offsets, levels, counts)
    counts /= sequences.lengths[:, np.newaxis, np.newaxis]
    return counts.reshape(len(sequences), -1).astype(np.float32)


@njit(nogil=True)
def _count_beyond(tokens, offsets, levels, counts):  # type: ignore[no-untyped-def]
    for i in range(counts.shape[0]):
        for token in range(offsets[i], offsets[i + 1]):
            for k in range(levels.shape[0]):
                for j in range(levels.shape[1]):
                    counts[i, k, j] += tokens[token, j] > levels[k, j]


def token_scores(tokens: Array, directions: Floats) -> Floats:
    """Return ⟨token, direction⟩ for one or several directions, computed in the tokens' type."""
    directions = directions.reshape(tokens.shape[1], -1)
    return (tokens @ directions.astype(tokens.dtype)).astype(np.float64)


def attention_weights(sequences: Sequences, query: Floats) -> Floats:
    """Return the token weights softmax(Xq), flat over all tokens."""
    scores = token_scores(sequences.tokens, query)[:, 0]
    starts, lengths = sequences.offsets[:-1], sequences.lengths
    weights = np.exp(scores - np.repeat(np.maximum.reduceat(scores, starts), lengths))
    return weights / np.repeat(np.add.reduceat(weights, starts), lengths)


def attention_features(sequences: Sequences, query: Floats) -> Floats:
    """Return f = Xᵀ softmax(Xq) of each sequence."""
    return weighted_sums(sequences, attention_weights(sequences, query))


def fingerprints(sequences: Sequences) -> NDArray[np.uint64]:
    """Return a hash of each sequence's length and of its largest and smallest value by feature.

    Equal sequences have equal ones, in float32 as in float64 and with their tokens in any order;
    different ones practically never.
    """
    tokens, starts = sequences.tokens, sequences.offsets[:-1]
    factors = np.random.default_rng(0).integers(1, 2**63, (2, tokens.shape[1]), dtype=np.uint64)
    total = np.diff(sequences.offsets).astype(np.uint64)
    for ends, odd in zip((np.maximum, np.minimum), factors | np.uint64(1), strict=True):
        bits = (ends.reduceat(tokens, starts).astype(np.float64) + 0.0).view(np.uint64)
        total += ((bits ^ (bits >> np.uint64(29))) * odd).sum(axis=1, dtype=np.uint64)
    return total


def seen_in_fit(classifier: Any, sequences: Any) -> Bools:
    """Return which sequences a classifier was fitted to, as far as it remembers."""
    return np.isin(fingerprints(sequences), getattr(classifier, "fingerprints_", []))
