"""What is expected of a finite sample is what trained classifiers do."""

import math
from dataclasses import replace

import numpy as np
import pytest

import sparsetoken as st
from planner.examples import (
    EASY,
    ERROR,
    MIXED,
    POOLED,
)
from sparsetoken.models.two_step import cosine_quantiles
from sparsetoken.planner.expected import Study, bias_noise
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

    plan = st.plan(problem=MIXED, n_samples=80, dim=20, model="pooled")
    assert "40 % of 12 tokens" in plan.summary()
    values = {"kinds": MIXED, "model": "pooled", "alpha": 4.0, "dim": 20, "trials": 400}
    simulated = compute(make_cell("simulation", ["test_error"], values | plan.settings))[
        "test_error"
    ]
    assert abs(simulated - plan.error) < 4 * simulated.uncertainty + 0.02 * plan.error
    assert abs(simulated - 1.1 * plan.error) > 4 * simulated.uncertainty  # it would see that


def test_limit_is_the_theory_at_the_settings(attention):
    settings = dict(attention.settings)
    clf = attention.classifier(random_state=3)
    assert isinstance(clf, st.TwoStepAttentionClassifier)
    assert clf.get_params() == {**type(clf)().get_params(), **settings, "random_state": 3}
    split = settings.pop("split")
    alpha = attention.n_samples / attention.dim
    exact = st.theory.two_step_risk(
        attention.problem, alpha0=split * alpha, alpha1=(1 - split) * alpha, **settings
    )
    assert attention.limit_error == pytest.approx(exact.test_error, rel=1e-6)
    pooled = st.plan(**POOLED, n_samples=200, model="pooled")
    exact = st.theory.risk(pooled.problem, "pooled", alpha=4.0, **pooled.settings)
    assert pooled.limit_error == exact.test_error


def test_settings_beat_the_defaults_and_their_neighbors(attention):
    alpha = attention.n_samples / attention.dim
    problem = attention.problem

    def error(**settings):
        split = settings.pop("split")
        halves = {"alpha0": split * alpha, "alpha1": (1 - split) * alpha}
        return st.theory.two_step_risk(problem, **halves, **settings).test_error

    settings = attention.settings
    assert attention.limit_error < error(split=0.5, reg=1e-2)
    for change in (
        {"split": 0.5 * settings["split"]},
        {"lr_query": 3 * settings["lr_query"]},
        {"lr_query": settings["lr_query"] / 3},
        {"reg": settings["reg"] / 30},
        {"lr_bias": 0.3 * settings["lr_bias"]},
        {"lr_bias": 3 * settings["lr_bias"]},
    ):
        assert attention.limit_error < error(**{**settings, **change}), change


def test_a_plan_for_the_best_learner():
    asked = {"dim": 200, "n_tokens": 20, "signal": 4.0, "positive_rate": 0.3}
    plan = st.plan(**asked, error=0.1, model="optimal")
    needs = f"The best learner needs at least {plan.n_samples} labelled sequences"
    assert plan.answer == f"{needs} for a 10 % test error."
    errors = [
        st.theory.optimal(plan.problem, n / 200).test_error
        for n in (plan.n_samples, plan.n_samples - 1)
    ]
    assert plan.error == errors[0] <= 0.1 < errors[1]
    assert plan.least_samples == plan.n_samples
    fewer = f"fewer than {plan.n_samples} labelled sequences."
    assert plan.floor == f"No learner reaches a 10 % test error with {fewer}"
    assert "settings" not in plan.summary().lower()
    assert "optimal" not in plan.alternatives


def test_a_plan_for_a_hard_problem_knows_what_is_quick():
    asked = {"dim": 100, "n_tokens": 1000, "signal": 5.0}
    plan = st.plan(**asked, error=0.15, model="optimal")
    thresholds = st.theory.learning_thresholds(plan.problem)
    assert plan.n_samples == math.ceil(100 * thresholds.iteration)
    assert plan.least_samples < 0.6 * plan.n_samples


def test_the_best_learner_sees_runs():
    scattered = st.SparseTokenProblem(40, 4, 2.0)
    plans = [
        st.plan(problem=problem, dim=50, n_samples=100, model="optimal")
        for problem in (scattered, replace(scattered, contiguous=True))
    ]
    assert plans[1].error < 0.7 * plans[0].error
    assert plans[1].problem.contiguous


def test_a_study_has_the_unknown_and_all_that_is_known():
    problem = st.SparseTokenProblem(4, 2, 1.0, 0.4)
    study = Study(problem, 100, 50, st.models.get("pooled"), ERROR, 0.1, "n_samples")
    assert (study.at(200).n_samples, study.at(200).alpha) == (200, 4.0)
    assert replace(study, unknown="n_tokens").at(9).problem.n_tokens == 9
    assert replace(study, unknown="signal").at(2.5).problem.signal == 2.5
