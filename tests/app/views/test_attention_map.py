"""The attention map shows drawn weights, and its script draws the same."""

import pytest

from app.views.drawing import check, curve, draw, printed
from sparsetoken.app.views import attention_map

pytestmark = pytest.mark.filterwarnings("ignore::sparsetoken.theory.ConvergenceWarning")


def test_attention_map():
    given = {"n_tokens": 12, "n_signal": 3, "signal": 4.0, "random_state": 5}
    content = draw("attention-map", given)
    drawn, _ = attention_map.draw_sequences(check("attention-map", given))
    assert content.table["weight"] == pytest.approx(drawn.weights.ravel())
    assert drawn.weights.sum(axis=2).ravel() == pytest.approx([1.0, 1.0])
    assert sum(content.table["carries_signal"]) == 3
    shown = sum(curve(content, "signal tokens").y)
    assert content.facts["weight on signal tokens"] == f"{shown:.4f}"
    assert [found.name for found in content.panels[1].curves] == ["noise tokens"]
    left, right = content.panels
    assert left.y.ends == right.y.ends  # bars can be compared
    assert max(content.table["weight"]) < left.y.ends[1] < 1.1 * max(content.table["weight"])
    assert printed(content) == pytest.approx(content.table["weight"], abs=1e-4)
