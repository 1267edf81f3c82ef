import itertools
import math
from dataclasses import replace

import numpy as np
import pytest

from sparsetoken import SparseTokenProblem
from sparsetoken.theory.likelihood import log_likelihood_ratio


def test_likelihood_ratio_against_enumeration():
    problem = SparseTokenProblem(6, 3, 1.5)
    x = np.random.default_rng(0).normal(0, 3, (20, 6))
    subsets = list(itertools.combinations(range(6), 3))
    shifts = np.array([[1.5 * (i in subset) for i in range(6)] for subset in subsets])
    ratios = np.exp(x @ shifts.T - 0.5 * (shifts**2).sum(axis=1)).mean(axis=1)
    assert log_likelihood_ratio(x, problem) == pytest.approx(np.log(ratios), rel=1e-10)


def log_symmetric(exponents, degree):
    """Log of the elementary symmetric polynomial by the textbook recursion, in logarithms."""
    sums = np.full(degree + 1, -np.inf)
    sums[0] = 0.0
    for exponent in exponents:
        sums[1:] = np.logaddexp(sums[1:], sums[:-1] + exponent)
    return sums[degree]


@pytest.mark.parametrize(
    ("n_tokens", "n_signal", "signal"),
    [(1, 1, 2.0), (7, 3, 0.0), (37, 18, 1e3), (200, 3, 4.0), (201, 100, 0.5), (300, 297, 2.0)],
)
def test_likelihood_ratio_against_the_recursion(n_tokens, n_signal, signal):
    problem, rng = SparseTokenProblem(n_tokens, n_signal, signal), np.random.default_rng(1)
    x = rng.standard_normal((6, n_tokens))
    x[:3, :n_signal] += signal
    subsets = math.log(math.comb(n_tokens, n_signal))
    expected = [
        log_symmetric(signal * row, n_signal) - subsets - 0.5 * n_signal * signal**2 for row in x
    ]
    assert log_likelihood_ratio(x, problem) == pytest.approx(expected, rel=1e-12, abs=1e-11)


RUNS = SparseTokenProblem(12, 3, 1.5, 0.4, contiguous=True)


def test_likelihood_ratio_of_runs_against_enumeration():
    x = np.random.default_rng(0).normal(0, 3, (20, 12))
    windows = [[1.5 * (start <= i < start + 3) for i in range(12)] for start in range(10)]
    ratios = np.exp(x @ np.array(windows).T - 0.5 * 3 * 1.5**2).mean(axis=1)
    assert log_likelihood_ratio(x, RUNS) == pytest.approx(np.log(ratios), rel=1e-10)


@pytest.mark.parametrize("signal", [1e-3, 1.0, 1e3])
def test_likelihood_ratio_of_runs_is_stable(signal):
    problem = replace(RUNS, signal=signal)
    x = np.random.default_rng(0).standard_normal((5, 12))
    x[:3, 4:7] += signal
    found = log_likelihood_ratio(x, problem)
    assert np.isfinite(found).all()
    single = SparseTokenProblem(12, 1, signal)
    runs_of_one = replace(single, contiguous=True)
    assert log_likelihood_ratio(x, runs_of_one) == pytest.approx(log_likelihood_ratio(x, single))


@pytest.mark.parametrize(("n_tokens", "n_signal"), [(300, 110), (500, 380)])
def test_likelihood_ratio_with_many_signal_tokens_against_the_recursion(n_tokens, n_signal):
    """Where the number of tokens taken varies much, its law is expanded."""
    problem, rng = SparseTokenProblem(n_tokens, n_signal, 0.2), np.random.default_rng(1)
    x = rng.standard_normal((3, n_tokens))
    subsets = math.lgamma(n_tokens + 1) - math.lgamma(n_signal + 1)
    subsets -= math.lgamma(n_tokens - n_signal + 1)
    expected = [log_symmetric(0.2 * row, n_signal) - subsets - 0.02 * n_signal for row in x]
    assert log_likelihood_ratio(x, problem) == pytest.approx(expected, abs=2e-6)
