"""Calls of ``st.plan``: what it accepts, warns of and reports."""

import math
import warnings

import pytest

import sparsetoken as st
from planner.examples import (
    EASY,
    MIXED,
    POOLED,
)
from sparsetoken.planner import UnreachableError


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"error": 0.1, "n_samples": 100}, "exactly one of .* must be None.*got none"),
        ({"dim": None}, "exactly one of .* got n_samples, dim, error"),
        ({"error": 0.4}, "error must be below 0.4"),
        ({"error": 0.5, "metric": "auc"}, "error must be below 0.5.*1 − AUC"),
        ({"error": 0.0}, r"error must be a finite number in \(0"),
        ({"error": -0.1}, "error must be"),
        ({"error": math.nan}, "error must be"),
        ({"error": 0.1, "n_signal": 11}, r"n_signal must be an integer in \[1, 10\]"),
        ({"n_samples": 24}, "n_samples must be at least 25, ten of the rarer class"),
        ({"n_samples": 99.5}, "n_samples must be"),
        ({"error": 0.1, "signal": 0.0}, "signal must be"),
        ({"error": 0.1, "positive_rate": 1.0}, "positive_rate must be"),
        ({"error": 0.1, "model": "magic"}, "model must be one of 'two-step', 'pooled'"),
        ({"error": 0.1, "metric": "f1"}, "metric must be one of 'error', 'auc', 'recall'"),
    ],
)
def test_bad_input_names_the_argument(change, message):
    with pytest.raises(ValueError, match=message):
        st.plan(**{**EASY, **change})


def test_planning_warns_of_nothing():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        st.plan(**POOLED, n_samples=40, model="best")


def test_progress_goes_to_the_callback_and_nowhere_else(capfd):
    said = []
    plan = st.plan(**POOLED, error=0.1, model="pooled", progress=said.append)
    steps = len(said)
    assert any("trying n_samples" in line for line in said)
    assert plan.curve.values
    assert len(said) > steps
    assert capfd.readouterr() == ("", "")


def test_one_kind_is_planned_as_the_problem_that_it_is():
    alone = st.SparseTokenProblem(4, 2, 3.0, 0.4)
    expected = st.plan(**POOLED, n_samples=300, model="pooled")
    for problem in (alone, st.Population([alone])):
        plan = st.plan(problem=problem, dim=50, n_samples=300, model="pooled")
        assert plan.error == expected.error
        assert plan.settings == expected.settings
        assert plan.n_tokens == 4


def test_populations_that_cannot_be_planned():
    with pytest.raises(ValueError, match="n_tokens must be left out: the problem has it; got 4"):
        st.plan(problem=MIXED, n_tokens=4, dim=50, error=0.1)
    with pytest.raises(
        ValueError, match=r"exactly one of n_samples, dim, error, signal, .*got n_samples, dim"
    ):
        st.plan(problem=MIXED, error=0.1)
    with pytest.raises(ValueError, match="needs sequences of one length, got lengths 4, 12"):
        st.plan(problem=MIXED, dim=50, n_samples=300, model="vectorized")
    with pytest.raises(UnreachableError, match="its floor is 0"):
        st.plan(problem=MIXED, dim=50, error=0.02, model="pooled")  # labels are wrong more often
