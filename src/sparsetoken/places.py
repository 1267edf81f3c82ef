"""Where the signal may be: means over its places, and each token's chance to be in one.

A sequence of L tokens carries the signal in R of them: any R, or R neighbors. With an exponent for
each token, a place weighs exp(sum of its tokens' exponents). What is asked for is the log of the
mean weight over the places, and for each token the part of the weight that is in places with it.

The sum over all subsets is the elementary symmetric polynomial of the e^a. If token l is taken with
probability p = re^a/(1 + re^a), independently of the others, it is Π(1 + re^a)/r^R times the
probability that R are taken. With r such that about R are expected, all numbers on the way are of
moderate size, however large the exponents.
"""

import math

import numpy as np
from scipy.special import logsumexp, softmax

from sparsetoken._njit import njit
from sparsetoken._types import Floats


def weigh_places(
    exponents: Floats, n_signal: int, contiguous: bool = False, n_kinds: int = 1
) -> tuple[Floats, Floats]:
    """Return the log of the mean weight over the places, and the tokens' chances, in each row.

    If the signal may be of several kinds, a row has the tokens' exponents for the first kind, then
    those for the second, ...: a place is a kind and R tokens.
    """
    rows = np.ascontiguousarray(exponents).reshape(-1, exponents.shape[1] // n_kinds)
    chances = np.empty(rows.shape)
    logs = _weigh_rows(rows, n_signal, contiguous, chances)
    if n_kinds == 1:
        return logs, chances
    logs = logs.reshape(-1, n_kinds)
    chances *= softmax(logs, axis=1).reshape(-1, 1)
    return _log_mean(logs), chances.reshape(exponents.shape)


def log_mean_over_places(
    exponents: Floats, n_signal: int, contiguous: bool = False, n_kinds: int = 1
) -> Floats:
    """Return the log of the mean weight over the places, in each row."""
    rows = np.ascontiguousarray(exponents).reshape(-1, exponents.shape[1] // n_kinds)
    logs: Floats = _weigh_rows(rows, n_signal, contiguous, np.empty((len(rows), 0)))
    return logs if n_kinds == 1 else _log_mean(logs.reshape(-1, n_kinds))


def _log_mean(logs: Floats) -> Floats:
    return np.asarray(logsumexp(logs, axis=1) - math.log(logs.shape[1]))


@njit(error_model="numpy")
def _weigh_rows(exponents, n_signal, contiguous, chances):  # type: ignore[no-untyped-def]
    result = np.empty(exponents.shape[0])
    for row in range(result.size):
        result[row] = weigh_row(exponents[row], n_signal, contiguous, chances[row])
    return result


@njit(error_model="numpy")
def weigh_row(exponents, n_signal, contiguous, chances):  # type: ignore[no-untyped-def]
    """Return the log mean weight of one sequence; fill ``chances`` unless it is empty.

    Compiled, for kernels that go through sequences of their own. A sequence of fewer than
    ``n_signal`` tokens has the signal in all of them.
    """
    n_tokens = exponents.size
    if n_signal >= n_tokens:
        chances[:] = 1.0
        return exponents.sum()
    if n_signal == 1:
        return _weigh_tokens(exponents, chances)
    if contiguous:
        return _weigh_runs(exponents, n_signal, chances)
    log_places = math.lgamma(n_tokens + 1.0) - math.lgamma(n_signal + 1.0)
    log_places -= math.lgamma(n_tokens - n_signal + 1.0)
    if 2 * n_signal <= n_tokens:
        return _weigh_subsets(exponents, n_signal, chances) - log_places
    # Leave out L − R tokens instead of choosing R.
    total = _weigh_subsets(-exponents, n_tokens - n_signal, chances) + exponents.sum()
    chances[:] = 1.0 - chances
    return total - log_places


@njit(error_model="numpy")
def _weigh_tokens(exponents, chances):  # type: ignore[no-untyped-def]
    """Weigh the tokens one by one."""
    top, total = exponents.max(), 0.0
    for token in range(exponents.size):
        weight = np.exp(exponents[token] - top)
        total += weight
        if chances.size:
            chances[token] = weight
    for token in range(chances.size):
        chances[token] /= total
    return top + np.log(total / exponents.size)


@njit(error_model="numpy")
def _weigh_runs(exponents, size, chances):  # type: ignore[no-untyped-def]
    """Weigh the windows of ``size`` neighbors."""
    n_places = exponents.size - size + 1
    sums = np.cumsum(exponents)
    weights = sums[size - 1 :].copy()
    weights[1:] -= sums[:-size]
    top = weights.max()
    total = 0.0
    for place in range(n_places):
        weights[place] = np.exp(weights[place] - top)
        total += weights[place]
    if chances.size:
        inside = 0.0  # weight of the windows that a token is in
        for token in range(exponents.size):
            if token < n_places:
                inside += weights[token]
            if token >= size:
                inside -= weights[token - size]
            chances[token] = max(inside, 0.0) / total
    return top + np.log(total / n_places)


@njit(error_model="numpy")
def _weigh_subsets(exponents, degree, chances):  # type: ignore[no-untyped-def]
    """Weigh the subsets of ``degree`` tokens; returns the log of their sum, not of their mean."""
    taken = np.empty(exponents.size)
    log_r = _balance(exponents, degree, taken)
    # Π(1 + re^a) as 1/(1 − p) or re^a/p, factors between one and two.
    total, product = -degree * log_r, 1.0
    for token in range(exponents.size):
        p = taken[token]
        if p > 0.5:
            total += exponents[token] + log_r
            product *= p
        else:
            product *= 1.0 - p
        if product < 1e-250:
            total -= np.log(product)
            product = 1.0
    return total - np.log(product) + np.log(_count(taken, degree, chances))


@njit(error_model="numpy")
def _balance(a, degree, taken):  # type: ignore[no-untyped-def]
    """Find log r at which about ``degree`` tokens are expected; fill the tokens' probabilities.

    Exponentials are computed once, for a first guess of r, and again only if that was far off.
    """
    top = a.max()
    reach = 40.0 + np.log(a.size)
    low, high = -top - reach, -a.min() + reach
    odds = np.exp(a - top)
    log_r = min(max(np.log(degree / odds.sum()) - top, low), high)
    at = -top  # of these odds
    for _ in range(200):
        if abs(log_r - at) > 30.0:
            at = log_r
            for token in range(a.size):
                odds[token] = np.exp(min(a[token] + at, 650.0))  # times e³⁰ at most
        factor = np.exp(log_r - at)
        expected = variance = 0.0
        for token in range(a.size):
            p = odds[token] * factor
            p = p / (1.0 + p)
            taken[token] = p
            expected += p
            variance += p * (1.0 - p)
        gap = expected - degree
        if abs(gap) <= 0.3 + 0.5 * np.sqrt(variance):
            break
        if gap > 0.0:
            high = log_r
        else:
            low = log_r
        log_r -= gap / max(variance, 1e-300)
        if variance < 0.1 or not low < log_r < high:
            log_r = 0.5 * (low + high)
    return log_r


@njit(error_model="numpy")
def _count(taken, degree, chances):  # type: ignore[no-untyped-def]
    """Return the probability that exactly ``degree`` are taken; fill the chances given that."""
    n_tokens = taken.size
    rows = n_tokens if chances.size else 0
    before = np.empty((rows, degree))  # probability of each number before a token
    now = np.zeros(degree + 1)
    now[0] = 1.0
    for token in range(n_tokens):
        if chances.size:
            before[token] = now[:degree]
        p = taken[token]
        for j in range(degree, 0, -1):
            now[j] = (1.0 - p) * now[j] + p * now[j - 1]
        now[0] *= 1.0 - p
    if chances.size:
        after = np.zeros(degree)  # probability of each number after a token
        after[0] = 1.0
        for token in range(n_tokens - 1, -1, -1):
            p, others = taken[token], 0.0
            for j in range(degree):
                others += before[token, j] * after[degree - 1 - j]
            chances[token] = min(p * others / now[degree], 1.0)
            for j in range(degree - 1, 0, -1):
                after[j] = (1.0 - p) * after[j] + p * after[j - 1]
            after[0] *= 1.0 - p
    return now[degree]
