"""The controls: what they allow, alone and together, and the examples to begin with."""

import math

import pytest

from app.views.drawing import checked, first, trace
from sparsetoken.app.parameters import CONTROLS, DEPENDENT, PRESETS, check
from sparsetoken.app.views import VIEWS

pytestmark = pytest.mark.filterwarnings("ignore::sparsetoken.theory.ConvergenceWarning")


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("n_tokens", 0, r"^Sequence length must be an integer in \[1, 1000\], got 0$"),
        ("n_tokens", 2.5, "Sequence length must be an integer"),
        ("signal", "much", "Signal strength must be a finite number"),
        ("signal", None, "Signal strength must be a finite number"),
        ("signal", math.nan, "Signal strength"),
        ("loss", "zero", "Loss must be one of 'logistic', 'square', 'hinge', got 'zero'"),
        ("features", 3, "Features per token"),
    ],
)
def test_limits_are_those_of_the_sliders(name, value, words):
    with pytest.raises(ValueError, match=words):
        check(CONTROLS[name], value)


def test_controls_that_depend_on_others_are_there():
    for name, (other, value, _) in DEPENDENT.items():
        assert name in CONTROLS
        assert check(CONTROLS[other], value) == value


@pytest.mark.parametrize("preset", PRESETS)
def test_attention_has_something_to_find_in_every_preset(preset):
    given = {n: v for n, v in PRESETS[preset].items() if n in VIEWS["learning"].controls}
    picture = first("learning", given)
    attention, pooled = (trace(picture, n)["y"][-1] for n in ("two-step attention", "pooled"))
    if given.get("quantity") == "recall":
        assert attention > 0.9 > 0.2 > pooled
    else:
        assert attention < 0.03 < 0.2 < pooled


@pytest.mark.parametrize("preset", PRESETS)
def test_presets_fit_every_view(preset):
    for view in VIEWS.values():
        checked(view.name, {k: v for k, v in PRESETS[preset].items() if k in view.controls})
