"""Learning curves are what the library computes; their script gives the same."""

import math
import re

import pytest

import sparsetoken as st
from app.views.drawing import (
    ODD,
    checked,
    draw,
    first,
    lines,
    names,
    printed,
    rates,
    trace,
)
from sparsetoken.app.words import per_cent

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
    rows = zip(table["model"], table[quantity], strict=True)
    assert trace(picture, "pooled")["y"] == [v for m, v in rows if m == "pooled"]


@pytest.mark.system
def test_the_script_gives_the_same():
    given = ODD | {"split": 0.4, "reg": 0.1, "fpr": 0.05, "steps": 4}
    found = printed("learning", given)
    for i, quantity in enumerate(("test_error", "auc", "recall"), 1):
        picture = draw("learning", given | {"quantity": quantity})
        ends = [trace(picture, name)["y"][-1] for name in ("two-step attention", "pooled")]
        last = found[28 + 2 * i - 1 : 42 : 7]  # of three alphas; each number has an error bar
        assert last == pytest.approx(ends, rel=0.01)  # of more points
    picture = draw("learning", given | {"quantity": "training"})
    expected = trace(picture, "query", 1)["y"] + trace(picture, "test error")["y"]
    assert found[42:] == pytest.approx(expected, rel=0.02)


def test_pictures_grow():
    coarse, full, refined = lines("learning", ODD)
    assert [len(trace(line, "pooled")["x"]) for line in (coarse, full, refined)] == [3, 25, 25]
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
        r"attention needs (\S+) samples per dimension \(n\s=\s(\d+)\)", picture["sentence"]
    ).groups()
    assert int(n) == pytest.approx(100 * float(alpha), rel=0.01)
    floor = trace(picture, "Bayes floor")["y"]
    expected = st.theory.oracle_error(st.SparseTokenProblem(10, 1, 5.0), "bayes")
    assert floor == pytest.approx([expected] * 2, rel=2e-3)


def test_the_floor_of_long_sequences_is_that_of_the_library():
    picture = draw("learning", {"n_tokens": 500, "n_signal": 10, "signal": 3.0, "loss": "square"})
    floor = st.theory.oracle_error(st.SparseTokenProblem(500, 10, 3.0), "bayes")
    assert trace(picture, "Bayes floor")["y"] == pytest.approx([floor] * 2, rel=2e-3)


def test_the_majority_is_drawn_where_classes_are_unequal():
    picture = first("learning", {"loss": "square", "positive_rate": 0.01})
    assert trace(picture, "always the larger class")["y"] == [0.01, 0.01]
    assert "Always answering the larger class errs on 1\N{NO-BREAK SPACE}%" in picture["sentence"]
    other = first("learning", {"loss": "square", "positive_rate": 0.8, "error": 0.1})
    assert trace(other, "always the larger class")["y"] == pytest.approx([0.2, 0.2])
    assert "Always answering" not in other["sentence"]  # it misses the target
    assert "always the larger class" not in names(first("learning", {"loss": "square"}))


@pytest.mark.system
def test_simulated_points_agree_with_the_curves():
    given = {"loss": "square", "reg": 0.1, "signal": 5.0, "n_tokens": 4}
    given |= {"dim": 60, "trials": 8, "alpha_max": 4.0}
    sent = lines("learning", given, simulate=True)
    assert [line["progress"] for line in sent[2:4]] == ["0 of 22 points", "1 of 22 points"]
    assert sent[-1]["progress"] == ""
    points, drawn = trace(sent[-1], "pooled, simulated"), trace(sent[-1], "pooled")
    assert points["x"][-1] == drawn["x"][-1] == 4.0
    error = points["error_y"]["array"][-1]
    # The theory is for many dimensions.
    assert abs(points["y"][-1] - drawn["y"][-1]) < 4 * error + 0.01


def test_a_simulation_that_is_not_possible_says_so():
    given = {"positive_rate": 0.01, "dim": 20, "alpha_max": 20.0}
    with pytest.raises(ValueError, match="4 sequences of the rarer class are too few to simulate"):
        lines("learning", given, simulate=True)
    with pytest.raises(ValueError, match="is not simulated"):
        lines("learning", {"quantity": "training"}, simulate=True)


TRAINING = {"quantity": "training"}


def test_training():
    given = TRAINING | {"steps": 4, "signal": 4.0}
    picture = draw("learning", given)
    values = checked("learning", given)
    found = st.theory.training(
        st.SparseTokenProblem(10, 1, 4.0),
        steps=4,
        alpha=2.0,
        batches="online",
        reg=values["reg"],
        n_points=2048,
        lr_readout=2.0,
        lr_bias=2.0,
        lr_query=1.0,
    )
    assert trace(picture, "query", 1)["y"] == pytest.approx(found.cosine)
    assert trace(picture, "test error")["y"] == pytest.approx(found.test_error)
    assert f"the test error is {per_cent(found.test_error[-1])}" in picture["sentence"]


def test_training_opens_on_a_curve_that_falls():
    picture = first("learning", TRAINING)
    errors = picture["table"]["test_error"]
    assert errors == sorted(errors, reverse=True)
    assert picture["sentence"].endswith(", the lowest so far.")


@pytest.mark.system
def test_training_that_runs_away_is_drawn_as_far_as_it_goes():
    given = TRAINING | {"loss": "square", "step_readout": 50.0, "step_query": 50.0, "steps": 12}
    picture = draw("learning", given | {"batches": "fresh", "reg": 1e-6})
    assert trace(picture, "query", 1)["x"] == [1, 2] == picture["table"]["step"]
    assert "After 2 steps" in picture["sentence"]
    assert "cannot be followed" in picture["sentence"]
    with pytest.raises(ValueError, match="first step already runs away"):
        draw("learning", given)
