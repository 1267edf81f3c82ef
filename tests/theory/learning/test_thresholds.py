"""Thresholds of learning against a scan of the optimum, and closed forms."""

import math

import numpy as np
import pytest

from sparsetoken import Population, SparseTokenProblem
from sparsetoken.theory import learning_thresholds, optimal


def scanned(problem, near):
    """Return where the optimum's cosine rises fastest with log alpha: a scan of its own."""
    alphas = near * np.exp(np.linspace(-1.0, 1.0, 161))
    logs = np.log(alphas)
    cosines = np.array([best.cosine for best in optimal(problem, alphas, n_points=512)])
    slopes = np.diff(cosines) / np.diff(logs)
    top = int(np.argmax(slopes))
    assert 0 < top < slopes.size - 1, "the steepest place is inside the scan"
    a, b, c = slopes[top - 1 : top + 2]
    middle = 0.5 * (logs[top] + logs[top + 1])
    return math.exp(middle + 0.5 * (a - c) / (a - 2 * b + c) * (logs[1] - logs[0]))


def smooth_problems():
    """Twenty problems without a hard range, weak signals among them."""
    rng = np.random.default_rng(7)
    problems = [SparseTokenProblem(10, 1, 0.3), SparseTokenProblem(1, 1, 5.0)]
    for index in range(18):
        n_tokens = int(rng.integers(1, 13))
        n_signal = int(rng.integers(1, n_tokens + 1)) if index % 3 == 0 else 1
        signal, rate = float(rng.uniform(0.1, 3.0)), float(rng.uniform(0.1, 0.9))
        problems.append(SparseTokenProblem(n_tokens, n_signal, signal, rate))
    return problems


PROBLEMS = smooth_problems()


@pytest.mark.parametrize(
    "problem",
    [
        *PROBLEMS[:4],
        *(pytest.param(each, marks=pytest.mark.statistical) for each in PROBLEMS[4:]),
    ],
    ids=str,
)
def test_without_a_hard_range_the_cosine_rises_fastest_there(problem):
    found = learning_thresholds(problem, n_points=512)
    assert not found.hard
    assert found.information == found.iteration
    assert "no threshold: the cosine rises fastest at" in repr(found)
    own = scanned(problem, found.information)
    assert found.information == pytest.approx(own, rel=0.01)


@pytest.mark.parametrize(
    "problem", [SparseTokenProblem(1, 1, 5.0), SparseTokenProblem(7, 7, 0.4, 0.2)], ids=str
)
def test_signal_in_all_tokens_closed_form(problem):
    """Then M = x/(1 + x) with x = απRθ², and √M rises fastest with log x at x = ½."""
    expected = 1.0 / (2.0 * problem.positive_rate * problem.n_signal * problem.signal**2)
    found = learning_thresholds(problem)
    assert found.iteration == pytest.approx(expected, rel=1e-6)
    assert found.iteration.uncertainty < 1e-4 * expected


def test_weak_signals_are_as_good_as_their_mean_token():
    """Without knowledge each token is the signal with probability R/L: x = απR²θ²/L."""
    found = learning_thresholds(SparseTokenProblem(10, 1, 0.01, 0.3))
    assert found.information == pytest.approx(10 / (2.0 * 0.3 * 0.01**2), rel=1e-3)


def test_no_signal_no_threshold():
    for problem in (SparseTokenProblem(10, 1, 0.0), Population([SparseTokenProblem(3, 2, 0.0)])):
        found = learning_thresholds(problem)
        assert found.information == found.iteration == math.inf
        assert not found.hard
        assert repr(found) == "LearningThresholds(no threshold: nothing to learn)"
