"""Training step by step is what the library computes, and its script gives the same."""

import pytest

import sparsetoken as st
from app.views.drawing import check, curve, draw, printed, rates
from sparsetoken.app.words import per_cent

pytestmark = pytest.mark.filterwarnings("ignore::sparsetoken.theory.ConvergenceWarning")


def test_training():
    given = {"steps": 4, "signal": 4.0, "batches": "reused"}
    content = draw("training", given, 1)
    values = check("training", given)
    found = st.theory.training(
        st.SparseTokenProblem(10, 1, 4.0),
        steps=4,
        alpha=2.0,
        batches="reused",
        reg=values["reg"],
        n_points=16384,
        **rates(values),
    )
    assert curve(content, "query").y == pytest.approx(found.cosine)
    assert curve(content, "test error", 1).y == pytest.approx(found.test_error)
    assert printed(content) == pytest.approx([*found.cosine, *found.test_error], abs=2e-5)

    *_, last = found.test_error
    assert f"the test error is {per_cent(last)}" in content.sentence
    assert content.sentence.count("%") == (1 if last == min(found.test_error) else 2)
    colors = [line.color for panel in content.panels for line in panel.curves]
    assert len(set(colors)) == len(colors) == 3


@pytest.mark.system
@pytest.mark.parametrize(
    ("given", "ending"),
    [({}, ", the lowest so far."), ({"loss": "square"}, "; it was lowest after step 1, at ")],
)
def test_training_says_which_step_was_best(given, ending):
    content = draw("training", given)
    errors = content.table["test_error"]
    assert errors.index(min(errors)) == (0 if given else 9)
    assert ending in content.sentence


@pytest.mark.system
@pytest.mark.filterwarnings("ignore::sparsetoken.theory.ConvergenceWarning")
def test_training_that_runs_away_is_drawn_as_far_as_it_goes():
    given = {"loss": "square", "lr_readout": 50.0, "lr_query": 50.0, "steps": 12}
    content = draw("training", given)
    assert curve(content, "query").x == [1, 2] == content.table["step"]
    assert "After 2 steps" in content.sentence
    assert "cannot be followed" in content.sentence
    with pytest.raises(ValueError, match="first step already runs away"):
        draw("training", given | {"batches": "online"})
