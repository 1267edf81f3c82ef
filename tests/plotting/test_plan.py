import itertools

import pytest

from sparsetoken.plotting import draw_plan

SHARED = {
    "model": "attention",
    "quantity": "n_samples",
    "metric": "error",
    "title": "the answer",
    "n_samples": 200,
    "dim": 50,
    "n_tokens": 10,
}
CURVE = [
    SHARED | {"part": "curve", "x": x, "value": v} for x, v in ((100, 0.2), (400, 0.03), (200, 0.1))
]
PLAN = SHARED | {"part": "plan", "x": 200, "value": 0.1}
OTHERS = [
    SHARED | {"part": "alternative", "model": model, "x": 200, "value": value}
    for model, value in (("pooled", 0.300), ("vectorized", 0.301), ("bayes", 0.01))
]
TARGET = SHARED | {"part": "target", "x": 200, "value": 0.1}


def test_curve_plan_target_and_alternatives():
    (ax,) = draw_plan([*CURVE, PLAN, *OTHERS, TARGET]).axes
    curve, star, *levels = ax.lines
    assert curve.get_xdata().tolist() == [100, 200, 400]
    assert curve.get_ydata().tolist() == [0.2, 0.1, 0.03]
    assert (star.get_xdata()[0], star.get_ydata()[0]) == (200, 0.1)
    assert [line.get_ydata()[0] for line in levels] == [0.3, 0.301, 0.01, 0.1]
    assert {text.get_text() for text in ax.texts} == {
        "attention",
        "pooled",
        "vectorized",
        "bayes",
        "target",
    }


def test_labels_do_not_overlap():
    figure = draw_plan([*CURVE, PLAN, *OTHERS, TARGET])
    figure.draw_without_rendering()
    boxes = sorted((text.get_window_extent() for text in figure.axes[0].texts), key=lambda b: b.y0)
    for below, above in itertools.pairwise(boxes):
        assert above.y0 >= below.y1 - 1.0


@pytest.mark.parametrize(("low", "high"), [(0.29, 0.33), (0.02, 0.4), (1e-5, 0.4)])
def test_axes_have_a_few_plain_labels(low, high):
    rows = [
        SHARED | {"part": "curve", "x": 100, "value": high},
        SHARED | {"part": "curve", "x": 400, "value": low},
    ]
    figure = draw_plan([*rows, rows[1] | {"part": "plan"}])
    figure.draw_without_rendering()
    shown = [float(label.get_text()) for label in figure.axes[0].get_yticklabels()]
    assert 3 <= len(shown) <= 7
    assert all(0.9 * low < value < 1.1 * high for value in shown)


def test_caption_names_what_was_planned_with():
    text = draw_plan([*CURVE, PLAN]).get_suptitle()
    assert text.startswith("the answer\n")
    assert "L = 10" in text
    assert "n = " not in text  # it varies
    assert "π = 0.533" in draw_plan([*CURVE, PLAN | {"positive_rate": 0.5333333}]).get_suptitle()
    moved = [row | {"quantity": "signal"} for row in (*CURVE, PLAN)]
    assert "n = 200" in draw_plan(moved).get_suptitle()
