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
    assert len(pictures) > 1
    for line in pictures:
        assert len(line["sentence"]) < 400
        assert line["sentence"][0].isupper()
        assert line["sentence"][-1] == "."
        for figure in line["figures"]:
            check_figure(figure)


@pytest.mark.parametrize(
    ("ends", "labels"),
    [
        ((0.1, 1.0), ["0.1", "0.2", "0.3", "0.5", "0.7", "1"]),
        ((0.1, 20.0), ["0.1", "0.2", "0.5", "1", "2", "5", "10", "20"]),
        ((1e-6, 100.0), ["1e-06", "1e-05", "0.0001", "0.001", "0.01", "0.1", "1", "10", "100"]),
    ],
)
def test_ticks_of_a_logarithmic_axis(ends, labels):
    found = figures.axis("x_1", ends, logarithmic=True)
    assert found["title"]["text"] == "x<sub>1</sub>"
    assert found["range"] == pytest.approx([math.log10(end) for end in ends])
    low, high = 0.999 * ends[0], 1.001 * ends[1]
    pairs = zip(found["tickvals"], found["ticktext"], strict=True)
    assert [text for tick, text in pairs if low <= tick <= high] == labels


def test_samples_are_counted_where_the_dimension_is_known():
    found = figures.quantity_axis("alpha", 50, ends=(0.1, 20.0))
    assert "1<br>n=50" in found["ticktext"]
    assert "2" in found["ticktext"]
    assert all("n=" not in text for text in figures.quantity_axis("reg", 50, over=[1])["ticktext"])


def test_a_curve_for_each_model_without_what_is_not_known():
    rows = [("pooled", 1, 0.4, "x"), ("pooled", 2, None, "x"), ("two-step", 1, None, "x")]
    (pooled,) = figures.model_curves(rows)
    assert (pooled["name"], pooled["x"], pooled["y"]) == ("pooled", [1.0], [0.4])
    assert pooled["line"]["color"] == look("pooled").color
    assert figures.color_of("optimal") == figures.INK  # black would vanish in the dark


def test_marks_lie_across():
    shape, label = figures.mark("now", x=100.0, log=True)
    assert (shape["x0"], shape["x1"], shape["yref"]) == (100.0, 100.0, "y domain")
    assert label["x"] == 2.0  # labels of a logarithmic axis have exponents
    shape, label = figures.mark("floor", y=0.5)
    assert (shape["y0"], shape["xref"], label["y"]) == (0.5, "x domain", 0.5)
