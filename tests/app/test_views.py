"""What the views show is what the library computes."""

import json
import math

import numpy as np
import pytest

import sparsetoken as st
from sparsetoken.app.callbacks import MOST_STEPS
from sparsetoken.app.charts import themed
from sparsetoken.app.content import Drawing, StaleError, time_limit
from sparsetoken.app.parameters import check_values
from sparsetoken.app.views import VIEWS, attention_map

pytestmark = pytest.mark.filterwarnings("ignore::sparsetoken.theory.ConvergenceWarning")

PLAN = {"plan_model": "pooled", "target": 0.25, "plan_dim": 50}
CHEAP = {"phase": {"loss": "square"}}  # the other views are fast anyway
# All steps of a map, most of whose cells ask for more signal tokens than tokens.
FEW_CELLS = {"phase": CHEAP["phase"] | {"y_axis": "n_signal", "n_tokens": 5}}


def draw(view, given=None, step=0, known=None):
    view = VIEWS[view]
    return view.draw(check_values(given or {}, view.names), Drawing(step, known=(known or {}).get))


def check_content(content):
    """A figure that is plain data, and one sentence."""
    json.dumps(themed(content.figure, dark=True, narrow=True), allow_nan=False)
    assert content.sentence[0].isupper()
    assert content.sentence[-1] == "."
    assert "nan" not in content.sentence
    assert len(content.sentence) < 400


def problem_of(row):
    return st.SparseTokenProblem(
        row["n_tokens"], row["n_signal"], row["signal"], row["positive_rate"]
    )


def rates_of(row):
    return {name: row[name] for name in ("beta", "lr_readout", "lr_bias", "lr_query", "loss")}


@pytest.mark.parametrize("view", [name for name in VIEWS if name != "planner"])
def test_first_and_last_step(view):
    coarse = draw(view, FEW_CELLS.get(view))
    fine = draw(view, FEW_CELLS.get(view), MOST_STEPS)
    for content in (coarse, fine):
        check_content(content)
        values = [row["value"] for row in content.rows]
        assert np.all(np.isfinite(values))
    assert not fine.more
    assert coarse.more == (view != "attention-map")
    assert len(fine.rows) > len(coarse.rows) or view == "attention-map"


def test_learning_rows_are_the_theory():
    content = draw("learning", {"reg": 0.1, "positive_rate": 0.3}, 1)
    rows = [row for row in content.rows if row["alpha"] in (0.1, 20.0)]
    assert len(rows) == 6
    for row in rows:
        alpha, model = row["alpha"], row["model"]
        if model == "two-step":
            found = st.theory.two_step_risk(
                problem_of(row),
                alpha0=0.5 * alpha,
                alpha1=0.5 * alpha,
                reg=0.1,
                n_points=4096,
                **rates_of(row),
            )
        else:
            found = st.theory.risk(problem_of(row), model, alpha=alpha, reg=0.1)
        assert row["value"] == pytest.approx(found.test_error, rel=1e-5)
    bayes = next(trace for trace in content.figure["data"] if trace["name"] == "Bayes floor")
    floor = st.theory.oracle_error(problem_of(rows[0]), "bayes")
    assert bayes["y"] == pytest.approx([floor, floor], rel=2e-3)


def test_learning_says_where_a_curve_crosses_the_target():
    content = draw("learning", {"loss": "square", "signal": 10.0, "target": 0.1}, 1)
    said = float(content.sentence.split("pooling needs ")[1].split()[0])
    problem = st.SparseTokenProblem(10, 1, 10.0)
    found = st.theory.risk(problem, "pooled", alpha=said, reg=0.01, loss="square")
    assert found.test_error == pytest.approx(0.1, rel=0.01)
    limit = st.theory.risk(
        st.SparseTokenProblem(10, 1, 5.0), "pooled", alpha=math.inf, reg=0.01, loss="square"
    )
    said = draw("learning", {"loss": "square"}).sentence.split("pooling cannot get below ")[1]
    assert float(said.split()[0]) == pytest.approx(100 * limit.test_error, abs=0.5)


def test_learning_with_a_fixed_number_for_the_query():
    content = draw("learning", {"query_by": "alpha0", "alpha0": 3.0, "loss": "square"}, 1)
    rows = [row for row in content.rows if row["model"] == "two-step"]
    assert rows
    assert all(row["alpha"] > 3.0 for row in rows)
    assert [row["alpha1"] for row in rows] == pytest.approx([r["alpha"] - 3.0 for r in rows])


def test_alignment_rows_are_the_theory():
    content = draw("alignment", {"alpha0": 4.0, "positive_rate": 0.2}, 1)
    for row in content.rows[::50]:
        found = st.theory.alignment(problem_of(row), alpha=row["alpha0"], **rates_of(row))
        assert row["value"] == pytest.approx(getattr(found, row["quantity"]), rel=1e-9)
    here = st.theory.alignment(st.SparseTokenProblem(10, 1, 5.0, 0.2), alpha=4.0)
    assert f"a cosine of {here.cosine:.3f}" in content.sentence
    assert dict(content.facts)["sharpness κ"] == f"{here.sharpness:.4g}"


