"""Recall is what the library computes, and its script gives the same."""

import pytest

import sparsetoken as st
from app.views.drawing import ODD, curve, draw, printed

pytestmark = pytest.mark.filterwarnings("ignore::sparsetoken.theory.ConvergenceWarning")


def test_recall():
    content = draw("recall", ODD | {"fpr": 0.02}, 1)
    problem = st.SparseTokenProblem(10, 1, 4.0, 0.4)
    pooled = st.theory.risk(problem, "pooled", alpha=2.0, reg=0.01, loss="square")
    shown = curve(content, "pooled")
    for i in (0, 20, 40):
        assert shown.y[i] == pytest.approx(pooled.recall(fpr=shown.x[i]), rel=1e-5)
    assert content.facts["recall of pooled"].startswith(f"{pooled.recall(fpr=0.02):.4f} ± ")
    numbers = printed(content)
    facts = [float(text.split()[0]) for text in content.facts.values()]
    assert [numbers[0], numbers[2], numbers[4]] == pytest.approx(facts[:3], abs=2e-3)
