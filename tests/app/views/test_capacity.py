"""Capacities are what the library computes, and their script gives the same."""

import pytest

import sparsetoken as st
from app.views.drawing import draw, printed

pytestmark = pytest.mark.filterwarnings("ignore::sparsetoken.theory.ConvergenceWarning")


@pytest.mark.parametrize("axis", ["signal", "n_tokens"])
def test_capacity(axis):
    content = draw("capacity", {"capacity_axis": axis})
    table = content.table
    rows = list(zip(table["model"], table[axis], table["capacity"], strict=True))
    for model, x, shown in rows[len(rows) // 3 :: 2]:
        problem = st.SparseTokenProblem(**{"n_tokens": 10, "signal": 5.0} | {axis: x})
        if shown is not None:
            assert shown == pytest.approx(float(st.theory.capacity(problem, model)), rel=1e-6)
    facts = [float(value) for value in draw("capacity", {"capacity_axis": axis}, 1).facts.values()]
    assert printed(content)[::2] == pytest.approx(facts, rel=5e-3)  # and error bars
