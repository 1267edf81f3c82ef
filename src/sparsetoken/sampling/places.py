"""Which tokens carry the signal, as a posterior over its places sees it."""

import math

import numpy as np
from scipy.special import logsumexp, softmax

from sparsetoken._njit import njit
from sparsetoken._types import Floats
from sparsetoken.problem import SparseTokenProblem


def weigh_places(exponents: Floats, kind: SparseTokenProblem) -> tuple[Floats, Floats]:
    """Weigh each place of the signal by exp(sum of its exponents), in each row.

    Returns the log of the mean weight over the places, and the tokens' chances to be in the place.
    """
    n_rows, n_tokens = exponents.shape
    n_signal = kind.n_signal
    if n_signal == n_tokens:
        return exponents.sum(axis=1), np.ones_like(exponents)
    if n_signal == 1 or kind.contiguous:
        sums = np.lib.stride_tricks.sliding_window_view(exponents, n_signal, axis=1).sum(axis=2)
        chances, weights = np.zeros_like(exponents), softmax(sums, axis=1)
        for offset in range(n_signal):
            chances[:, offset : offset + weights.shape[1]] += weights
        return np.asarray(logsumexp(sums, axis=1)) - math.log(weights.shape[1]), chances
    log_total, chances = np.empty(n_rows), np.empty_like(exponents)
    _weigh_subsets(exponents, n_signal, log_total, chances)
    return log_total - math.log(math.comb(n_tokens, n_signal)), chances


@njit()
def _weigh_subsets(exponents, n_signal, log_total, chances):  # type: ignore[no-untyped-def]
    """Sum over all subsets of n_signal tokens, by those before a token and those after it."""
    n_rows, n_tokens = exponents.shape
    before = np.empty((n_tokens + 1, n_signal + 1))  # log sums over subsets of j tokens before
    after, longer = np.empty(n_signal + 1), np.empty(n_signal + 1)
    for row in range(n_rows):
        before[0, :] = -np.inf
        before[:, 0] = 0.0
        for token in range(n_tokens):
            for j in range(1, n_signal + 1):
                taken = before[token, j - 1] + exponents[row, token]
                before[token + 1, j] = np.logaddexp(before[token, j], taken)
        total = before[n_tokens, n_signal]
        log_total[row] = total
        after[:] = -np.inf
        after[0] = 0.0
        for token in range(n_tokens - 1, -1, -1):
            chance = 0.0
            for j in range(n_signal):
                others = before[token, j] + after[n_signal - 1 - j]
                chance += np.exp(others + exponents[row, token] - total)
            chances[row, token] = chance
            longer[0] = 0.0
            for j in range(1, n_signal + 1):
                longer[j] = np.logaddexp(after[j], after[j - 1] + exponents[row, token])
            after[:] = longer
