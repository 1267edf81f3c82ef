"""Passes over the tokens for posterior heads: which tokens carry the signal, if it is so and so.

A sequence that carries the signal has it in R tokens, any R of them. For a direction w and scores
u = ⟨x, w⟩ + c the odds of that are the mean of exp(Σ u) over all subsets of R tokens, and a token's
chance to carry the signal is its part of that sum: softmax for R = 1, and for more the elementary
symmetric polynomials of exp(u). If the R tokens are neighbors, the subsets are windows.
"""

from typing import Any, NamedTuple

import numpy as np

from sparsetoken._njit import njit
from sparsetoken._types import Floats, Indices
from sparsetoken.sequences.passes import scaled_tokens
from sparsetoken.sequences.sequences import Sequences

_ROUNDS = 2  # in which a token's chance is computed without its own part of the direction


class PosteriorSums(NamedTuple):
    """Sums over the tokens of s, the chance to carry the signal; blocks add up entry by entry."""

    along: Floats
    """Σ s·z, (d, K)."""
    total: Floats
    squares: Floats
    evidence: Floats
    """Log-likelihood of the labels by the log-odds, and by their half, quarter, …; (4, K)."""
    noise: Floats
    """Number of tokens without signal, and sums of ⟨z, w⟩ and ⟨z, w⟩² over them; (3, K)."""
    unlabelled: Floats
    """Number of unlabelled sequences that carry the signal, and the log-likelihood of all; (2, K).
    """


def posterior_sums(
    sequences: Sequences,
    priors: Floats,
    weights: Floats,
    mean: Floats | None,
    scale: Floats | None,
    vectors: Floats,
    *columns: Any,
) -> PosteriorSums:
    """Return what sequences say about the directions ``vectors``, (d, K), of scaled tokens.

    ``priors`` are the sequences' chances to carry the signal; a negative one stands for the
    column's ``rate``, that of unlabelled sequences. What else columns know are ``shifts`` and
    ``sharpness`` of scores u = sharpness·(⟨z, w⟩ + shift); the ``precision`` of w, to which a token
    adds its signal times itself, divided by this; ``n_signal``; ``group``, their column of weights;
    whether signal tokens are ``contiguous``; and ``judge``: whether sequences without the signal
    have a say, for the evidence and the noise.
    """
    tokens = scaled_tokens(sequences, mean, scale)
    scores = tokens @ vectors
    norms = np.einsum("td,td->t", tokens, tokens)
    sums = np.zeros((11, scores.shape[1]))
    total, squares, evidence, noise, unlabelled = np.split(sums, (1, 2, 6, 9))
    rows = total[0], squares[0], evidence, noise, unlabelled
    _posterior(scores, norms, sequences.offsets, priors, weights, *columns, *rows)
    return PosteriorSums(tokens.T @ scores, *rows)


def place_scores(
    sequences: Sequences,
    vectors: Floats,
    offsets: Floats,
    n_signal: Indices,
    contiguous: bool,
    mean: Floats | None = None,
    scale: Floats | None = None,
) -> Floats:
    """Return the log of the mean of exp(Σ⟨x, w⟩ + c) over subsets of R tokens, for each column."""
    scores = scaled_tokens(sequences, mean, scale) @ vectors
    return _weigh(scores + offsets, sequences.offsets, n_signal, contiguous)


def place_tokens(
    sequences: Sequences, vectors: Floats, offsets: Floats, n_signal: Indices, contiguous: bool
) -> tuple[Floats, Floats]:
    """Return attention (tokens, K), of sum one over a sequence, and the sequences' scores."""
    chances = sequences.tokens @ vectors + offsets
    scores = _weigh(chances, sequences.offsets, n_signal, contiguous)
    lengths = np.repeat(sequences.lengths, sequences.lengths)[:, np.newaxis]
    return chances / np.minimum(n_signal, lengths), scores


@njit(nogil=True)
def _weigh(scores, offsets, n_signal, contiguous):  # type: ignore[no-untyped-def]
    """Turn the tokens' scores into chances, and return the sequences' scores."""
    result = np.empty((offsets.size - 1, scores.shape[1]))
    for i in range(offsets.size - 1):
        for k in range(scores.shape[1]):
            column = scores[offsets[i] : offsets[i + 1], k].copy()
            result[i, k] = _places(column, n_signal[k], contiguous)
            scores[offsets[i] : offsets[i + 1], k] = column
    return result


