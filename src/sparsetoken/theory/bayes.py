"""The likelihood ratio, and the error of the rule that uses it: the floor for any classifier."""

import math
from collections import Counter
from dataclasses import replace

import numpy as np
from numba import njit
from numpy.typing import ArrayLike, NDArray
from scipy.special import gammaln

from sparsetoken.estimate import Estimate
from sparsetoken.population import AnyProblem
from sparsetoken.problem import SparseTokenProblem
from sparsetoken.theory.points import BATCHES, token_noise

__all__ = [
    "bayes_error",
    "error_shares",
    "kinds_by_length",
    "log_likelihood_ratio",
    "standard_error",
    "token_scores",
]

Array = NDArray[np.float64]


def bayes_error(problem: AnyProblem, n_points: int) -> Estimate:
    """Return the least error of any rule that sees the tokens along the signal."""
    batches = []
    for batch in range(BATCHES):
        missed, alarm = error_shares(problem, token_scores(problem, n_points, batch))
        batches.append(float(np.minimum(missed, alarm).mean()))
    size = BATCHES * missed.size
    return Estimate(float(np.mean(batches)), standard_error(batches, problem.positive_rate, size))


def standard_error(batches: ArrayLike, rate: float, n_points: int) -> float:
    """Return the error of the mean, with what is too rare for the points to show."""
    unseen = 0.02 * min(rate, 1.0 - rate) / n_points
    return math.hypot(
        float(np.std(np.asarray(batches, dtype=float), ddof=1)) / math.sqrt(BATCHES), unseen
    )


def token_scores(problem: AnyProblem, n_points: int, batch: int) -> list[Array]:
    """Return tokens along the signal, one row per sample, for each length.

    Of each kind positives come first, then as many negatives. The columns of the signal tokens come
    first.
    """
    by_length = kinds_by_length(problem)
    found = []
    for kinds in by_length.values():
        rows = []
        each = max(n_points // (len(by_length) * len(kinds)), min(n_points, 256))
        drawn: Counter[int] = Counter()
        for kind in kinds:
            noise = token_noise(kind, each, batch + BATCHES * drawn[kind.n_signal])
            drawn[kind.n_signal] += 1
            positive = noise.copy()
            positive[:, : kind.n_signal] += kind.signal
            rows += [positive, noise]
        found.append(np.concatenate(rows))
    return found


def error_shares(problem: AnyProblem, scores: list[Array]) -> tuple[Array, Array]:
    """Return what each sample adds to the mean error if it is called negative, and if positive.

    With m₊ and m₋ the densities of samples of a length recorded as positive and as negative, the
    error of a rule is the average of m₊/p or m₋/p under any density p. That of the rows is an equal
    mixture of both true classes: each is drawn equally often however rare it is.
    """
    missed, invented = getattr(problem, "label_errors", (0.0, 0.0))
    total = sum(map(len, scores))
    shares = []
    for (length, kinds), x in zip(kinds_by_length(problem).items(), scores, strict=True):
        logs = np.stack([np.zeros(len(x)), *(log_likelihood_ratio(x, kind) for kind in kinds)])
        ratios = np.exp(logs - logs.max(axis=0))
        density = 0.5 * ratios[0] + 0.5 * ratios[1:].mean(axis=0)
        positive, negative = 0.0, 0.0
        for kind, carries, _, probability in problem.groups:
            if carries and kind.n_tokens == length:
                index = kinds.index(replace(kind, positive_rate=0.5))
                positive = positive + probability * ratios[1 + index]
            elif kind.n_tokens == length:
                negative = negative + probability * ratios[0]
        shares.append(
            [
                ((1.0 - missed) * positive + invented * negative) / density * (total / len(x)),
                (missed * positive + (1.0 - invented) * negative) / density * (total / len(x)),
            ]
        )
    found = [np.concatenate(column) for column in zip(*shares, strict=True)]
    return found[0], found[1]


def kinds_by_length(problem: AnyProblem) -> dict[int, list[SparseTokenProblem]]:
    """Return the kinds that differ in more than their positive rate."""
    found: dict[int, list[SparseTokenProblem]] = {}
    for kind in dict.fromkeys(replace(kind, positive_rate=0.5) for kind in problem.kinds):
        found.setdefault(kind.n_tokens, []).append(kind)
    return found


def log_likelihood_ratio(x: Array, problem: SparseTokenProblem) -> Array:
    """Log of e_R(e^{θx₁}, …, e^{θx_L}) / C(L, R) · e^{−Rθ²/2} for each row of tokens."""
    n_tokens, n_signal, signal = problem.n_tokens, problem.n_signal, problem.signal
    result = np.empty(len(x))
    if 2 * n_signal <= n_tokens:
        _log_symmetric(signal * x, n_signal, result)
    else:  # leave out L − R tokens instead of choosing R
        _log_symmetric(-signal * x, n_tokens - n_signal, result)
        result += signal * x.sum(axis=1)
    subsets = gammaln(n_tokens + 1) - gammaln(n_signal + 1) - gammaln(n_tokens - n_signal + 1)
    return result - subsets - 0.5 * n_signal * signal**2


@njit(cache=True, error_model="numpy")
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
        taken = _probability(chance, degree, gap, variance, counts)
        result[i] = total + np.log(product) + np.log(taken)


@njit(cache=True, error_model="numpy")
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


@njit(cache=True, error_model="numpy")
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
        share = spread / max(variance, 1e-300)
        middle = expected - gap * share
        width = 9.0 * np.sqrt(max(spread * (1.0 - share), 0.0)) + 14.0
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
