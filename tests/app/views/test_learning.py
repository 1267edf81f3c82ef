"""Learning curves are what the library computes; their script and command give the same."""

import math
import re

import pytest

import sparsetoken as st
from app.views.drawing import (
    ODD,
    checked,
    commanded,
    draw,
    first,
    lines,
    names,
    printed,
    rates,
    trace,
)

pytestmark = pytest.mark.filterwarnings("ignore::sparsetoken.theory.ConvergenceWarning")


@pytest.mark.parametrize(
    "quantity", ["test_error", pytest.param("recall", marks=pytest.mark.system)]
)
def test_learning_curves(quantity):
    given = ODD | {"quantity": quantity, "split": 0.4, "fpr": 0.05, "reg": 0.1}
    values = checked("learning", given)
    picture = draw("learning", given)
    problem = st.SparseTokenProblem(10, 1, 4.0, 0.4)
    table = picture["table"]
    for model, alpha, shown in zip(table["model"], table["alpha"], table[quantity], strict=True):
        if not (alpha in (0.1, 20.0) or abs(alpha - 4.73) < 0.5):
            continue
        if model == "two-step":
            first = 0.4 * alpha
            found = st.theory.two_step_risk(
                problem, alpha0=first, alpha1=alpha - first, reg=0.1, n_points=4096, **rates(values)
            )
        elif model == "optimal":
            found = st.theory.optimal(problem, alpha)
        else:
            found = st.theory.risk(problem, model, alpha=alpha, reg=0.1, loss="square")
        expected = found.recall(fpr=0.05) if quantity == "recall" else found.test_error
        assert shown == pytest.approx(expected, rel=1e-4)
    order = {"pooled": 0, "vectorized": 1, "optimal": 2, "two-step": 3}
    rows = sorted(zip(table["model"], table[quantity], strict=True), key=lambda r: order[r[0]])
    assert printed(picture) == pytest.approx([value for _, value in rows], abs=2e-5)
    assert trace(picture, "pooled")["y"] == [v for m, v in rows if m == "pooled"]


def test_pictures_grow():
    coarse, full, refined = lines("learning", ODD)
    assert [len(trace(line, "pooled")["x"]) for line in (coarse, full, refined)] == [3, 25, 25]
    assert coarse["python"].startswith("import numpy as np\nimport sparsetoken as st\n")
    assert "best possible" in names(refined)
    assert "best possible" not in names(full)


@pytest.mark.system
def test_learning_says_where_a_curve_crosses_the_target():
    picture = draw("learning", {"loss": "square", "signal": 10.0, "error": 0.1})
    said = float(picture["sentence"].split("pooling needs ")[1].split()[0])
    problem = st.SparseTokenProblem(10, 1, 10.0)
    found = st.theory.risk(problem, "pooled", alpha=said, reg=0.01, loss="square")
    assert found.test_error == pytest.approx(0.1, rel=0.01)
    picture = draw("learning", {"loss": "square", "features": 100})
    limit = st.theory.risk(
        st.SparseTokenProblem(10, 1, 5.0), "pooled", alpha=math.inf, reg=0.01, loss="square"
    )
    said = picture["sentence"].split("pooling cannot get below ")[1]
    assert float(said.split()[0]) == pytest.approx(100 * limit.test_error, abs=0.5)
    alpha, n = re.search(
        r"attention needs (\S+) samples per dimension \(n = (\d+)\)", picture["sentence"]
    ).groups()
    assert int(n) == pytest.approx(100 * float(alpha), rel=0.01)
    floor = trace(picture, "Bayes floor")["y"]
    expected = st.theory.oracle_error(st.SparseTokenProblem(10, 1, 5.0), "bayes")
    assert floor == pytest.approx([expected] * 2, rel=2e-3)


def test_the_majority_is_drawn_where_classes_are_unequal():
    picture = first("learning", {"loss": "square", "positive_rate": 0.01})
    assert trace(picture, "always the larger class")["y"] == [0.01, 0.01]
    assert "Always answering the larger class errs on 1\N{NO-BREAK SPACE}%" in picture["sentence"]
    assert "always the larger class" not in names(first("learning", {"loss": "square"}))


@pytest.mark.system
def test_populations():
    given = ODD | {"signal_spread": 0.25, "length_spread": 0.4}
    picture = draw("learning", given)
    table = picture["table"]
    assert set(table["model"]) == {"two-step", "pooled", "optimal"}  # one length for vectorized
    kinds = [
        st.SparseTokenProblem(n_tokens, 1, signal, 0.4) for signal in (3, 5) for n_tokens in (6, 14)
    ]
    found = st.theory.risk(st.Population(kinds), "pooled", alpha=20.0, reg=0.01, loss="square")
    errors = [e for m, e in zip(table["model"], table["test_error"], strict=True) if m == "pooled"]
    assert errors[-1] == pytest.approx(found.test_error, rel=1e-5)
    assert printed(picture)[:25] == pytest.approx(errors, abs=2e-5)
    floor = st.theory.oracle_error(st.Population(kinds), "bayes", n_points=4096)
    assert trace(picture, "Bayes floor")["y"] == pytest.approx([floor] * 2, rel=1e-2)
    assert picture["command"] == ""


@pytest.mark.system
@pytest.mark.parametrize("given", [{"split": 0.3}, {"quantity": "recall", "fpr": 0.05}], ids=str)
def test_the_command_of_learning_curves_gives_the_end_of_the_curve(given, capsys):
    picture = draw("learning", ODD | given | {"alpha_max": 3.0})
    (value,) = commanded(picture, capsys)
    assert value == pytest.approx(trace(picture, "two-step attention")["y"][-1], rel=3e-3)


@pytest.mark.system
def test_simulated_points_are_of_the_population_of_the_curves():
    given = {"loss": "square", "reg": 0.1, "signal": 5.0, "signal_spread": 0.6, "n_tokens": 4}
    given |= {"dim": 60, "trials": 8, "alpha_max": 4.0}
    sent = lines("learning", given, simulate=True)
    assert [line["progress"] for line in sent[2:4]] == ["0 of 22 points", "1 of 22 points"]
    assert sent[-1]["progress"] == ""
    points, drawn = trace(sent[-1], "pooled, simulated"), trace(sent[-1], "pooled")
    assert points["x"][-1] == drawn["x"][-1] == 4.0
    error = points["error_y"]["array"][-1]
    # The theory is for many dimensions.
    assert abs(points["y"][-1] - drawn["y"][-1]) < 4 * error + 0.01
    plain = st.SparseTokenProblem(4, 1, 5.0)
    alone = st.theory.risk(plain, "pooled", alpha=4.0, reg=0.1, loss="square")
    assert abs(points["y"][-1] - alone.test_error) > 8 * error + 0.01  # it would see that


def test_a_simulation_that_is_not_possible_says_so():
    given = {"positive_rate": 0.01, "dim": 20, "alpha_max": 20.0}
    with pytest.raises(ValueError, match="4 sequences of the rarer class are too few to simulate"):
        lines("learning", given, simulate=True)
    with pytest.raises(ValueError, match="is not simulated"):
        lines("learning", {"quantity": "training"}, simulate=True)