@njit(nogil=True)
def _places(scores, n_signal, contiguous):  # type: ignore[no-untyped-def]
    """Return the log mean of exp(Σ scores) over subsets, and turn scores into tokens' chances."""
    n_tokens = scores.size
    size = min(n_signal, n_tokens)
    if contiguous and size > 1:
        return _windows(scores, size)
    top = scores.max()
    total = 0.0
    for t in range(n_tokens):  # products of several must not vanish
        scores[t] = np.exp(max(scores[t] - top, -70.0))
        total += scores[t]
    if size == 1:
        for t in range(n_tokens):
            scores[t] /= total
        return top + np.log(total / n_tokens)
    before = np.zeros((n_tokens + 1, size))  # sums over subsets of the tokens before
    before[:, 0] = 1.0
    for t in range(n_tokens):
        for j in range(1, size):
            before[t + 1, j] = before[t, j] + before[t, j - 1] * scores[t]
    after = np.zeros(size)
    after[0] = 1.0
    total = 0.0
    for t in range(n_tokens - 1, -1, -1):
        others = 0.0
        for j in range(size):
            others += before[t, j] * after[size - 1 - j]
        for j in range(size - 1, 0, -1):
            after[j] += after[j - 1] * scores[t]
        scores[t] *= others
        total += scores[t]
    total /= size  # every subset was counted once for each of its tokens
    log_count = 0.0
    for j in range(size):
        log_count += np.log((n_tokens - j) / (j + 1.0))
    for t in range(n_tokens):
        scores[t] /= total
    return size * top + np.log(total) - log_count


@njit(nogil=True)
def _windows(scores, size):  # type: ignore[no-untyped-def]
    """Do what _places does for windows of that many tokens."""
    n_places = scores.size - size + 1
    sums = np.empty(n_places)
    for place in range(n_places):
        sums[place] = scores[place : place + size].sum()
    top = sums.max()
    total = np.exp(sums - top).sum()
    scores[:] = 0.0
    for place in range(n_places):
        scores[place : place + size] += np.exp(sums[place] - top) / total
    return top + np.log(total / n_places)


@njit(nogil=True)
def _posterior(  # type: ignore[no-untyped-def]
    scores,
    norms,
    offsets,
    priors,
    weights,
    shifts,
    sharpness,
    precision,
    rates,
    n_signal,
    group,
    contiguous,
    judge,
    total,
    squares,
    evidence,
    noise,
    unlabelled,
):
    """Turn ⟨z, w⟩ into weight times the chance to carry the signal."""
    for i in range(offsets.size - 1):
        low, high = offsets[i], offsets[i + 1]
        chance = np.empty(high - low)
        trial = np.empty(high - low)
        for k in range(scores.shape[1]):
            weight, prior = weights[i, group[k]], priors[i]
            if weight == 0.0 or (prior == 0.0 and not judge):
                scores[low:high, k] = 0.0
                continue
            chance[:] = 0.0
            if prior == 0.0:
                for t in range(low, high):
                    trial[t - low] = sharpness[k] * (scores[t, k] + shifts[k])
                _add_noise(noise[:, k], weight, scores[low:high, k])
                _add_evidence(evidence[:, k], weight, -_places(trial, n_signal[k], contiguous))
                scores[low:high, k] = 0.0
                continue
            labelled = prior > 0.0
            if not labelled:
                prior = rates[k]
            odds, carries = 0.0, 0.0
            for r in range(_ROUNDS):
                for t in range(low, high):
                    itself = norms[t] / precision[k] * chance[t - low]
                    trial[t - low] = sharpness[k] * (scores[t, k] + shifts[k] - itself)
                odds = _places(trial, n_signal[k], contiguous)
                carries = prior / (prior + (1.0 - prior) * np.exp(-odds))
                for t in range(high - low):
                    new = carries * trial[t]
                    chance[t] = new if r == 0 else 0.5 * (chance[t] + new)
            if labelled:
                _add_evidence(evidence[:, k], weight, odds)
            else:
                _add_noise(noise[:, k], weight * (1.0 - carries), scores[low:high, k])
                largest = max(odds, 0.0)
                likelihood = prior * np.exp(odds - largest) + (1.0 - prior) * np.exp(-largest)
                unlabelled[0, k] += weight * carries
                unlabelled[1, k] += weight * (largest + np.log(likelihood))
            for t in range(high - low):
                total[k] += weight * chance[t]
                squares[k] += weight * chance[t] ** 2
                scores[low + t, k] = weight * chance[t]


@njit(nogil=True)
def _add_noise(noise, weight, scores):  # type: ignore[no-untyped-def]
    """Add the number of tokens without signal, and the sums of their scores and squares."""
    for score in scores:
        noise[0] += weight
        noise[1] += weight * score
        noise[2] += weight * score**2


@njit(nogil=True)
def _add_evidence(evidence, weight, odds):  # type: ignore[no-untyped-def]
    """Add the log-likelihood of a label by its log-odds, by their half, a quarter, and so on."""
    for part in range(evidence.size):
        evidence[part] -= weight * (max(-odds, 0.0) + np.log1p(np.exp(-abs(odds))))
        odds *= 0.5


def join_subsets(first: tuple[Any, ...], second: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return what two runs of tokens say together.

    A run is the largest score, (K, C), and sums of exp(Σ score − largest) over subsets of 0 to R
    tokens, (R + 1, K, C).
    """
    largest = np.maximum(first[0], second[0])
    degrees = np.arange(len(first[1])).reshape(-1, 1, 1)
    before, after = (sums * np.exp(degrees * (top - largest)) for top, sums in (first, second))
    joined = [(before[: n + 1] * after[n::-1]).sum(axis=0) for n in range(len(before))]
    return largest, np.array(joined)
