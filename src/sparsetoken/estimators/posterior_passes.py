"""Passes over the tokens for posterior heads: which tokens carry the signal, if it is so and so.

For a direction w and scores u = ⟨x, w⟩ + c the odds that R tokens carry the signal are the mean of
exp(Σ u) over subsets or windows of R tokens, and a token's chance is its part of that sum
(places.py). There may be several kinds of signal, a direction each: a head is a run of columns, and
the odds are the mean over its kinds, too, by how frequent they are (docs/theory, section 19).
"""

from typing import Any, NamedTuple

import numpy as np

from sparsetoken._njit import njit
from sparsetoken._types import Floats, Indices
from sparsetoken.places import weigh_row
from sparsetoken.sequences.sequences import Sequences

_ROUNDS = 2  # in which a token's chance is computed without its own part of the direction
_ROUNDING = 1e-9  # of frequencies that sum to one


class PosteriorSums(NamedTuple):
    """Sums over the tokens of s, the chance to carry the signal; blocks add up entry by entry."""

    along: Floats  # Σ s·x, (d, K)
    total: Floats
    squares: Floats
    evidence: Floats
    """(4, heads): log-likelihood of the labels by the odds, their root, its root, …"""
    noise: Floats  # (3, K): tokens without signal, and sums of ⟨z, w⟩ and ⟨z, w⟩² over them
    unlabelled: Floats  # (2, heads): how many carry the signal, and the log-likelihood


def posterior_sums(
    sequences: Sequences, priors: Floats, weights: Floats, geometry: Any, heads: Any
) -> PosteriorSums:
    """Return what sequences say about directions w: ⟨z, w⟩ is ⟨x, vector⟩ + center.

    ``geometry`` is (mean, scale) of z, and vectors (d, K) and centers. ``priors`` are the chances
    of sequences to carry the signal; a negative one stands for the head's rate. ``heads`` are
    beliefs, (5, K): shift and sharpness of scores u = sharpness·(⟨z, w⟩ + shift), precision of w,
    rate, and frequency of the kind; and columns: where heads begin, their numbers of signal tokens
    and columns of weights, whether signal tokens are neighbors, and whether sequences without the
    signal have a say, for the evidence and the noise.
    """
    (mean, scale, vectors, centers), (beliefs, columns) = geometry, heads
    tokens = sequences.tokens.astype(np.float64, copy=False)
    scores = tokens @ vectors
    scores += centers
    norms = _scaled_norms(tokens, mean, scale)
    sums, by_head = np.zeros((5, scores.shape[1])), np.zeros((6, len(columns[0])))
    samples = sequences.offsets, priors, weights
    _posterior(scores, norms, samples, beliefs, columns, sums, by_head)
    return PosteriorSums(tokens.T @ scores, sums[0], sums[1], by_head[:4], sums[2:], by_head[4:])


def longest_tokens(sequences: Sequences, mean: Floats, scale: Floats) -> Floats:
    """Return each sequence's token of largest norm in scaled coordinates, as it is."""
    norms = _scaled_norms(sequences.tokens, mean, scale)
    return sequences.tokens[_largest(sequences, norms)].astype(np.float64)


def largest_tokens(sequences: Sequences, directions: Floats) -> Floats:
    """Return what each sequence's largest token along directions (d, K) is, and the token.

    Both in one array, (n, K, 1 + d).
    """
    along = sequences.tokens.astype(np.float64, copy=False) @ directions
    rows = np.stack([_largest(sequences, column) for column in along.T], axis=1)
    largest = along[rows, np.arange(along.shape[1])]
    return np.concatenate([largest[..., np.newaxis], sequences.tokens[rows]], axis=2)


def _largest(sequences: Sequences, values: Floats) -> Indices:
    """Return the first token of largest value in each sequence."""
    starts = sequences.offsets[:-1]
    largest = np.repeat(np.maximum.reduceat(values, starts), sequences.lengths)
    first = np.flatnonzero(values == largest)
    return first[np.searchsorted(first, starts)]


@njit(nogil=True, fastmath={"reassoc", "contract"})
def _scaled_norms(tokens, mean, scale):  # type: ignore[no-untyped-def]
    """Return ‖(x − mean)·scale‖² of every token."""
    norms = np.empty(tokens.shape[0])
    for t in range(norms.size):
        total = 0.0
        for j in range(mean.size):
            total += ((tokens[t, j] - mean[j]) * scale[j]) ** 2
        norms[t] = total
    return norms


