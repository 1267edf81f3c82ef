"""The likelihood ratio of a sequence, the direction of the signal known."""

import numpy as np
from scipy.special import gammaln

from sparsetoken._njit import njit
from sparsetoken._types import Floats
from sparsetoken.problem import SparseTokenProblem

_MANY = 100.0  # variance of a count from which on its law is known well enough by its cumulants


def log_likelihood_ratio(x: Floats, problem: SparseTokenProblem) -> Floats:
    """Log of the mean of exp(θ Σ x_l − Rθ²/2) over the places of the signal, for each row of x.

    If all subsets of R tokens are possible, the sum is the elementary symmetric polynomial of the
    e^{θx_l}. Tokens must be in place if the signal is in runs.
    """
    exponents = problem.signal * x
    return log_mean_over_places(exponents, problem) - 0.5 * problem.n_signal * problem.signal**2


def log_mean_over_places(exponents: Floats, problem: SparseTokenProblem) -> Floats:
    """Log of the mean of exp(sum of exponents) over where the signal may be, for each row."""
    n_tokens, n_signal = problem.n_tokens, problem.n_signal
    if problem.in_runs:
        sums = np.cumsum(exponents, axis=1)
        sums[:, n_signal:] -= sums[:, :-n_signal].copy()
        sums = sums[:, n_signal - 1 :]
        top = sums.max(axis=1)
        return top + np.log(np.exp(sums - top[:, np.newaxis]).mean(axis=1))
    result = np.empty(len(exponents))
    if 2 * n_signal <= n_tokens:
        _log_symmetric(exponents, n_signal, result)
    else:  # leave out L − R tokens instead of choosing R
        _log_symmetric(-exponents, n_tokens - n_signal, result)
        result += exponents.sum(axis=1)
    subsets = gammaln(n_tokens + 1) - gammaln(n_signal + 1) - gammaln(n_tokens - n_signal + 1)
    return result - subsets


@njit(error_model="numpy")
def _log_symmetric(exponents, degree, result):  # type: ignore[no-untyped-def]
    """Log of the elementary symmetric polynomial of e^exponents, for each row.

    If token l is taken with probability p = re^a/(1 + re^a), independently of the others, the
    polynomial is Π(1 + re^a)/r^R times the probability that R are taken. With r such that about R
    are expected, all numbers in the sum for that probability are of moderate size.
    """
    n_rows, n_tokens = exponents.shape
    chance = np.empty(n_tokens)
    counts = np.zeros((2, degree + 5))
    log_r = 0.0
    for i in range(n_rows):
        if degree == 0:
            result[i] = 0.0
            continue
        a = exponents[i]
        log_r, gap, variance = _balance(a, degree, log_r, chance)  # from that of the last row
        # Π(1 + re^a) as 1/(1 − p) or re^a/p, factors between one and two.
        total, product = -degree * log_r, 1.0
        for token in range(n_tokens):
            p = chance[token]
            if p > 0.5:
                total += a[token] + log_r
                product /= p
            else:
                product /= 1.0 - p
            if product > 1e250:
                total += np.log(product)
                product = 1.0
        if variance > _MANY:
            taken = _saddle_point(chance, variance)
        else:
            taken = _probability(chance, degree, gap, variance, counts)
        result[i] = total + np.log(product) + np.log(taken)


@njit(error_model="numpy")
def _balance(a, degree, log_r, chance):  # type: ignore[no-untyped-def]
    """Find log r at which about ``degree`` tokens are expected; fill the tokens' chances."""
    reach = 40.0 + np.log(a.size)
    low, high = -a.max() - reach, -a.min() + reach
    log_r = min(max(log_r, low), high)
    for _ in range(200):
        expected = variance = 0.0
        for token in range(a.size):
            p = 1.0 / (1.0 + np.exp(min(-a[token] - log_r, 700.0)))
            chance[token] = p
            expected += p
            variance += p * (1.0 - p)
        gap = expected - degree
        if abs(gap) <= (1e-10 * degree if variance > _MANY else 0.3 + 0.5 * np.sqrt(variance)):
            break
        if gap > 0.0:
            high = log_r
        else:
            low = log_r
        log_r -= gap / max(variance, 1e-300)
        if variance < 0.1 or not low < log_r < high:
            log_r = 0.5 * (low + high)
    return log_r, gap, variance


@njit(error_model="numpy")
def _probability(chance, degree, gap, variance, counts):  # type: ignore[no-untyped-def]
    """Probability that exactly ``degree`` tokens are taken, each with its own chance.

    Two tokens at a time. Of the numbers taken so far only those are followed that lie within nine
    deviations of what is expected on the way to ``degree``.
    """
    counts[:] = 0.0
    now, then = counts[0], counts[1]  # the probability of j taken so far is entry j + 2
    now[2] = 1.0
    low = high = 0
    expected = spread = 0.0
    for token in range(0, chance.size, 2):
        p = chance[token]
        s = chance[token + 1] if token + 1 < chance.size else 0.0
        none, one, both = (1.0 - p) * (1.0 - s), p * (1.0 - s) + s * (1.0 - p), p * s
        expected += p + s
        spread += p * (1.0 - p) + s * (1.0 - s)
        passed = spread / max(variance, 1e-300)
        middle = expected - gap * passed
        width = 9.0 * np.sqrt(max(spread * (1.0 - passed), 0.0)) + 14.0
        low = max(low, int(middle - width), degree - max(chance.size - token - 2, 0))
        high = max(min(high + 2, degree, int(middle + width) + 1), low)
        count = high - low + 1
        new, old = then[low + 2 :], now[low + 2 :]
        one_less, two_less = now[low + 1 :], now[low:]
        for j in range(count):
            new[j] = none * old[j] + one * one_less[j] + both * two_less[j]
        then[low] = then[low + 1] = 0.0
        then[high + 3] = then[high + 4] = 0.0
        now, then = then, now
    return now[degree + 2]


@njit(error_model="numpy")
def _saddle_point(chance, variance):  # type: ignore[no-untyped-def]
    """Probability that as many tokens are taken as expected, if that number varies much.

    The first two terms of the expansion; the next is of the order of 1/(288 variance²).
    """
    third = fourth = 0.0
    for token in range(chance.size):
        p = chance[token]
        spread = p * (1.0 - p)
        third += spread * (1.0 - 2.0 * p)
        fourth += spread * (1.0 - 6.0 * spread)
    correction = fourth / (8.0 * variance**2) - 5.0 * third**2 / (24.0 * variance**3)
    return (1.0 + correction) / np.sqrt(2.0 * np.pi * variance)
