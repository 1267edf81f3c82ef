"""Alignment is what the library computes, and its script gives the same."""

import pytest

import sparsetoken as st
from app.views.drawing import LAST, check, curve, draw, printed, rates

pytestmark = pytest.mark.filterwarnings("ignore::sparsetoken.theory.ConvergenceWarning")


def test_alignment():
    given = {"alpha0": 4.0, "positive_rate": 0.2}
    content = draw("alignment", given, LAST)
    values = check("alignment", given)
    problem = st.SparseTokenProblem(10, 1, 5.0, 0.2)
    shown = curve(content, "cosine")
    for i in (0, 24, 48):
        found = st.theory.alignment(problem, alpha=shown.x[i], **rates(values))
        assert shown.y[i] == pytest.approx(found.cosine, rel=1e-9)
    drawn = content.panels[1].map
    found = st.theory.alignment(
        st.SparseTokenProblem(10, 1, 5.0, drawn.x[3]),
        alpha=4.0,
        **rates(values) | {"lr_bias": drawn.y[5]},
    )
    assert drawn.z[5][3] == pytest.approx(found.cosine, rel=1e-9)
    here = st.theory.alignment(problem, alpha=4.0, **rates(values))
    assert f"a cosine of {here.cosine:.3f}" in content.sentence
    assert content.facts["sharpness, κ"] == f"{here.sharpness:.4g}"
    assert printed(content)[-49:] == pytest.approx(shown.y, abs=2e-5)
