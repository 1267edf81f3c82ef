"""Passes over the tokens for posterior heads: which tokens carry the signal, if it is so and so.

A sequence that carries the signal has it in R tokens, any R of them. For a direction w and scores
u = ⟨x, w⟩ + c the odds of that are the mean of exp(Σ u) over all subsets of R tokens, and a token's
chance to carry the signal is its part of that sum: softmax for R = 1, and for more the elementary
symmetric polynomials of exp(u). If the R tokens are neighbors, the subsets are windows.
"""

from typing import Any, NamedTuple

import numpy as np

from sparsetoken._njit import njit
from sparsetoken._types import Floats
from sparsetoken.places import weigh_row
from sparsetoken.sequences.sequences import Sequences

_ROUNDS = 2  # in which a token's chance is computed without its own part of the direction


class PosteriorSums(NamedTuple):
    """Sums over the tokens of s, the chance to carry the signal; blocks add up entry by entry."""

    along: Floats
    """Σ s·x, (d, K)."""
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
    mean: Floats,
    scale: Floats,
    vectors: Floats,
    centers: Floats,
    *columns: Any,
) -> PosteriorSums:
    """Return what sequences say about directions: ⟨z, w⟩ is ⟨x, vector⟩ + center, (d, K) and (K,).

    ``priors`` are the sequences' chances to carry the signal; a negative one stands for the
    column's rate, that of unlabelled sequences. What else columns know are ``beliefs``, (4, K):
    shift and sharpness of scores u = sharpness·(⟨z, w⟩ + shift), the precision of w, to which a
    token adds its signal times itself, divided by this, and the rate; ``n_signal``; ``group``,
    their column of weights; whether signal tokens are ``contiguous``; and ``judge``: whether
    sequences without the signal have a say, for the evidence and the noise.
    """
    tokens = sequences.tokens.astype(np.float64, copy=False)
    scores = tokens @ vectors
    scores += centers
    norms = _scaled_norms(tokens, mean, scale)
    sums = np.zeros((11, scores.shape[1]))
    _posterior(scores, norms, sequences.offsets, priors, weights, *columns, sums)
    return PosteriorSums(tokens.T @ scores, sums[0], sums[1], sums[2:6], sums[6:9], sums[9:])


def longest_tokens(sequences: Sequences, mean: Floats, scale: Floats) -> Floats:
    """Return each sequence's token of largest norm in scaled coordinates, as it is."""
    tokens, starts = sequences.tokens, sequences.offsets[:-1]
    norms = _scaled_norms(tokens, mean, scale)
    largest = np.repeat(np.maximum.reduceat(norms, starts), sequences.lengths)
    first = np.flatnonzero(norms == largest)
    return tokens[first[np.searchsorted(first, starts)]].astype(np.float64)


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
def _posterior(  # type: ignore[no-untyped-def]
    scores, norms, offsets, priors, weights, beliefs, n_signal, group, contiguous, judge, sums
):
    """Turn ⟨z, w⟩ into weight times the chance to carry the signal."""
    shifts, sharpness, _, rates = beliefs
    total, squares, evidence, noise, unlabelled = sums[0], sums[1], sums[2:6], sums[6:9], sums[9:]
    for i in range(offsets.size - 1):
        low, high = offsets[i], offsets[i + 1]
        chance, trial = np.empty(high - low), np.empty(high - low)
        place = np.empty(high - low)
        for k in range(scores.shape[1]):
            weight, prior, column = weights[i, group[k]], priors[i], scores[low:high, k]
            if weight == 0.0 or (prior == 0.0 and not judge):
                column[:] = 0.0
                continue
            if prior == 0.0:
                trial[:] = sharpness[k] * (column + shifts[k])
                _add_noise(noise[:, k], weight, column)
                odds = -weigh_row(trial, n_signal[k], contiguous, place[:0])
                _add_evidence(evidence[:, k], weight, odds)
                column[:] = 0.0
                continue
            rate = prior if prior > 0.0 else rates[k]
            tokens = column, norms[low:high], chance, trial, place
            odds = _infer(tokens, beliefs[:, k], rate, n_signal[k], contiguous)
            if prior > 0.0:
                _add_evidence(evidence[:, k], weight, odds)
            else:
                carries = _update(rate, odds)
                _add_noise(noise[:, k], weight * (1.0 - carries), column)
                unlabelled[0, k] += weight * carries
                unlabelled[1, k] += weight * _log_likelihood(rate, odds)
            for t in range(chance.size):
                total[k] += weight * chance[t]
                squares[k] += weight * chance[t] ** 2
                column[t] = weight * chance[t]


@njit(nogil=True, error_model="numpy")
def _infer(tokens, belief, rate, n_signal, contiguous):  # type: ignore[no-untyped-def]
    """Return the log-odds of a sequence, and fill the chances of its tokens.

    A token's own part of the direction is left out of its score.
    """
    scores, norms, chance, trial, place = tokens
    shift, sharpness, precision, _ = belief
    chance[:] = 0.0
    odds = 0.0
    for r in range(_ROUNDS):
        for t in range(scores.size):
            itself = norms[t] / precision * chance[t]
            trial[t] = sharpness * (scores[t] + shift - itself)
        odds = weigh_row(trial, n_signal, contiguous, place)
        carries = _update(rate, odds)
        for t in range(scores.size):
            new = carries * place[t]
            chance[t] = new if r == 0 else 0.5 * (chance[t] + new)
    return odds


@njit(nogil=True, error_model="numpy")
def _update(rate, odds):  # type: ignore[no-untyped-def]
    """Return the chance of a sequence to carry the signal, which was ``rate`` before."""
    return rate / (rate + (1.0 - rate) * np.exp(-odds))


@njit(nogil=True, error_model="numpy")
def _log_likelihood(rate, odds):  # type: ignore[no-untyped-def]
    """Return log(1 − rate + rate·e^odds)."""
    largest = max(odds, 0.0)
    return largest + np.log(rate * np.exp(odds - largest) + (1.0 - rate) * np.exp(-largest))


@njit(nogil=True, error_model="numpy")
def _add_noise(noise, weight, scores):  # type: ignore[no-untyped-def]
    """Add the number of tokens without signal, and the sums of their scores and squares."""
    for score in scores:
        noise[0] += weight
        noise[1] += weight * score
        noise[2] += weight * score**2


@njit(nogil=True, error_model="numpy")
def _add_evidence(evidence, weight, odds):  # type: ignore[no-untyped-def]
    """Add the log-likelihood of a label by its log-odds, by their half, a quarter, and so on."""
    for part in range(evidence.size):
        evidence[part] -= weight * (max(-odds, 0.0) + np.log1p(np.exp(-abs(odds))))
        odds *= 0.5
