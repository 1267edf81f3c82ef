import pytest
from figure_tables import only

import sparsetoken as st
from invented_figures import assert_shown, invented
from sparsetoken.experiments import draw_figure
from sparsetoken.plotting import select


def test_kinds(table):
    rows = table(
        "kinds",
        kinds=[1, 3],
        points=[3],
        dims={"one query": 60, "optimal": 60, "classifier": 6},
        alpha=4.0,
        trials=2,
        many=[1, 4],
    )
    best = st.theory.optimal(st.SparseTokenProblem(10, 1, 6.0, n_kinds=3), 4.0).test_error
    found = only(rows, model="optimal", source="theory", quantity="test_error", n_kinds=3)
    assert found == best
    drawn = only(rows, model="optimal", source="simulation", quantity="test_error")
    assert drawn == pytest.approx(best, rel=0.5)
    needed = select(rows, quantity="required_signal", model="pooled")
    assert needed[1]["value"] == pytest.approx(2.0 * needed[0]["value"], rel=1e-5)


def test_kinds_shows_errors_and_required_signals():
    rows = invented("kinds")
    left, right = draw_figure("kinds", rows).axes
    complete = [{"n_kinds": 1} | row for row in rows]
    assert_shown(left, select(complete, quantity="test_error"), "n_kinds")
    assert_shown(right, select(complete, quantity="required_signal"), "n_kinds")
    assert [tick for tick in left.get_xticks() if tick <= 3.0] == [1.0, 3.0]
