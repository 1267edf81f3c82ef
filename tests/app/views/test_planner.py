"""Plans of the page are those of the library."""

import pytest

import sparsetoken as st
from app.views.drawing import first, lines, merged, names, printed, trace
from sparsetoken.app.views import planner

pytestmark = pytest.mark.filterwarnings("ignore::sparsetoken.theory.ConvergenceWarning")
PLAN = {"plan_model": "pooled", "error": 0.25, "features": 50}


def test_the_learning_curve_answers_first():
    picture = first("planner", PLAN)
    said = float(picture["sentence"].split("about ")[1].split()[0])
    problem = st.SparseTokenProblem(10, 1, 5.0)
    found = st.theory.risk(problem, "pooled", alpha=said / 50, reg=0.01)
    assert found.test_error == pytest.approx(0.25, rel=0.02)
    assert trace(picture, "target")["y"] == [0.25, 0.25]
    picture = first("planner", PLAN | {"error": 0.01})
    assert picture["sentence"].startswith("At the usual settings no number gives 1")
    sentence = first("planner", PLAN | {"plan_model": "best"})["sentence"]
    assert sentence.startswith("At the usual settings about ")


@pytest.mark.system
def test_planner():
    sent = lines("planner", PLAN)
    picture = merged(sent)
    assert [line["progress"] for line in sent if "progress" in line][-1] == ""
    plan = st.plan(
        dim=50, n_tokens=10, n_signal=1, signal=5.0, positive_rate=0.5, error=0.25, model="pooled"
    )
    assert picture["sentence"].startswith(plan.answer)
    assert f"with fewer than {plan.least_samples} labelled" in picture["sentence"]
    assert picture["facts"]["samples"] == str(plan.n_samples)
    assert trace(picture, "the plan")["x"] == [plan.n_samples]
    models = {t["meta"]["model"] for t in picture["figures"][0]["data"] if "meta" in t}
    assert models == {"sparse-token", "pooled", "two-step", "vectorized", "optimal"}
    assert "Bayes floor" in names(picture)
    assert plan.n_samples in printed("planner", PLAN)


def test_the_plan_takes_the_place_of_the_first_answer(monkeypatch):
    """Quickly: with a plan whose settings are given."""
    plan = st.plan(
        n_samples=400,
        dim=50,
        n_tokens=10,
        n_signal=1,
        signal=5.0,
        positive_rate=0.5,
        model="pooled",
    )
    monkeypatch.setattr(planner.st, "plan", lambda **_: plan)
    picture = merged(lines("planner", PLAN))
    assert trace(picture, "the plan")["x"] == [400]
    assert picture["sentence"].startswith(plan.answer)
    assert picture["progress"] == ""


@pytest.mark.system
def test_an_impossible_plan_says_why():
    with pytest.raises(ValueError, match=r"error=0\.001 cannot be reached"):
        lines("planner", PLAN | {"error": 0.001})
