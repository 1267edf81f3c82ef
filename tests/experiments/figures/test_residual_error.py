import math

import pytest
from figure_tables import only, where

import sparsetoken as st
from invented_figures import invented
from sparsetoken.experiments import draw_figure
from sparsetoken.plotting import select


@pytest.mark.statistical
def test_residual_error(table):
    cosines = [-0.5, 0.3, 1.0]
    rows = table("residual-error", sharpness=[1.0, 3.0], lines=cosines, points=[0.3], dim=40)
    pooled = only(rows, model="pooled")
    problem = st.SparseTokenProblem(10, 1, 5.0)
    limit = st.theory.risk(problem, "pooled", alpha=math.inf, reg=1e-3).test_error
    assert pooled == pytest.approx(limit, rel=1e-6)
    for sharpness in (1.0, 3.0):
        errors = [
            only(where(rows, model="attention", alpha=math.inf), sharpness=sharpness, cosine=cosine)
            for cosine in cosines
        ]
        assert errors[0] > pooled > errors[2]
        (row,) = where(rows, source="simulation", sharpness=sharpness)
        finite = st.theory.risk(
            problem, "attention", alpha=100.0, reg=1e-3, cosine=0.3, sharpness=sharpness
        ).test_error
        assert errors[1] < finite
        assert abs(row["value"] - finite) < 4 * row["uncertainty"] + 0.01 * finite


def test_residual_error_compares_with_pooling():
    rows = invented("residual-error")
    (pooled,) = select(rows, model="pooled")
    assert math.isinf(pooled["alpha"])
    ax = draw_figure("residual-error", rows).axes[0]
    levels = [line.get_ydata() for line in ax.lines if line.get_label() == "pooled, α → ∞"]
    assert [list(level) for level in levels] == [[pooled["value"]] * 2]
