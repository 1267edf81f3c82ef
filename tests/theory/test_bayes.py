"""The error of the likelihood ratio against simulation."""

import math
from dataclasses import replace

import numpy as np
import pytest
from statistical import Z_LIMIT, quick_first, standard_score

from sparsetoken import Population, SparseTokenProblem
from sparsetoken.theory import oracle_error
from sparsetoken.theory.token_scores import log_likelihood_ratio

RUNS = SparseTokenProblem(12, 3, 1.5, 0.4, contiguous=True)


def scattered(problem):
    return replace(problem, contiguous=False)


@pytest.mark.statistical
def test_bayes_error_of_rare_classes_against_simulation():
    """Many negatives, few positives: plain Monte Carlo of the rule itself."""
    problem, rng = SparseTokenProblem(5, 1, 4.0, 0.01), np.random.default_rng(0)
    x = rng.standard_normal((400_000, 5))
    positive = np.arange(400_000) < 20_000
    x[positive, 0] += 4.0
    called = log_likelihood_ratio(x, problem) + math.log(0.01 / 0.99) > 0
    missed, alarm = (~called[positive]).mean(), called[~positive].mean()
    error = 0.01 * missed + 0.99 * alarm
    noise = math.hypot(
        0.01 * math.sqrt(missed * (1 - missed) / 20_000), 0.99 * math.sqrt(alarm / 380_000)
    )
    found = oracle_error(problem, "bayes")
    assert abs(found - error) < Z_LIMIT * math.hypot(noise, found.uncertainty)


def test_bayes_error_against_simulation():
    problem = SparseTokenProblem(12, 2, 2.0, 0.3)
    X, y = problem.sample(60_000, 1, random_state=0, direction=[1.0])
    odds = log_likelihood_ratio(X[:, :, 0], problem) + math.log(0.3 / 0.7)
    wrong = (odds > 0) != (y == 1)
    assert abs(standard_score(wrong, oracle_error(problem, "bayes"))) < Z_LIMIT


@pytest.mark.parametrize(
    "problem",
    quick_first(
        [
            RUNS,
            Population([RUNS, SparseTokenProblem(12, 2, 2.5), SparseTokenProblem(5, 2, 2.0, 0.3)]),
        ]
    ),
    ids=["one kind", "among others"],
)
def test_bayes_error_of_runs_against_simulation(problem):
    X, y = problem.sample(60_000, 1, random_state=0, direction=[1.0])
    wrong = np.zeros(len(y), dtype=bool)
    for length in {kind.n_tokens for kind in problem.kinds}:
        of_length = np.array([len(x) == length for x in X])
        x = np.stack([one[:, 0] for one, yes in zip(X, of_length, strict=True) if yes])
        kinds = [kind for kind in problem.kinds if kind.n_tokens == length]
        positive = sum(k.positive_rate * np.exp(log_likelihood_ratio(x, k)) for k in kinds)
        negative = sum(1.0 - kind.positive_rate for kind in kinds)
        wrong[of_length] = (positive > negative) != (y[of_length] == 1)
    found = oracle_error(problem, "bayes")
    noise = wrong.std() / math.sqrt(wrong.size)
    assert abs(wrong.mean() - found) < Z_LIMIT * math.hypot(noise, found.uncertainty)
    assert found < oracle_error(problem.map(scattered), "bayes")
