"""What all views have in common; what each of them shows is tested in views/."""

import numpy as np
import pytest

from app.views.drawing import ODD, SPREAD, check, commanded, draw
from sparsetoken.app.views import VIEWS

pytestmark = pytest.mark.filterwarnings("ignore::sparsetoken.theory.ConvergenceWarning")


@pytest.mark.parametrize("view", [name for name in VIEWS if name != "planner"])
def test_first_and_last_picture(view):
    given = {"x_axis": "n_signal", "y_axis": "signal", "n_tokens": 3} if view == "phase" else {}
    pictures = list(VIEWS[view].draw(check(view, ODD | given)))
    assert [picture.more for picture in pictures] == [True] * (len(pictures) - 1) + [False]
    for content in pictures:
        assert content.sentence[0].isupper()
        assert content.sentence[-1] == "."
        assert "nan" not in content.sentence
        assert len(content.sentence) < 400
        for panel in content.panels:
            for found in panel.curves:
                assert len(found.x) == len(found.y)
                assert np.all(np.isfinite([*found.x, *found.y]))


@pytest.mark.parametrize("spread", [{}, SPREAD], ids=["one kind", "four kinds"])
@pytest.mark.parametrize("view", ["alignment", "attention-map", "phase"])
def test_commands_run(view, spread, capsys):
    spread = {name: value for name, value in spread.items() if name in VIEWS[view].names}
    content = draw(view, ODD | spread)
    numbers = commanded(content, capsys)
    if view == "alignment":
        shown = [content.facts["cosine between query and signal, γ"], content.facts["sharpness, κ"]]
        assert numbers == pytest.approx([float(text) for text in shown], rel=1e-3)
