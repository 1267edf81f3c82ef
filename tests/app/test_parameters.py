"""The examples to begin with."""

import pytest

from app.views.drawing import curve, draw
from sparsetoken.app.parameters import PRESETS, values_model
from sparsetoken.app.views import VIEWS

pytestmark = pytest.mark.filterwarnings("ignore::sparsetoken.theory.ConvergenceWarning")


@pytest.mark.system
@pytest.mark.parametrize("preset", PRESETS)
def test_attention_has_something_to_find_in_every_preset(preset):
    given = {n: v for n, v in PRESETS[preset].items() if n in VIEWS["learning"].names}
    attention, pooled = (
        curve(draw("learning", given), n).y[-1] for n in ("two-step attention", "pooled")
    )
    if given.get("quantity") == "recall":
        assert attention > 0.9 > 0.2 > pooled
    else:
        assert attention < 0.03 < 0.2 < pooled


@pytest.mark.parametrize("preset", PRESETS)
def test_presets_fit_every_view(preset):
    for view in VIEWS.values():
        values = {k: v for k, v in PRESETS[preset].items() if k in view.names}
        values_model("Values", view.names, view.defaults)(**values)
