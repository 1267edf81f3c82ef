"""The phase diagram shows errors of the library, and who wins by little or by noise."""

import math
import re

import numpy as np
import pytest

import sparsetoken as st
from app.views.drawing import (
    ODD,
    PROBLEM,
    EnoughError,
    checked,
    draw,
    first,
    lines,
    rates,
    trace,
    until_a_picture,
)
from sparsetoken.app.views import phase
from sparsetoken.estimate import Estimate

pytestmark = pytest.mark.filterwarnings("ignore::sparsetoken.theory.ConvergenceWarning")


@pytest.mark.system
def test_phase_diagram():
    x, y = "signal", "alpha"
    picture = draw("phase", ODD | {"x_axis": x, "y_axis": y})
    values = checked("phase", ODD)
    table, drawn = picture["table"], picture["figures"][0]["data"][0]
    for i in range(0, len(table[x]), 7):
        case = values | {x: table[x][i], y: table[y][i]}
        problem = st.SparseTokenProblem(**{name: case[name] for name in PROBLEM})
        half = 0.5 * case["alpha"]
        attention = st.theory.two_step_risk(
            problem, alpha0=half, alpha1=half, reg=0.01, n_points=256, **rates(values)
        )
        pooled = st.theory.risk(problem, "pooled", alpha=case["alpha"], reg=0.01, loss="square")
        assert table["two-step"][i] == pytest.approx(attention.test_error, rel=1e-4)
        assert table["pooled"][i] == pytest.approx(pooled.test_error, rel=1e-4)
        shown = drawn["z"][drawn["y"].index(table[y][i])][drawn["x"].index(table[x][i])]
        gained = phase.gain((attention.test_error, pooled.test_error))
        assert abs(shown) * shown == pytest.approx(gained / 2, abs=1e-3)


@pytest.mark.system
def test_no_edge_runs_through_noise():
    flat = {"signal": 0.0, "x_axis": "reg", "loss": "square"}
    drawn, *edges, _ = draw("phase", flat)["figures"][0]["data"]
    low, high = (line["contours"]["start"] for line in edges[:2])
    assert low < np.min(drawn["z"]) <= np.max(drawn["z"]) < high == -low
    attention, pooled, worse = (Estimate(error, 0.01) for error in (0.10, 0.12, 0.2))
    assert phase.gain((attention, pooled)) == 0.0
    assert math.log10(1.05) < phase.gain((attention, worse)) < math.log10(2.0)


@pytest.mark.system
def test_the_phase_diagram_has_a_line_for_the_best_learner():
    given = {"loss": "square", "x_axis": "n_tokens", "y_axis": "alpha", "signal": 3.0}
    values = checked("phase", given | {"error": 0.2})
    (line,) = phase._best_possible(values)
    assert line["name"] == "best possible: 20\N{NO-BREAK SPACE}% error"
    for length, alpha in list(zip(line["x"], line["y"], strict=True))[::4]:
        problem = st.SparseTokenProblem(round(length), 1, 3.0)
        assert st.theory.optimal(problem, alpha).test_error == pytest.approx(0.2, rel=1e-3)
    (turned,) = phase._best_possible(values | {"x_axis": "alpha", "y_axis": "n_tokens"})
    assert (turned["x"], turned["y"]) == (line["y"], line["x"])
    assert phase._best_possible(values | {"y_axis": "signal"}) == []
    assert phase._best_possible(values | {"n_signal": 2}) == []


def test_phase_needs_two_axes():
    with pytest.raises(ValueError, match="axes must differ"):
        draw("phase", {"x_axis": "reg", "y_axis": "reg"})


def test_the_phase_diagram_sums_up_when_its_map_is_there():
    given = ODD | {"x_axis": "signal", "y_axis": "reg", "n_tokens": 4}
    *coarse, full = lines("phase", given)
    assert coarse
    for line in coarse:
        assert line["sentence"].startswith("At the cross attention errs on ")
        assert line["sentence"].endswith("the map is being drawn.")
    assert trace(full, "now")["x"] == [4.0]
    table = full["table"]
    gains = [
        math.log10((pooled + 1e-4) / (attention + 1e-4))
        for attention, pooled in zip(table["two-step"], table["pooled"], strict=True)
    ]
    numbers = re.findall(r"(\d[\d.]*)\N{NO-BREAK SPACE}%", full["sentence"])
    for said, side in zip(numbers, (1, -1), strict=False):
        won = 100 * np.mean([side * gained > math.log10(1.05) for gained in gains])
        assert float(said) == pytest.approx(won, abs=2.0)  # but for what may be numerical error


def test_what_is_known_of_a_map_is_drawn_at_once():
    """A visitor who moves the cross has not waited for the finer grids."""
    given = ODD | {"x_axis": "signal", "y_axis": "reg", "n_tokens": 5}
    before = first("phase", given)
    sent = []
    with pytest.raises(EnoughError):
        phase.draw(checked("phase", given | {"signal": 6.0}), until_a_picture(sent))
    assert "figures" in sent[0]  # nothing had to be computed for it
    assert sent[0]["table"] == before["table"]
    assert trace(sent[0], "now")["x"] == [6.0]


def test_colors_of_the_phase_diagram_show_who_wins_by_little():
    assert phase.shade(math.log10(100)) == pytest.approx(1.0)
    assert phase.shade(math.log10(0.01)) == pytest.approx(-1.0)
    assert phase.shade(math.log10(0.9)) < -0.15
