"""Learning curves are what the library computes; their script and command give the same."""

import math
import re

import pytest

import sparsetoken as st
from app.views.drawing import (
    LAST,
    ODD,
    SPREAD,
    check,
    commanded,
    curve,
    draw,
    printed,
    rates,
    worked,
)

pytestmark = pytest.mark.filterwarnings("ignore::sparsetoken.theory.ConvergenceWarning")


@pytest.mark.parametrize("quantity", ["test_error", "recall"])
def test_learning_curves(quantity):
    given = ODD | {"quantity": quantity, "split": 0.4, "fpr": 0.05, "reg": 0.1}
    values = check("learning", given)
    content = draw("learning", given, LAST)
    problem = st.SparseTokenProblem(10, 1, 4.0, 0.4)
    table = content.table
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
    assert printed(content) == pytest.approx([value for _, value in rows], abs=2e-5)


@pytest.mark.system
def test_learning_says_where_a_curve_crosses_the_target():
    content = draw("learning", {"loss": "square", "signal": 10.0, "error": 0.1}, LAST)
    said = float(content.sentence.split("pooling needs ")[1].split()[0])
    problem = st.SparseTokenProblem(10, 1, 10.0)
    found = st.theory.risk(problem, "pooled", alpha=said, reg=0.01, loss="square")
    assert found.test_error == pytest.approx(0.1, rel=0.01)
    content = draw("learning", {"loss": "square", "features": 100}, LAST)
    limit = st.theory.risk(
        st.SparseTokenProblem(10, 1, 5.0), "pooled", alpha=math.inf, reg=0.01, loss="square"
    )
    said = content.sentence.split("pooling cannot get below ")[1]
    assert float(said.split()[0]) == pytest.approx(100 * limit.test_error, abs=0.5)
    alpha, n = re.search(
        r"attention needs (\S+) samples per dimension \(n = (\d+)\)", content.sentence
    ).groups()
    assert int(n) == pytest.approx(100 * float(alpha), rel=0.01)
    floor = curve(content, "Bayes floor").y
    expected = st.theory.oracle_error(st.SparseTokenProblem(10, 1, 5.0), "bayes")
    assert floor == pytest.approx([expected] * 2, rel=2e-3)


def test_the_majority_is_drawn_where_classes_are_unequal():
    content = draw("learning", {"loss": "square", "positive_rate": 0.01})
    assert curve(content, "always the larger class").y == [0.01, 0.01]
    assert "Always answering the larger class errs on 1\N{NO-BREAK SPACE}%" in content.sentence
    content = draw("learning", {"loss": "square"})
    assert all(found.name != "always the larger class" for found in content.panels[0].curves)


@pytest.mark.system
def test_populations():
    given = ODD | {"signal_spread": 0.25, "length_spread": 0.4}
    content = draw("learning", given, LAST)
    shown = set(content.table["model"])
    assert shown == {"two-step", "pooled", "optimal"}  # one length for vectorized
    kinds = [
        st.SparseTokenProblem(n_tokens, 1, signal, 0.4) for signal in (3, 5) for n_tokens in (6, 14)
    ]
    found = st.theory.risk(st.Population(kinds), "pooled", alpha=20.0, reg=0.01, loss="square")
    errors = dict.fromkeys(shown, ())
    for model, error in zip(content.table["model"], content.table["test_error"], strict=True):
        errors[model] += (error,)
    assert errors["pooled"][-1] == pytest.approx(found.test_error, rel=1e-5)
    assert printed(content)[:25] == pytest.approx(errors["pooled"], abs=2e-5)
    floor = st.theory.oracle_error(st.Population(kinds), "bayes", n_points=4096)
    assert curve(content, "Bayes floor").y == pytest.approx([floor] * 2, rel=1e-2)


@pytest.mark.system
@pytest.mark.parametrize(
    "given",
    [
        SPREAD,
        {"split": 0.3},
        {"quantity": "recall", "fpr": 0.05, "signal_spread": 0.5},
    ],
    ids=str,
)
def test_the_command_of_learning_curves_gives_the_end_of_the_curve(given, capsys):
    content = draw("learning", ODD | given | {"alpha_max": 3.0}, LAST)
    (value,) = commanded(content, capsys)
    assert value == pytest.approx(curve(content, "two-step attention").y[-1], rel=3e-3)


@pytest.mark.system
@pytest.mark.parametrize("quantity", ["test_error", "recall"])
def test_simulated_points_are_of_the_population_of_the_curves(quantity):
    given = {
        "loss": "square",
        "reg": 0.1,
        "signal": 5.0,
        "signal_spread": 0.6,
        "quantity": quantity,
    }
    given |= {"dim": 60, "trials": 16, "alpha_max": 4.0, "fpr": 0.05, "n_tokens": 4}
    *_, last = worked("learning", given)
    assert last.done == last.total
    points = curve(last.content, "pooled, simulated")
    drawn = curve(draw("learning", given, LAST), "pooled")
    assert points.x[-1] == drawn.x[-1] == 4.0
    gap = abs(points.y[-1] - drawn.y[-1])
    assert gap < 4 * points.error[-1] + 0.01  # the theory is for many dimensions
    plain = st.SparseTokenProblem(4, 1, 5.0)
    alone = st.theory.risk(plain, "pooled", alpha=4.0, reg=0.1, loss="square")
    expected = alone.recall(fpr=0.05) if quantity == "recall" else alone.test_error
    assert abs(points.y[-1] - expected) > 8 * points.error[-1] + 0.01  # it would see that


def test_a_simulation_without_enough_of_the_rarer_class_says_so():
    given = {"positive_rate": 0.01, "dim": 20, "alpha_max": 20.0}
    with pytest.raises(ValueError, match="4 sequences of the rarer class are too few to simulate"):
        worked("learning", given)
