"""The settings of a plan are the best, and the theory agrees with them."""

import math
from dataclasses import replace

import pytest

import sparsetoken as st
from planner.examples import (
    POOLED,
)


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
    assert plan.n_samples < st.plan(**asked, error=0.1, model="best").n_samples


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
