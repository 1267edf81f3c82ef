"""Means over the places of the signal, and the tokens' chances, against enumeration."""

import itertools
import math

import numpy as np
import pytest

from sparsetoken.places import log_mean_over_places, weigh_places


@pytest.mark.parametrize(
    ("n_signal", "contiguous"),
    [(1, False), (2, False), (4, False), (6, False), (1, True), (3, True), (6, True)],
)
@pytest.mark.parametrize("scale", [0.0, 1.0, 300.0])
def test_places_against_enumeration(n_signal, contiguous, scale):
    exponents = scale * np.random.default_rng(0).standard_normal((5, 6))
    subsets = list(itertools.combinations(range(6), n_signal))
    if contiguous:
        subsets = [s for s in subsets if s[-1] - s[0] == n_signal - 1]
    members = np.array([[token in subset for token in range(6)] for subset in subsets])
    sums = exponents @ members.T
    top = sums.max(axis=1, keepdims=True)
    weights = np.exp(sums - top)
    log_mean, chances = weigh_places(exponents, n_signal, contiguous)
    assert log_mean == pytest.approx(top[:, 0] + np.log(weights.mean(axis=1)), abs=1e-9)
    assert chances == pytest.approx(weights @ members / weights.sum(axis=1, keepdims=True))
    assert log_mean_over_places(exponents, n_signal, contiguous) == pytest.approx(log_mean)


def test_places_of_several_kinds_are_those_of_each():
    exponents = np.random.default_rng(2).standard_normal((4, 3, 5))
    log_mean, chances = weigh_places(exponents.reshape(4, 15), 2, n_kinds=3)
    logs, each = zip(*(weigh_places(exponents[:, k], 2) for k in range(3)), strict=True)
    weights = np.exp(logs)
    assert np.exp(log_mean) == pytest.approx(weights.mean(axis=0))
    assert log_mean_over_places(exponents.reshape(4, 15), 2, n_kinds=3) == pytest.approx(log_mean)
    joint = (weights / weights.sum(axis=0))[..., np.newaxis] * each
    assert chances == pytest.approx(np.moveaxis(joint, 0, 1).reshape(4, 15))


def log_symmetric(exponents, degree):
    """Log of the elementary symmetric polynomial by the textbook recursion, in logarithms."""
    sums = np.full(degree + 1, -np.inf)
    sums[0] = 0.0
    for exponent in exponents:
        sums[1:] = np.logaddexp(sums[1:], sums[:-1] + exponent)
    return sums[degree]


@pytest.mark.parametrize(
    ("n_tokens", "n_signal", "signal"),
    [
        (1, 1, 2.0),
        (7, 3, 0.0),
        (37, 18, 1e3),
        (50, 2, 1e6),
        (200, 3, 4.0),
        (201, 100, 0.5),
        (300, 297, 2.0),
        (800, 300, 0.2),  # the number taken varies much
        (800, 620, 0.2),
    ],
)
def test_places_against_the_recursion(n_tokens, n_signal, signal):
    exponents = np.random.default_rng(1).standard_normal((4, n_tokens))
    exponents[:2, :n_signal] += signal
    exponents *= signal
    subsets = math.lgamma(n_tokens + 1) - math.lgamma(n_signal + 1)
    subsets -= math.lgamma(n_tokens - n_signal + 1)
    log_mean, chances = weigh_places(exponents, n_signal)
    for row, log_sum in zip(exponents, log_mean + subsets, strict=True):
        assert log_sum == pytest.approx(log_symmetric(row, n_signal), rel=1e-12, abs=1e-11)
    others = log_symmetric(exponents[0, 1:], n_signal - 1)
    expected = math.exp(exponents[0, 0] + others - log_symmetric(exponents[0], n_signal))
    assert chances[0, 0] == pytest.approx(expected, abs=1e-8)
    assert chances.sum(axis=1) == pytest.approx(n_signal, abs=n_signal * 1e-11)


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_runs_are_stable(scale):
    exponents = scale * np.random.default_rng(0).standard_normal((5, 12))
    log_mean, chances = weigh_places(exponents, 3, True)
    assert np.isfinite(log_mean).all()
    assert chances.min() >= 0.0
    assert chances.sum(axis=1) == pytest.approx(3.0)
    assert weigh_places(exponents, 1, True)[0] == pytest.approx(weigh_places(exponents, 1)[0])


def test_long_and_short_sequences():
    exponents = np.random.default_rng(0).standard_normal((1, 100_000))
    log_mean, chances = weigh_places(exponents, 2)
    sums = np.exp(exponents).sum(), np.exp(2 * exponents).sum()
    pairs = 100_000 * 99_999
    assert log_mean[0] == pytest.approx(math.log((sums[0] ** 2 - sums[1]) / pairs), rel=1e-9)
    assert chances.sum() == pytest.approx(2.0)
    # Of fewer tokens than signal tokens all carry it.
    assert weigh_places(np.array([[1.0, 2.0]]), 3)[0] == 3.0
