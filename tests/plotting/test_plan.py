import itertools

import pytest

from sparsetoken.plotting import draw_pilot, draw_plan

PLAN = {
    "model": "two-step",
    "label": "test error",
    "answer": "the answer",
    "error": 0.1,
    "target": 0.1,
    "n_samples": 200,
    "dim": 50,
    "n_tokens": 10,
    "signal": 3.0,
    "alternatives": {"pooled": 0.300, "vectorized": 0.301, "bayes": 0.01},
    "curve": {"quantity": "n_samples", "values": [100, 400, 200], "errors": [0.2, 0.03, 0.1]},
}


def test_curve_plan_target_and_alternatives():
    (ax,) = draw_plan(PLAN).axes
    curve, star, *levels = ax.lines
    assert curve.get_xdata().tolist() == [100, 200, 400]
    assert curve.get_ydata().tolist() == [0.2, 0.1, 0.03]
    assert (star.get_xdata()[0], star.get_ydata()[0]) == (200, 0.1)
    assert [line.get_ydata()[0] for line in levels] == [0.3, 0.301, 0.01, 0.1]
    assert {text.get_text() for text in ax.texts} == {
        "two-step attention",
        "pooled",
        "vectorized",
        "Bayes",
        "target",
    }


def test_labels_do_not_overlap():
    figure = draw_plan(PLAN)
    figure.draw_without_rendering()
    boxes = sorted((text.get_window_extent() for text in figure.axes[0].texts), key=lambda b: b.y0)
    for below, above in itertools.pairwise(boxes):
        assert above.y0 >= below.y1 - 1.0


@pytest.mark.parametrize(("low", "high"), [(0.29, 0.33), (0.02, 0.4), (2e-4, 0.4)])
def test_axes_have_a_few_plain_labels(low, high):
    curve = {"quantity": "n_samples", "values": [100, 400], "errors": [high, low]}
    alone = {"curve": curve, "error": low, "target": None, "alternatives": {}}
    figure = draw_plan(PLAN | alone)
    figure.draw_without_rendering()
    axes = figure.axes[0]
    bottom, top = axes.get_ylim()
    inside = [label for label in axes.get_yticklabels() if bottom <= label.get_position()[1] <= top]
    assert 3 <= len(inside) <= 7
    assert [float(label.get_text()) for label in inside] == pytest.approx(
        [label.get_position()[1] for label in inside]
    )


def test_caption_names_what_was_planned_with():
    text = draw_plan(PLAN).get_suptitle()
    assert text.startswith("the answer\n")
    assert "L = 10" in text
    assert "n = " not in text  # it varies
    assert "π = 0.533" in draw_plan(PLAN | {"positive_rate": 0.5333333}).get_suptitle()
    moved = PLAN["curve"] | {"quantity": "signal"}
    assert "n = 200" in draw_plan(PLAN | {"curve": moved}).get_suptitle()


PILOT = {
    "answer": "About 200 samples",
    "label": "test error",
    "source": "pilot",
    "n_samples": 200,
    "interval": [150, 300],
    "target": 0.1,
    "observed": [
        {"n_samples": 20, "error": 0.4, "standard_error": 0.05},
        {"n_samples": 80, "error": 0.2, "standard_error": 0.03},
    ],
    "curve": {
        "n_samples": [10, 100, 1000],
        "lower": [0.4, 0.1, 0.01],
        "median": [0.45, 0.18, 0.05],
        "upper": [0.5, 0.25, 0.1],
    },
}


def test_pilot_shows_errors_fan_target_and_answer():
    figure = draw_pilot(PILOT)
    (ax,) = figure.axes
    median, target, star = (
        [line for line in ax.lines if line.get_label() == label]
        for label in ("expected", "target", "plan")
    )
    assert median[0].get_ydata().tolist() == [0.45, 0.18, 0.05]
    bars = next(c for c in ax.containers if c.get_label().startswith("seen on the pilot"))
    assert bars.lines[0].get_ydata().tolist() == [0.4, 0.2]
    fan = ax.collections[0].get_paths()[0].vertices
    assert fan[:, 1].min() == 0.01
    assert fan[:, 1].max() == 0.5
    assert target[0].get_ydata()[0] == 0.1
    assert star[0].get_xdata()[0] == 200
    assert [150, 300] in [list(line.get_xdata()) for line in ax.lines]
    assert figure.get_suptitle() == "About 200 samples"


def test_pilot_without_an_answer():
    (ax,) = draw_pilot(PILOT | {"n_samples": None, "interval": None}).axes
    assert "plan" not in [line.get_label() for line in ax.lines]
