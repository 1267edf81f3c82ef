import pytest
from figure_tables import only, where

import sparsetoken as st
from invented_figures import assert_shown, invented, points_on
from sparsetoken.experiments import draw_figure
from sparsetoken.plotting import select


def test_hard_phase(table):
    rows = table(
        "hard-phase",
        lengths=[20, 200],
        length_points=[20],
        alphas=[0.5],
        n_tokens=200,
        lines=[0.15],
        points=[0.15, 1.0],
        dims=[50, 100],
        trials=4,
    )
    problem = st.SparseTokenProblem(200, 1, 5.0)
    found = st.theory.learning_thresholds(problem)
    assert only(rows, quantity="iteration_threshold", n_tokens=200) == found.iteration
    nothing, best = where(rows, panel="curve", source="theory", alpha=0.15)[::-1]
    assert (best["value"], nothing["value"]) == (
        st.theory.optimal(problem, 0.15).cosine,
        st.theory.optimal(problem, 0.15).from_nothing.cosine,
    )
    curve = where(rows, panel="curve", source="simulation", dim=100)
    assert {r["alpha"]: r["value"] > 0.6 for r in curve} == {0.15: False, 1.0: True}
    assert only(rows, panel="phases", source="simulation", dim=100) > 0.8


def test_hard_phase_shows_each_simulation_in_its_half():
    rows = invented("hard-phase")
    axes = draw_figure("hard-phase", rows).axes
    halves = {
        (line.get_xdata()[0], line.get_ydata()[0], line.get_fillstyle()): line.get_color()
        for line in axes[0].lines
        if line.get_marker() == "o"
    }
    simulated = select(rows, panel="phases", source="simulation")
    assert len(halves) == len(simulated)
    for row in simulated:
        half = {100: "left", 400: "right"}[row["dim"]]
        shade = float(halves[row["alpha"], row["n_tokens"], half])
        assert shade == pytest.approx(1.0 - row["value"], abs=1e-3)
    for name in ("information_threshold", "iteration_threshold"):
        for row in select(rows, quantity=name):
            assert (round(row["value"], 9), row["n_tokens"]) in points_on(axes[0])
    assert_shown(axes[1], select(rows, panel="curve"), "alpha")
    assert {text.get_text() for text in axes[0].texts} == {"impossible", "hard", "easy"}
