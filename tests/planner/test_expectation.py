"""What is expected of a finite sample is what trained classifiers do."""

from dataclasses import replace

import numpy as np
import pytest

import sparsetoken as st
from planner.examples import (
    EASY,
    MIXED,
)
from sparsetoken.planner.expectation import bias_noise, cosine_quantiles
from sparsetoken.sampling import sample_query
from sparsetoken.theory.two_steps import possible_rates


def test_chance_adds_to_the_limit_and_vanishes_with_size(attention):
    assert 1.05 * attention.limit_error < attention.error < 1.5 * attention.limit_error
    larger = st.plan(**{**EASY, "dim": 100_000}, n_samples=1000 * attention.n_samples)
    assert larger.error == pytest.approx(larger.limit_error, rel=3e-3)


def achieved(planned, trials):
    """Mean and standard error of the error of the planned classifier on fresh dense samples."""
    errors = []
    for seed in range(trials):
        X, y, truth = planned.problem.sample(
            planned.n_samples, planned.dim, random_state=seed, return_truth=True
        )
        clf = planned.classifier().fit(X, y)
        fresh, labels = planned.problem.sample(
            2000, planned.dim, random_state=[seed, 1], direction=truth.direction
        )
        errors.append(1 - clf.score(fresh, labels))
    return np.mean(errors), np.std(errors, ddof=1) / np.sqrt(trials)


@pytest.mark.statistical
def test_the_plan_is_true_at_small_size(attention):
    """The planned protocol, on dense samples, gives the planned error and not the limit."""
    error, spread = achieved(attention, 24)
    assert abs(error - attention.error) < 3 * spread + 0.05 * attention.error


@pytest.mark.statistical
def test_few_samples_are_planned_as_they_are():
    """The bias of a few samples is off by chance; the limit knows nothing of that."""
    planned = st.plan(dim=80, n_tokens=4, n_signal=2, signal=4.0, n_samples=30, model="pooled")
    error, spread = achieved(planned, 60)
    assert error - planned.limit_error > 3 * spread
    assert abs(error - planned.error) < 3 * spread + 0.05 * planned.error


@pytest.mark.statistical
def test_noise_of_the_bias_is_that_of_trained_classifiers():
    problem = st.SparseTokenProblem(4, 2, 4.0, 0.4)
    biases = []
    for seed in range(200):
        X, y = problem.sample(60, 30, random_state=seed)
        biases.append(st.PooledClassifier(reg=0.01).fit(X, y).intercept_)
    predicted = bias_noise(st.theory.risk(problem, "pooled", alpha=2.0, reg=0.01), 60)
    # With the readout held fixed: that it moves too adds some.
    assert 0.7 < predicted / np.std(biases) < 1.1


@pytest.mark.statistical
def test_the_positive_rate_of_a_sample_moves_the_query():
    problem = st.SparseTokenProblem(20, 2, 4.0, 0.7)
    rates = {"lr_readout": 0.1, "lr_bias": 2.5, "lr_query": 1.0}
    learned = [
        st.theory.alignment(replace(problem, positive_rate=rate), alpha=0.4, **rates)
        for rate in (0.7, *possible_rates(0.7, 120))
    ]
    low, high = cosine_quantiles(learned[0], learned[1:], 300)
    cosines = [
        sample_query(
            problem, 120, 300, loss=st.losses.Logistic(), random_state=seed, **rates
        ).cosine
        for seed in range(400)
    ]
    assert np.mean(cosines) == pytest.approx(0.5 * (low + high), abs=0.01)
    assert np.std(cosines) == pytest.approx(0.5 * (high - low), rel=0.15)


@pytest.mark.statistical
def test_plan_of_a_population_is_what_simulation_finds():
    from sparsetoken.experiments import compute, make_cell

    plan = st.plan(problem=MIXED, n_samples=60, dim=20, model="pooled")
    assert "of 12 tokens" in plan.summary()
    values = {"kinds": MIXED, "model": "pooled", "alpha": 3.0, "dim": 20, "trials": 400}
    simulated = compute(make_cell("simulation", ["test_error"], values | plan.settings))[
        "test_error"
    ]
    assert abs(simulated - plan.error) < 4 * simulated.uncertainty + 0.02 * plan.error
    assert abs(simulated - 1.1 * plan.error) > 4 * simulated.uncertainty  # it would see that
