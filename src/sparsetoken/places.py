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

_FEW, _NEAR = 8, 70.0  # so many exponents within this range have sums in the range of floats


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
    log_places = _log_places(n_tokens, n_signal)
    if 2 * n_signal <= n_tokens:
        return _weigh_subsets(exponents, n_signal, chances) - log_places
    # Leave out L − R tokens instead of choosing R.
    total = _weigh_subsets(-exponents, n_tokens - n_signal, chances) + exponents.sum()
    chances[:] = 1.0 - chances
    return total - log_places


@njit(error_model="numpy")
def _log_places(n_tokens, n_signal):  # type: ignore[no-untyped-def]
    """Return the log of the number of subsets."""
    if n_signal > _FEW:
        all_orders = math.lgamma(n_tokens + 1.0) - math.lgamma(n_tokens - n_signal + 1.0)
        return all_orders - math.lgamma(n_signal + 1.0)
    places = 1.0
    for j in range(n_signal):
        places *= (n_tokens - j) / (j + 1.0)
    return np.log(places)


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
    if degree <= _FEW and exponents.max() - exponents.min() < _NEAR:
        return _weigh_few(exponents, degree, chances)
    taken = np.empty(exponents.size)
    log_r, gap, variance = _balance(exponents, degree, taken)
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
    probability = _count(taken, degree, gap, variance, chances)
    return total - np.log(product) + np.log(probability)


@njit(error_model="numpy")
def _weigh_few(exponents, degree, chances):  # type: ignore[no-untyped-def]
    """Do the same for few tokens of like exponents, whose products neither vanish nor overflow."""
    n_tokens, top = exponents.size, exponents.max()
    weights = np.exp(exponents - top)
    before = np.zeros((n_tokens + 1, degree + 1))  # sums over subsets of the tokens before
    before[:, 0] = 1.0
    for token in range(n_tokens):
        for j in range(1, degree + 1):
            before[token + 1, j] = before[token, j] + before[token, j - 1] * weights[token]
    total = before[n_tokens, degree]
    if chances.size:
        after = np.zeros(degree)
        after[0] = 1.0
        for token in range(n_tokens - 1, -1, -1):
            others = 0.0
            for j in range(degree):
                others += before[token, j] * after[degree - 1 - j]
            for j in range(degree - 1, 0, -1):
                after[j] += after[j - 1] * weights[token]
            chances[token] = weights[token] * others / total
    return degree * top + np.log(total)


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
    return log_r, gap, variance


@njit(error_model="numpy")
def _count(taken, degree, gap, variance, chances):  # type: ignore[no-untyped-def]
    """Return the probability that exactly ``degree`` are taken; fill the chances given that.

    Of the numbers taken so far only those are followed that lie within nine deviations of what is
    expected on the way to ``degree``.
    """
    n_tokens = taken.size
    width = min(degree, 2 * int(9.0 * np.sqrt(0.25 * variance)) + 32) + 1
    rows = n_tokens + 1 if chances.size else 1
    lows = np.zeros(n_tokens + 1, dtype=np.int64)  # the smallest number followed
    before = np.zeros((rows, width))  # probability of each number before a token
    now = np.zeros(width + 1)
    now[0] = 1.0
    expected = spread = 0.0
    for token in range(n_tokens):
        p = taken[token]
        if chances.size:
            before[token] = now[:width]
        expected += p
        spread += p * (1.0 - p)
        passed = spread / max(variance, 1e-300)
        middle = expected - gap * passed
        reach = 9.0 * np.sqrt(max(spread * (1.0 - passed), 0.0)) + 14.0
        low = max(lows[token], int(middle - reach), degree - (n_tokens - token - 1))
        low = min(low, lows[token] + 1)
        step = low - lows[token]
        lows[token + 1] = low
        if step == 0:
            for j in range(width - 1, 0, -1):
                now[j] = (1.0 - p) * now[j] + p * now[j - 1]
            now[0] *= 1.0 - p
        else:
            for j in range(width):
                now[j] = (1.0 - p) * now[j + 1] + p * now[j]
    probability = now[degree - lows[n_tokens]]
    if chances.size:
        _look_back(taken, degree, lows, before, probability, chances)
    return probability


@njit(error_model="numpy")
def _look_back(taken, degree, lows, before, probability, chances):  # type: ignore[no-untyped-def]
    """Fill each token's chance: those before it and after it make up ``degree`` with it."""
    width = before.shape[1]
    after = np.zeros(width + 1)  # probability that the rest is taken, by the number before it
    after[degree - lows[taken.size]] = 1.0
    for token in range(taken.size - 1, -1, -1):
        p, step = taken[token], lows[token + 1] - lows[token]
        chance = 0.0
        for j in range(width):  # of numbers before the token
            with_it = after[j + 1 - step] if j + 1 - step < width else 0.0
            chance += before[token, j] * with_it
        chances[token] = min(chance * p / probability, 1.0)
        if step == 0:
            for j in range(width):
                after[j] = (1.0 - p) * after[j] + p * after[j + 1]
        else:
            for j in range(width - 1, 0, -1):
                after[j] = (1.0 - p) * after[j - 1] + p * after[j]
            after[0] *= p