@pytest.mark.parametrize("axis", ["signal", "n_tokens", "n_signal", "positive_rate"])
def test_capacity_rows_are_the_theory(axis):
    content = draw("capacity", {"capacity_axis": axis}, 0)
    own = [row for row in content.rows if [row[n] for n in ("n_tokens", "signal")] == [10, 5.0]]
    for row in (row for row in own if (row["n_signal"], row["positive_rate"]) == (1, 0.5)):
        given = {}
        if row["model"] == "two-step":
            query = st.theory.alignment(problem_of(row), alpha=row["alpha0"], **rates_of(row))
            given = {"cosine": query.cosine, "sharpness": query.sharpness, "n_points": 512}
        found = st.theory.capacity(problem_of(row), "attention" if given else row["model"], **given)
        assert row["value"] == pytest.approx(float(found), rel=1e-6)
        assert dict(content.facts)[f"capacity of {row['model']}"] == f"{float(found):.3g}"


def test_phase_rows_are_the_theory():
    content = draw("phase", {"x_axis": "n_tokens", "y_axis": "positive_rate", **CHEAP["phase"]})
    for row in content.rows[:: len(content.rows) // 8 + 1]:
        if row["model"] == "two-step":
            found = st.theory.two_step_risk(
                problem_of(row),
                alpha0=1.0,
                alpha1=1.0,
                reg=row["reg"],
                n_points=512,
                **rates_of(row),
            )
        else:
            found = st.theory.risk(
                problem_of(row), "pooled", alpha=2.0, reg=row["reg"], loss="square"
            )
        assert row["value"] == pytest.approx(found.test_error, rel=1e-5)
    heat = content.figure["data"][0]
    attention, pooled = content.rows[:2]
    assert heat["z"][0][0] == pytest.approx(math.log10(pooled["value"] / attention["value"]))


def test_attention_map_rows_are_the_weights():
    content = draw("attention-map", {"n_tokens": 12, "n_signal": 3, "signal": 4.0, "seed": 5})
    view = VIEWS["attention-map"]
    drawn = attention_map.draw_sequence(
        check_values({"n_tokens": 12, "n_signal": 3, "signal": 4.0, "seed": 5}, view.names)
    )
    after = [row for row in content.rows if row["stage"] == "after"]
    assert [row["value"] for row in after] == pytest.approx(drawn.weights)
    assert sum(row["carries_signal"] for row in after) == 3
    assert drawn.weights.sum() == pytest.approx(1.0)
    share = sum(row["value"] for row in after if row["carries_signal"])
    assert dict(content.facts)["weight on signal tokens"] == f"{share:.4f}"


def plan_content(given):
    view = VIEWS["planner"]
    tasks = view.tasks(check_values(given, view.names))
    return draw("planner", given, known={task.key: task.function(task.argument) for task in tasks})


def test_planner_is_the_plan():
    assert draw("planner", PLAN).rows == []
    content = plan_content(PLAN)
    check_content(content)
    plan = st.plan(
        dim=50,
        n_tokens=10,
        n_signal=1,
        signal=5.0,
        positive_rate=0.5,
        error=0.25,
        model="pooled",
    )
    assert f"needs {plan.n_samples} labelled sequences" in content.sentence
    assert dict(content.facts)["samples"] == str(plan.n_samples)
    here = [row for row in content.rows if row["n_samples"] == plan.n_samples]
    assert {row["model"] for row in here} >= set(plan.alternatives)


def test_an_impossible_plan_says_why():
    content = plan_content(PLAN | {"target": 0.001})
    check_content(content)
    assert content.rows == []
    assert "0.001" in content.sentence or "floor" in content.sentence


EXTREMES = [
    {"n_tokens": 1},
    {"n_tokens": 5, "n_signal": 5},
    {"n_tokens": 1000, "n_signal": 50, "signal": 15.0},
    {"signal": 0.0},
    {"signal": 15.0},
    {"positive_rate": 0.01},
    {"positive_rate": 0.99},
    {"reg": 1e-6},
    {"reg": 100.0},
    {"loss": "square", "reg": 1e-6},
    {"loss": "hinge"},
    {"alpha0": 1000.0},
    {"alpha0": 0.05},
    {"query_by": "alpha0", "alpha0": 1000.0},
    {"lr_query": 1000.0, "beta": 10.0, "lr_readout": 100.0},
    {"quantity": "auc", "alpha_max": 1.0},
    {"quantity": "train_loss", "signal": 15.0, "reg": 1e-6},
    {"capacity_axis": "positive_rate", "n_tokens": 1000, "n_signal": 50, "signal": 15.0},
    {"x_axis": "n_signal", "y_axis": "n_tokens", "loss": "square"},
]


@pytest.mark.parametrize(
    ("view", "extreme"),
    [
        (name, extreme)
        for name, view in VIEWS.items()
        for extreme in EXTREMES
        if name != "planner" and set(extreme) <= set(view.names)
    ],
    ids=str,
)
def test_extremes(view, extreme):
    check_content(draw(view, CHEAP.get(view, {}) | extreme))


def test_axes_must_differ():
    with pytest.raises(ValueError, match="must differ"):
        draw("phase", {"x_axis": "reg", "y_axis": "reg"})


def test_stale_work_stops():
    def stale():
        raise StaleError

    view = VIEWS["phase"]
    with pytest.raises(StaleError):
        view.draw(check_values({"signal": 3.21}, view.names), Drawing(0, check=stale))


def test_a_picture_that_takes_too_long_is_refused():
    view = VIEWS["phase"]
    values = check_values({"signal": 7.77, "n_tokens": 11}, view.names)
    with pytest.raises(ValueError, match=r"took more than 0\.01 s"):
        view.draw(values, Drawing(30, time_limit(0.01)))
