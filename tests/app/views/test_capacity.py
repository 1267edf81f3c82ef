"""Capacities are what the library computes, and their script gives the same."""

import pytest

import sparsetoken as st
from app.views.drawing import draw, printed, trace

pytestmark = pytest.mark.filterwarnings("ignore::sparsetoken.theory.ConvergenceWarning")


@pytest.mark.parametrize("axis", ["signal", pytest.param("n_tokens", marks=pytest.mark.system)])
def test_capacity(axis):
    given = {"capacity_axis": axis}
    picture = draw("capacity", given)
    table = picture["table"]
    rows = list(zip(table["model"], table[axis], table["capacity"], strict=True))
    linear = [row for row in rows if row[0] != "two-step" and row[2] is not None]
    for model, x, shown in linear[::5]:
        problem = st.SparseTokenProblem(**{"n_tokens": 10, "signal": 5.0} | {axis: x})
        assert shown == pytest.approx(float(st.theory.capacity(problem, model)), rel=1e-6)
    now = [most for _, x, most in rows if x == {"signal": 5.0, "n_tokens": 10}[axis]]
    found = printed("capacity", given)[::2]  # the others are error bars
    assert found == pytest.approx(now, rel=0.02)  # of fewer points
    assert found[1:] == pytest.approx(now[1:], rel=1e-5)
    assert all(f" {most:.3g} samples per dimension" in picture["sentence"] for most in now)
    assert trace(picture, "pooled")["y"] == [most for model, _, most in rows if model == "pooled"]
