"""Training step by step is what the library computes, and its script gives the same."""

import pytest

import sparsetoken as st
from app.views.drawing import checked, draw, first, printed, trace
from sparsetoken.app.words import per_cent

pytestmark = pytest.mark.filterwarnings("ignore::sparsetoken.theory.ConvergenceWarning")
TRAINING = {"quantity": "training"}


def test_training():
    given = TRAINING | {"steps": 4, "signal": 4.0}
    picture = draw("learning", given)
    values = checked("learning", given)
    found = st.theory.training(
        st.SparseTokenProblem(10, 1, 4.0),
        steps=4,
        alpha=2.0,
        batches="online",
        reg=values["reg"],
        n_points=2048,
        lr_readout=2.0,
        lr_bias=2.0,
        lr_query=1.0,
    )
    assert trace(picture, "query", 1)["y"] == pytest.approx(found.cosine)
    assert trace(picture, "test error")["y"] == pytest.approx(found.test_error)
    assert printed(picture) == pytest.approx([*found.cosine, *found.test_error], abs=2e-5)
    assert f"the test error is {per_cent(found.test_error[-1])}" in picture["sentence"]
    assert picture["command"] == ""


def test_training_opens_on_a_curve_that_falls():
    picture = first("learning", TRAINING)
    errors = picture["table"]["test_error"]
    assert errors == sorted(errors, reverse=True)
    assert picture["sentence"].endswith(", the lowest so far.")


@pytest.mark.system
def test_training_that_runs_away_is_drawn_as_far_as_it_goes():
    given = TRAINING | {"loss": "square", "step_readout": 50.0, "step_query": 50.0, "steps": 12}
    picture = draw("learning", given | {"batches": "fresh", "reg": 1e-6})
    assert trace(picture, "query", 1)["x"] == [1, 2] == picture["table"]["step"]
    assert "After 2 steps" in picture["sentence"]
    assert "cannot be followed" in picture["sentence"]
    with pytest.raises(ValueError, match="first step already runs away"):
        draw("learning", given)