@njit(nogil=True, error_model="numpy")
def _posterior(scores, norms, samples, beliefs, columns, sums, by_head):  # type: ignore[no-untyped-def]
    """Turn ⟨z, w⟩ into weight times the chance to carry the signal."""
    (offsets, priors, weights), (heads, n_signal, group, contiguous, judge) = samples, columns
    rates, total, squares, noise = beliefs[3], sums[0], sums[1], sums[2:]
    evidence, unlabelled = by_head[:4], by_head[4:]
    ends = np.append(heads[1:], scores.shape[1])
    most = (ends - heads).max()
    for i in range(offsets.size - 1):
        low, high = offsets[i], offsets[i + 1]
        chance, place = np.empty((most, high - low)), np.empty((most, high - low))
        trial, of_kind, none = np.empty(high - low), np.empty(most), place[:, :0]
        for h in range(heads.size):
            first, end = heads[h], ends[h]
            weight, prior, u = weights[i, group[first]], priors[i], scores[low:high, first:end]
            if weight == 0.0 or (prior == 0.0 and not judge):
                u[:] = 0.0
                continue
            n_kinds, size, belief = end - first, n_signal[first], beliefs[:, first:end]
            tokens = u, norms[low:high], chance[:n_kinds], trial, of_kind[:n_kinds]
            if prior == 0.0:
                _add_noise(noise[:, first:end], weight, u)
                odds = _infer(tokens, none, belief, prior, size, contiguous)
                _add_evidence(evidence[:, h], weight, -odds)
                u[:] = 0.0
                continue
            rate = prior if prior > 0.0 else rates[first]
            odds = _infer(tokens, place, belief, rate, size, contiguous)
            if prior > 0.0:
                _add_evidence(evidence[:, h], weight, odds)
            else:
                carries = rate / (rate + (1.0 - rate) * np.exp(-odds))
                _add_noise(noise[:, first:end], weight * (1.0 - carries), u)
                unlabelled[0, h] += weight * carries
                top = max(odds, 0.0)
                likelihood = rate * np.exp(odds - top) + (1.0 - rate) * np.exp(-top)
                unlabelled[1, h] += weight * (top + np.log(likelihood))
            for k in range(first, end):
                for t in range(high - low):
                    s = chance[k - first, t]
                    total[k] += weight * s
                    squares[k] += weight * s**2
                    u[t, k - first] = weight * s


@njit(nogil=True, error_model="numpy")
def _infer(tokens, place, belief, rate, n_signal, contiguous):  # type: ignore[no-untyped-def]
    """Return the log-odds of a sequence, and fill the chances (kinds, tokens); none without a rate.

    A token's own part of a direction is left out of its score.
    """
    scores, norms, chance, trial, of_kind = tokens
    shift, sharpness, precision, _, frequency = belief
    n_kinds, n_tokens = chance.shape
    rest = 1.0 - frequency.sum()  # of kinds that are not known yet: they look like noise
    rest = rest if rest > _ROUNDING else 0.0
    chance[:] = 0.0
    odds = 0.0
    for r in range(_ROUNDS if rate > 0.0 else 1):
        for k in range(n_kinds):
            for t in range(n_tokens):
                itself = norms[t] / precision[k] * chance[k, t]
                trial[t] = sharpness[k] * (scores[t, k] + shift[k] - itself)
            of_kind[k] = weigh_row(trial, n_signal, contiguous, place[k])
        top = of_kind.max() if rest == 0.0 else max(of_kind.max(), 0.0)
        of_kind[:] = frequency * np.exp(of_kind - top)
        odds = top + np.log(of_kind.sum() + (rest * np.exp(-top) if rest > 0.0 else 0.0))
        carries = 0.0
        if rate > 0.0:
            carries = rate / (rate + (1.0 - rate) * np.exp(-odds)) * np.exp(top - odds)
        for k in range(n_kinds):
            for t in range(place.shape[1]):
                new = carries * of_kind[k] * place[k, t]
                chance[k, t] = new if r == 0 else 0.5 * (chance[k, t] + new)
    return odds


@njit(nogil=True, error_model="numpy")
def _add_noise(noise, weight, scores):  # type: ignore[no-untyped-def]
    """Add the number of tokens without signal, and the sums of their scores and squares."""
    for t in range(scores.shape[0]):
        for k in range(scores.shape[1]):
            noise[0, k] += weight
            noise[1, k] += weight * scores[t, k]
            noise[2, k] += weight * scores[t, k] ** 2


@njit(nogil=True, error_model="numpy")
def _add_evidence(evidence, weight, odds):  # type: ignore[no-untyped-def]
    """Add the log-likelihood of a label by its log-odds, by their half, a quarter, and so on."""
    for part in range(evidence.size):
        evidence[part] -= weight * (max(-odds, 0.0) + np.log1p(np.exp(-abs(odds))))
        odds *= 0.5
