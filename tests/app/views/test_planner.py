"""Plans of the page are those of the library, by theory and from a pasted curve."""

import shlex

import pytest

import sparsetoken as st
from app.views.drawing import curve, draw, printed, worked
from sparsetoken.cli import main

pytestmark = pytest.mark.filterwarnings("ignore::sparsetoken.theory.ConvergenceWarning")
PLAN = {"plan_model": "pooled", "error": 0.25, "features": 50}


@pytest.mark.system
def test_planner(capsys):
    steps = worked("planner", PLAN)
    assert steps[-1].done == steps[-1].total
    content, asked = steps[-1].content, draw("planner", PLAN)
    plan = st.plan(
        dim=50, n_tokens=10, n_signal=1, signal=5.0, positive_rate=0.5, error=0.25, model="pooled"
    )
    assert f"needs {plan.n_samples} labelled sequences" in content.sentence
    assert content.facts["samples"] == str(plan.n_samples)
    assert curve(content, "the plan").x == [plan.n_samples]
    drawn = {found.model for found in content.panels[0].curves if found.look == "line"}
    assert drawn == {"pooled", "two-step", "vectorized", "optimal"}
    assert f"no learner does with fewer than {plan.least_samples}" in content.sentence
    with pytest.raises(SystemExit):
        main([*shlex.split(asked.command)[1:], "--json"])
    assert f'"n_samples": {plan.n_samples}' in capsys.readouterr().out
    assert plan.n_samples in printed(asked)


def test_a_plan_from_a_pasted_curve():
    text = "n_samples,error\n50,0.31\n100,0.24\n200,0.17\n400,0.13\n"
    given = {"curve": text, "test_samples": 1000, "error": 0.1}
    content = worked("planner", given)[-1].content
    plan = st.plan.from_curve([50, 100, 200, 400], [0.31, 0.24, 0.17, 0.13], n_test=1000, error=0.1)
    assert plan.answer.rstrip(".") in content.sentence
    assert curve(content, "measured ± s.e.").y == [0.31, 0.24, 0.17, 0.13]
    assert curve(content, "expected error, 80 %").y == list(plan.curve.median)
    assert float(plan.n_samples) in printed(draw("planner", given))
    with pytest.raises(ValueError, match="numbers"):
        worked("planner", {"curve": "n_samples,error\n50,many\n"})


@pytest.mark.system
def test_an_impossible_plan_says_why():
    with pytest.raises(ValueError, match=r"error=0\.001 cannot be reached"):
        worked("planner", PLAN | {"error": 0.001})
    assert draw("planner", PLAN).sentence == "Planning …"
