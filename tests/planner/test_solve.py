"""Solving for the unknown and predicting there agree; the root finder on known functions."""

import math

import pytest

import sparsetoken as st
from planner.examples import (
    EASY,
    MIXED,
    POOLED,
    ROUND_TRIP,
)
from sparsetoken.planner.solve import _root


def excess(value):
    return math.log(3.0 / value)  # met from 3 on


def test_the_root_is_where_the_shifted_excess_vanishes():
    assert _root(excess, 1.0, 10.0) == pytest.approx(3.0, rel=2e-4)
    assert _root(excess, 10.0, 1.0, shift=0.5) == pytest.approx(3.0 * math.exp(0.5), rel=2e-4)


def test_without_a_change_of_sign_the_better_end_is_the_root():
    assert _root(excess, 3.1, 10.0) == pytest.approx(3.1)
    assert _root(excess, 1.0, 2.9) == pytest.approx(2.9)


def test_solving_for_samples_and_predicting_there_agree(attention):
    assert isinstance(attention.n_samples, int)
    assert attention.error <= 0.05 * (1 + 1e-3)
    assert attention.error > 0.05 * (1 - 2.0 / attention.n_samples * 5)  # one sample changes little
    back = st.plan(**EASY, n_samples=attention.n_samples)
    assert back.error == pytest.approx(attention.error, rel=ROUND_TRIP)
    assert back.solved_for == "error"
    assert 0 < attention.error.uncertainty < 1e-3


@pytest.mark.parametrize("unknown", ["dim", "signal"])
@pytest.mark.statistical
def test_round_trip_of_attention(attention, unknown):
    asked = {**EASY, unknown: None}
    plan = st.plan(**asked, n_samples=attention.n_samples, error=0.05)
    assert getattr(plan, unknown) == pytest.approx(EASY[unknown], rel=0.02)
    assert plan.error == pytest.approx(0.05, rel=ROUND_TRIP)


@pytest.mark.statistical
def test_whole_numbers_of_attention(attention):
    unknown = "n_signal"  # linear models have the test of the others
    target = 0.05 * (1 + ROUND_TRIP)
    asked = {**EASY, unknown: None}
    plan = st.plan(**asked, n_samples=attention.n_samples, error=target)
    assert getattr(plan, unknown) == EASY[unknown]
    assert plan.error == pytest.approx(attention.error, rel=ROUND_TRIP)


@pytest.mark.statistical
def test_how_rare_positives_may_be_for_attention():
    full = {**EASY, "n_samples": 300, "positive_rate": 0.2, "metric": "auc"}
    target = st.plan(**full).error
    plan = st.plan(**{**full, "positive_rate": None}, error=target)
    assert plan.positive_rate == pytest.approx(0.2, rel=0.03)
    assert abs(plan.error - target) < plan.error.uncertainty
    assert 0 < plan.error.uncertainty < 0.1 * target


@pytest.mark.parametrize("model", ["pooled", "vectorized"])
@pytest.mark.parametrize(
    "unknown", ["n_samples", "dim", "n_tokens", "n_signal", "signal", "positive_rate"]
)
@pytest.mark.parametrize("metric", ["error", "auc"])
def test_round_trip_of_linear_models(model, unknown, metric):
    full = {**POOLED, "n_samples": 1500, "model": model, "metric": metric}
    target = st.plan(**full).error
    if unknown == "positive_rate" and metric == "error":
        # Below one half the error rises and falls with the rate: aim where it only falls.
        full["positive_rate"] = 0.3
        target = st.plan(**full).error
    plan = st.plan(**{**full, unknown: None}, error=target * (1 + 1e-3))
    value = getattr(plan, unknown)
    if unknown in ("n_tokens", "n_signal"):
        assert value == full[unknown]
    else:
        back = st.plan(**{**full, unknown: value})
        assert back.error == pytest.approx(target, rel=ROUND_TRIP)
    assert plan.error <= target * (1 + ROUND_TRIP)


def test_whole_numbers_are_the_last_that_meet_the_target():
    asked = {**POOLED, "n_samples": 300, "model": "pooled", "error": 0.1}
    longest = st.plan(**{**asked, "n_tokens": None})
    assert longest.error <= 0.1
    longer = {**asked, "n_tokens": longest.n_tokens + 1, "error": None}
    assert st.plan(**longer).error > 0.1
    fewest = st.plan(**{**asked, "n_tokens": 8, "n_signal": None})
    assert fewest.error <= 0.1
    fewer = {**asked, "n_tokens": 8, "n_signal": fewest.n_signal - 1, "error": None}
    assert st.plan(**fewer).error > 0.1


def test_one_signal_token_can_be_enough():
    plan = st.plan(n_samples=500, dim=20, n_tokens=3, n_signal=None, signal=8.0, error=0.1)
    assert plan.n_signal == 1
    assert plan.error < 0.1


def test_the_fewest_samples_can_be_enough():
    plan = st.plan(dim=20, n_tokens=4, n_signal=2, signal=9.0, error=0.2, model="pooled")
    assert plan.n_samples == 20
    assert plan.error < 0.2
    assert plan.curve.values[0] == 20


@pytest.mark.parametrize("unknown", ["n_samples", "dim", "signal"])
@pytest.mark.parametrize("metric", ["error", "recall"])
def test_round_trip_of_a_population(unknown, metric):
    base = {"problem": MIXED, "model": "pooled", "metric": metric, "fpr": 0.1}
    sizes = {"n_samples": 800, "dim": 100}
    target = st.plan(**base, **sizes).error
    asked = sizes | {unknown: None} if unknown in sizes else sizes
    plan = st.plan(**base, **asked, error=target)
    assert plan.solved_for == unknown
    assert getattr(plan, unknown) == pytest.approx((sizes | {"signal": 1.0})[unknown], rel=0.02)
    assert (plan.n_tokens, plan.n_signal) == (None, None)


@pytest.mark.statistical
def test_best_is_the_model_that_needs_least():
    asked = {"dim": 50, "n_tokens": 3, "n_signal": 3, "signal": 1.5, "error": 0.15}
    best = st.plan(**asked, model="best")
    needs = {m: st.plan(**asked, model=m).n_samples for m in ("pooled", "vectorized", "two-step")}
    assert best.n_samples == min(needs.values())
    assert needs[best.model] == best.n_samples
