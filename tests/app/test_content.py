"""What all views have in common, and what they are made of; views/ tests what each shows."""

import numpy as np
import pytest

from app.views.drawing import ODD, check
from sparsetoken.app.content import View, majority, model_lines
from sparsetoken.app.views import VIEWS

pytestmark = pytest.mark.filterwarnings("ignore::sparsetoken.theory.ConvergenceWarning")


@pytest.mark.system
@pytest.mark.parametrize("view", [name for name in VIEWS if name != "planner"])
def test_first_and_last_picture(view):
    given = {"x_axis": "n_signal", "y_axis": "signal", "n_tokens": 3} if view == "phase" else {}
    pictures = list(VIEWS[view].draw(check(view, ODD | given)))
    assert len(pictures) == len({picture.model_dump_json() for picture in pictures})
    for content in pictures:
        assert content.sentence[0].isupper()
        assert content.sentence[-1] == "."
        assert "nan" not in content.sentence
        assert len(content.sentence) < 400
        for panel in content.panels:
            for found in panel.curves:
                assert len(found.x) == len(found.y)
                assert np.all(np.isfinite([*found.x, *found.y]))


def test_a_line_for_each_model_without_what_is_not_known():
    rows = [("pooled", 1, 0.4, "x"), ("pooled", 2, None, "x"), ("two-step", 1, None, "x")]
    pooled, attention = model_lines(rows, ", again", look="points")
    assert (pooled.name, pooled.model, pooled.look) == ("pooled, again", "pooled", "points")
    assert (pooled.x, pooled.y, attention.x) == ([1.0], [0.4], [])


def test_names_of_groups_stand_for_their_controls():
    view = View("name", "Title", "Why?", ("fpr", "Learning rates"), draw=lambda values: iter(()))
    assert view.names == ("fpr", "beta", "lr_readout", "lr_bias", "lr_query")


@pytest.mark.parametrize(("rate", "target", "said"), [(0.3, 0.4, True), (0.8, 0.1, False)])
def test_the_majority_is_said_where_it_meets_the_target(rate, target, said):
    (line,), sentence = majority({"positive_rate": rate, "error": target}, (1, 2))
    assert line.y == pytest.approx([min(rate, 1 - rate)] * 2)
    assert bool(sentence) == said
    assert majority({"positive_rate": 0.5}) == ([], "")
