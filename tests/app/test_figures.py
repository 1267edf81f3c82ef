"""Figures: axes that can be read, curves in the colors of their models."""

import json
import math

import numpy as np
import pytest

from app.views.drawing import ODD, lines
from sparsetoken.app import figures
from sparsetoken.app.views import VIEWS
from sparsetoken.models import look

pytestmark = pytest.mark.filterwarnings("ignore::sparsetoken.theory.ConvergenceWarning")


def check_figure(figure):
    json.dumps(figure, allow_nan=False)
    for trace in figure["data"]:
        assert len(trace["x"]) == (len(trace["z"][0]) if "z" in trace else len(trace["y"]))
        assert np.all(np.isfinite([*trace["x"], *trace["y"]]))


@pytest.mark.system
@pytest.mark.parametrize("view", [name for name in VIEWS if name != "planner"])
def test_first_and_last_picture(view):
    given = {"x_axis": "n_signal", "y_axis": "signal", "n_tokens": 3} if view == "phase" else {}
    pictures = [line for line in lines(view, ODD | given) if "figures" in line]
    assert len(pictures) > (view != "alignment")  # which is quick
    for line in pictures:
        assert len(line["sentence"]) < 400
        assert line["sentence"][0].isupper()
        assert line["sentence"][-1] == "."
        for figure in line["figures"]:
            check_figure(figure)


def test_a_logarithmic_axis():
    narrow, wide = (figures.axis("x_1", (0.1, end), logarithmic=True) for end in (20.0, 1e4))
    assert narrow["title"]["text"] == "x<sub>1</sub>"
    assert narrow["range"] == pytest.approx([-1.0, math.log10(20.0)])
    assert (narrow["dtick"], wide["dtick"]) == ("D2", 1)  # 1 2 5, and powers of ten


def test_samples_are_counted_beside_their_number_per_dimension():
    assert figures.quantity_axis("alpha", dim=50)["title"]["text"].endswith("α (n = 50 α)")
    assert "n =" not in figures.quantity_axis("reg", dim=50)["title"]["text"]


def test_a_curve_for_each_model_without_what_is_not_known():
    rows = [("pooled", 1, 0.4, "x"), ("pooled", 2, None, "x"), ("two-step", 1, None, "x")]
    (pooled,) = figures.model_curves(rows)
    assert (pooled["name"], pooled["x"], pooled["y"]) == ("pooled", [1.0], [0.4])
    assert pooled["line"]["color"] == look("pooled").color
    assert figures.color_of("optimal") == figures.INK  # black would vanish in the dark


def test_marks_lie_across():
    upright, level = figures.mark("now", x=100.0), figures.mark("floor", y=0.5)
    assert (upright["x0"], upright["x1"], upright["yref"]) == (100.0, 100.0, "y domain")
    assert (level["y0"], level["y1"], level["xref"]) == (0.5, 0.5, "x domain")
    assert (upright["label"]["text"], level["label"]["text"]) == ("now", "floor")
