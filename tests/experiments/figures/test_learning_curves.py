import pytest
from figure_tables import assert_agree, only

import sparsetoken as st


@pytest.mark.statistical
def test_learning_curves(table):
    points = [1.0, 4.0]
    rows = table(
        "learning-curves", lines=points, points=points, vectorized_points=[1.0], dim=100, trials=12
    )
    assert_agree(rows, ("model", "alpha", "quantity"), dim=100)
    errors = {
        m: only(rows, source="theory", model=m, alpha=4.0, quantity="test_error")
        for m in ("optimal", "two-step", "pooled", "vectorized")
    }
    assert errors["optimal"] < errors["two-step"]
    assert errors["two-step"] < 0.2 * errors["pooled"] < 0.2 * errors["vectorized"]
    problem = st.SparseTokenProblem(10, 1, 5.0)
    expected = st.theory.risk(problem, "pooled", alpha=4.0, reg=1e-5)
    assert errors["pooled"] == pytest.approx(expected.test_error, rel=1e-6)
