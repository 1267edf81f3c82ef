"""Plans by theory: what is asked, warned of and reported."""

import json
import math
import warnings

import numpy as np
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
        ({"error": 0.1, "n_samples": 100}, "leave out exactly one of .*; left out: none"),
        (
            {"dim": None},
            "exactly one of n_samples, dim, error, n_tokens, signal.* out: n_samples, dim",
        ),
        ({"error": 0.1, "positive_rate": None}, "positive_rate must be"),
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
        (
            {"error": 0.1, "model": "magic"},
            "model must be one of 'sparse-token', 'two-step'",
        ),
        ({"error": 0.1, "metric": "f1"}, "metric must be one of 'error', 'auc', 'recall'"),
    ],
)
def test_bad_input_names_the_argument(change, message):
    with pytest.raises(ValueError, match=message):
        st.plan(**{**EASY, **change})


def test_planning_warns_of_nothing():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        st.plan(**POOLED, n_samples=100, model="best")


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
        ValueError, match=r"exactly one of n_samples, dim, error, .*left out: n_samples, dim"
    ):
        st.plan(problem=MIXED, error=0.1)
    with pytest.raises(ValueError, match="needs sequences of one length, got lengths 4, 12"):
        st.plan(problem=MIXED, dim=50, n_samples=300, model="vectorized")
    for problem, message in (
        (st.SparseTokenProblem(4, signal=0.0), r"signal must be a finite number in \(0"),
        (st.SparseTokenProblem(4, positive_rate=0.0), r"positive_rate must be a finite number in"),
    ):
        with pytest.raises(ValueError, match=message):
            st.plan(problem=problem, dim=50, n_samples=300)
    with pytest.raises(UnreachableError, match="its floor is 0"):
        st.plan(problem=MIXED, dim=50, error=0.02, model="pooled")  # labels are wrong more often


def test_curve_and_alternatives(enough):
    curve = enough.curve
    assert curve.quantity == "n_samples"
    assert enough.n_samples in curve.values
    assert np.all(np.diff(curve.errors) < 0)
    assert all(0 < error.uncertainty < 0.01 for error in curve.errors)
    assert curve.errors[curve.values.index(enough.n_samples)] == enough.error
    assert set(enough.alternatives) == {
        "sparse-token",
        "two-step",
        "vectorized",
        "optimal",
        "bayes",
    }
    assert enough.alternatives["bayes"] < enough.alternatives["optimal"]
    assert enough.alternatives["optimal"] < enough.alternatives["sparse-token"]
    assert enough.alternatives["sparse-token"] < enough.alternatives["two-step"] < enough.error
    assert enough.error < enough.alternatives["vectorized"]
    assert enough.alternatives["bayes"] == float(st.theory.oracle_error(enough.problem, "bayes"))


@pytest.mark.statistical
def test_curve_of_attention(attention):
    """Below 61 samples its points are means of trainings, above the theory's: they join."""
    curve = attention.curve
    assert curve.values[0] < 60 < attention.n_samples
    assert np.all(np.diff(curve.errors) < 0)
    assert curve.errors[curve.values.index(attention.n_samples)] == attention.error
    assert attention.error < attention.alternatives["pooled"]


def test_the_default_is_the_classifier_that_people_use():
    plan = st.plan(dim=384, n_tokens=50, signal=6.0, error=0.05)
    assert isinstance(plan.classifier(), st.SparseTokenClassifier)
    assert plan.answer.startswith("SparseTokenClassifier needs at least")
    assert 34 <= plan.least_samples < plan.n_samples < 80  # it has 3.8 % with 60 sequences
    assert "empirical law" in plan.basis
    assert plan.limit_error < plan.error  # what few samples cost is no part of the limit


def test_the_smallest_plan_says_that_it_is():
    plan = st.plan(dim=10, n_tokens=2, signal=9.0, error=0.2)
    assert plan.error < 0.05
    assert plan.answer == (
        "SparseTokenClassifier needs at most 20 labelled sequences, the fewest planned for, for a "
        "20 % test error."
    )
    assert "times as many" not in plan.floor


def test_a_plan_says_what_the_others_need():
    plan = st.plan(dim=30, n_tokens=4, signal=12.0, error=0.05)
    assert set(plan.others) == {"two-step", "pooled", "vectorized"}
    for name, needed in plan.others.items():
        alone = st.plan(dim=30, n_tokens=4, signal=12.0, error=0.05, model=name)
        assert needed == alone.n_samples
    hard = st.plan(dim=60, n_tokens=50, signal=6.0, error=0.05)
    assert hard.others["pooled"] is None
    first, least, others = hard.summary().splitlines()[:3]
    assert first == hard.answer
    assert least.startswith(hard.floor)
    assert f"two-step attention needs {hard.others['two-step']}" in others
    assert others.endswith("no number is enough for pooled or vectorized.")


def test_summary_and_plot(enough, attention, tmp_path):
    assert attention.answer == (
        f"Two-step attention needs at least {attention.n_samples} labelled sequences for a 5 % "
        "test error."
    )
    text = enough.summary()
    assert text.startswith("Pooled reaches a")
    for word in ("reg = ", "two-step", "vectorized", "bayes", "±"):
        assert word in text
    figure = enough.plot(tmp_path / "plan.png")
    assert figure.axes[0].lines[0].get_ydata().tolist() == list(enough.curve.errors)
    assert (tmp_path / "plan.png").read_bytes()[:4] == b"\x89PNG"
    assert repr(attention) == f"Plan({attention.answer.rstrip('.')})"


def test_a_plan_without_an_error_is_drawn():
    plan = st.plan(dim=20, n_tokens=4, signal=1e3, n_samples=100, model="pooled")
    assert plan.error == 0.0
    low, high = plan.plot().axes[0].get_ylim()
    assert 0.0 < low < high


def test_report_says_what_was_asked_assumed_and_answered(enough, pooled):
    text = enough.report(markdown=True)
    places = [text.index(w) for w in ("Answer", "Assumptions", "rests", "Software")]
    assert places == sorted(places)
    assert enough.answer in text
    assert f"dim = {enough.dim}" in text
    assert "high-dimensional theory" in text
    assert "simulated trainings" not in text
    assert "sequences are few" not in text
    report = pooled.report()
    assert "mean over simulated trainings" in report
    assert pooled.caution in report


def test_a_plan_of_few_samples_says_so(enough, pooled):
    assert pooled.n_samples < 60
    assert pooled.caution.startswith(f"{pooled.n_samples} sequences are few")
    assert pooled.caution in pooled.summary()
    assert enough.n_samples > 60
    assert not enough.caution
    assert "Caution" not in enough.summary()


def test_the_basis_is_what_was_computed():
    """Above 3,000 features trainings are not simulated, however few the samples."""
    wide = st.plan(n_samples=50, dim=5000, n_tokens=5, signal=20.0, model="pooled")
    assert "simulated trainings" not in wide.basis
    assert "high-dimensional theory" in wide.basis
    assert wide.caution


def test_a_plan_as_data_is_json(pooled):
    data = json.loads(json.dumps(pooled.to_dict()))
    assert data["n_samples"] == pooled.n_samples
    assert data["curve"]["errors"] == list(pooled.curve.errors)
    assert data["alternatives"]["bayes"] == pooled.alternatives["bayes"]


def test_a_problem_keeps_its_runs():
    runs = st.SparseTokenProblem(40, 4, 2.0, contiguous=True)
    assert st.plan(problem=runs, n_samples=100, dim=20, model="pooled").problem == runs
