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
    column's ``rate``, that of unlabelled sequences. What else columns know are ``shifts`` and
    ``sharpness`` of scores u = sharpness·(⟨z, w⟩ + shift); the ``precision`` of w, to which a token
    adds its signal times itself, divided by this; ``n_signal``; ``group``, their column of weights;
    whether signal tokens are ``contiguous``; and ``judge``: whether sequences without the signal
    have a say, for the evidence and the noise.
    """
    tokens = sequences.tokens.astype(np.float64, copy=False)
    scores = tokens @ vectors
    scores += centers
    norms = _scaled_norms(tokens, mean, scale)
    sums = np.zeros((11, scores.shape[1]))
    total, squares, evidence, noise, unlabelled = np.split(sums, (1, 2, 6, 9))
    rows = total[0], squares[0], evidence, noise, unlabelled
    _posterior(scores, norms, sequences.offsets, priors, weights, *columns, *rows)
    return PosteriorSums(tokens.T @ scores, *rows)


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
        place = np.empty(high - low)
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
                odds = -weigh_row(trial, n_signal[k], contiguous, chance[:0])
                _add_evidence(evidence[:, k], weight, odds)
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
                odds = weigh_row(trial, n_signal[k], contiguous, place)
                carries = prior / (prior + (1.0 - prior) * np.exp(-odds))
                for t in range(high - low):
                    new = carries * place[t]
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
