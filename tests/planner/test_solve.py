"""Solving for the unknown and predicting there agree; the root finder on known functions."""

import math
import re

import pytest

import sparsetoken as st
from planner.examples import (
    EASY,
    MIXED,
    POOLED,
    ROUND_TRIP,
)
from sparsetoken.planner import UnreachableError
from sparsetoken.planner.answer import CLASSIFIERS
from sparsetoken.planner.solve import _root, fewest_samples


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


@pytest.mark.parametrize("model", ["pooled", "vectorized"])
@pytest.mark.parametrize(
    ("unknown", "metric"),
    [("n_samples", "error"), ("dim", "auc"), ("n_tokens", "error"), ("signal", "auc")],
)
def test_round_trip_of_linear_models(model, unknown, metric):
    full = {**POOLED, "n_samples": 1500, "model": model, "metric": metric}
    target = st.plan(**full).error
    plan = st.plan(**{**full, unknown: None}, error=target * (1 + 1e-3))
    value = getattr(plan, unknown)
    if unknown == "n_tokens":
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


def test_the_fewest_samples_can_be_enough():
    plan = st.plan(dim=20, n_tokens=4, n_signal=2, signal=9.0, error=0.2, model="pooled")
    assert plan.n_samples == 20
    assert plan.error < 0.2
    assert plan.curve.values[0] == 20


@pytest.mark.parametrize(("unknown", "metric"), [("n_samples", "error"), ("dim", "recall")])
def test_round_trip_of_a_population(unknown, metric):
    base = {"problem": MIXED, "model": "pooled", "metric": metric, "fpr": 0.1}
    sizes = {"n_samples": 800, "dim": 100}
    target = st.plan(**base, **sizes).error
    plan = st.plan(**base, **sizes | {unknown: None}, error=target)
    assert plan.solved_for == unknown
    assert getattr(plan, unknown) == pytest.approx(sizes[unknown], rel=0.02)
    assert (plan.n_tokens, plan.n_signal, plan.signal) == (None, None, None)


@pytest.mark.statistical
def test_best_is_the_model_that_needs_least():
    asked = {"dim": 50, "n_tokens": 3, "n_signal": 3, "signal": 1.5, "error": 0.15}
    best = st.plan(**asked, model="best")
    needs = {m: st.plan(**asked, model=m).n_samples for m in CLASSIFIERS}
    assert best.n_samples == min(needs.values())
    assert needs[best.model] == best.n_samples


def test_impossible_requests_say_why_and_what_would_help():
    hopeless = {"dim": 100, "n_tokens": 50, "signal": 6.0}
    with pytest.raises(
        UnreachableError, match=r"floor is 0\.336 at any sample size.*two-step reaches it"
    ):
        st.plan(**hopeless, error=0.05, model="pooled")
    with pytest.raises(UnreachableError, match=r"Bayes floor 0\.00[0-9]+.*signal above"):
        st.plan(**hopeless, error=0.002)
    with pytest.raises(
        UnreachableError, match=r"even at n_tokens 2, the easiest.*more samples would help"
    ):
        st.plan(n_samples=20, dim=500, n_signal=2, signal=0.5, error=0.01, model="pooled")
    with pytest.raises(UnreachableError, match=r"met by pooled even at dim 5e\+06, the hardest"):
        st.plan(n_samples=50, n_tokens=1, n_signal=1, signal=1e4, error=0.4, model="pooled")


@pytest.mark.parametrize("model", ["sparse-token", "two-step"])
def test_hardly_any_signal_is_a_reason(model):
    """No query step makes attention sharp then, whatever its rate."""
    with pytest.raises(UnreachableError, match=r"cannot be reached by .* its floor is 0\.5"):
        st.plan(dim=50, n_tokens=10, signal=1e-3, error=0.45, model=model)


def test_a_floor_is_told_from_bayes_by_error_bars():
    """Attention with the best weights is next to Bayes: their order within error bars is noise."""
    with pytest.raises(UnreachableError) as failure:
        st.plan(dim=50, n_tokens=30, signal=1.5, error=0.4, model="two-step")
    text = str(failure.value)
    floors = re.search(
        r"floor is ([0-9.]+) at any.*Bayes floor ([0-9.]+) \(two-step reaches it\)", text
    )
    assert floors, text


@pytest.mark.parametrize(
    "metric",
    [
        "error",
        *(pytest.param(name, marks=pytest.mark.statistical) for name in ("auc", "recall")),
    ],
)
def test_no_learner_does_with_fewer(metric):
    plan = st.plan(**POOLED, n_samples=200, metric=metric, model="pooled")
    least = plan.least_samples
    assert 1 < least < 200

    def shortfall(n_samples):
        best = st.theory.optimal(plan.problem, n_samples / POOLED["dim"])
        reached = {"error": best.test_error, "auc": 1 - best.auc, "recall": 1 - best.recall(0.01)}
        return reached[metric]

    assert shortfall(least) <= plan.error < shortfall(least - 1)
    assert plan.alternatives["optimal"] == pytest.approx(shortfall(200))
    sentence = (
        f"with fewer than {least} labelled sequences; pooled takes {200 / least:.2g} times as many."
    )
    assert plan.floor.endswith(sentence)
    for text in (plan.summary(), plan.report(), plan.to_dict()["floor"]):
        assert plan.floor in text
    assert plan.to_dict()["least_samples"] == least


@pytest.mark.parametrize(("rate", "fewest"), [(0.5, 20), (0.1, 100), (0.9, 100), (0.3, 34)])
def test_the_fewest_samples_have_ten_of_the_rarer_class(rate, fewest):
    assert fewest_samples(rate) == fewest
