"""The attention map shows drawn weights, and its script draws the same."""

import numpy as np
import pytest

from app.views.drawing import curve, draw, printed

pytestmark = pytest.mark.filterwarnings("ignore::sparsetoken.theory.ConvergenceWarning")


def test_attention_map():
    given = {"n_tokens": 12, "n_signal": 3, "signal": 4.0, "random_state": 5}
    content = draw("attention-map", given)
    weights = np.reshape(content.table["weight"], (2, 12))
    assert weights.sum(axis=1) == pytest.approx([1.0, 1.0])
    assert sum(content.table["carries_signal"]) == 3
    assert content.table["token"] == [*range(12)] * 2  # as in Python and on the command line
    drawn = curve(content, "signal tokens").x + curve(content, "noise tokens").x
    assert sorted(drawn) == [*range(12)]
    shown = sum(curve(content, "signal tokens").y)
    assert content.facts["weight on signal tokens"] == f"{shown:.4f}"
    assert [found.name for found in content.panels[1].curves] == ["noise tokens"]
    left, right = content.panels
    assert left.y.ends == right.y.ends  # bars can be compared
    assert max(content.table["weight"]) < left.y.ends[1] < 1.1 * max(content.table["weight"])
    assert printed(content) == pytest.approx(content.table["weight"], abs=1e-4)
