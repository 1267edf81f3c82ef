"""The error of the likelihood ratio: the floor for any classifier that knows the signal."""

import math

import numpy as np
from numba import njit
from numpy.typing import NDArray
from scipy.special import expit, gammaln

from sparsetoken.estimate import Estimate
from sparsetoken.problem import SparseTokenProblem
from sparsetoken.theory.points import BATCHES, token_noise

__all__ = ["bayes_error", "log_likelihood_ratio"]

Array = NDArray[np.float64]


def bayes_error(problem: SparseTokenProblem, n_points: int) -> Estimate:
    """Return E[min(η, 1 − η)], η the probability of a positive given the tokens."""
    rate = problem.positive_rate
    prior = math.log(rate) - math.log1p(-rate)
    batches = []
    for batch in range(BATCHES):
        noise = token_noise(problem, n_points, batch)
        error = 0.0
        for signal, share in ((problem.signal, rate), (0.0, 1.0 - rate)):
            x = noise.copy()
            x[:, : problem.n_signal] += signal
            log_odds = prior + log_likelihood_ratio(x, problem)
            error += share * float(expit(-np.abs(log_odds)).mean())
        batches.append(error)
    return Estimate(float(np.mean(batches)), float(np.std(batches, ddof=1)) / math.sqrt(BATCHES))


def log_likelihood_ratio(x: Array, problem: SparseTokenProblem) -> Array:
    """Log of e_R(e^{θx₁}, …, e^{θx_L}) / C(L, R) · e^{−Rθ²/2} for each row of tokens."""
    n_tokens, n_signal, signal = problem.n_tokens, problem.n_signal, problem.signal
    exponents = signal * -np.sort(-x, axis=1)
    result = np.empty(len(x))
    _log_symmetric(exponents, n_signal, result)
    subsets = gammaln(n_tokens + 1) - gammaln(n_signal + 1) - gammaln(n_tokens - n_signal + 1)
    return result - subsets - 0.5 * n_signal * signal**2


@njit(cache=True)
def _log_symmetric(exponents, degree, result):  # type: ignore[no-untyped-def]
    """Log of the elementary symmetric polynomial of e^exponents, sorted in descending order.

    The sums over j factors are kept relative to their largest term, the product of the j largest,
    in logarithms: no overflow at any length.
    """
    n_tokens = exponents.shape[1]
    for i in range(exponents.shape[0]):
        row = exponents[i]
        sums = np.full(degree + 1, -np.inf)
        sums[0] = 0.0
        top = 0.0
        for j in range(degree):
            top += row[j]
        for token in range(n_tokens):
            for j in range(min(degree, token + 1), 0, -1):
                gain = sums[j - 1] + row[token] - row[j - 1]
                if sums[j] == -np.inf:
                    sums[j] = gain
                elif gain > sums[j] - 36.0:
                    high, low = max(gain, sums[j]), min(gain, sums[j])
                    sums[j] = high + np.log1p(np.exp(low - high))
        result[i] = top + sums[degree]
