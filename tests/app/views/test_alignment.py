"""The alignment is what the library computes; the drawn tokens are those of its script."""

import numpy as np
import pytest

import sparsetoken as st
from app.views.drawing import ODD, checked, draw, first, names, printed, rates, trace

pytestmark = pytest.mark.filterwarnings("ignore::sparsetoken.theory.ConvergenceWarning")


def test_alignment():
    given = {"n_tokens": 12, "n_signal": 3, "signal": 4.0, "random_state": 5}
    picture = draw("alignment", given)
    values = checked("alignment", given)
    found = st.theory.alignment(st.SparseTokenProblem(12, 3, 4.0), alpha=2.0, **rates(values))
    assert picture["facts"]["cosine between query and signal, γ"] == f"{found.cosine:.4g}"
    x, y = (trace(picture, "cosine")[axis] for axis in "xy")
    assert len(x) == 49
    assert y[24] == pytest.approx(
        st.theory.alignment(st.SparseTokenProblem(12, 3, 4.0), alpha=x[24], **rates(values)).cosine
    )
    table = picture["table"]
    weights = table["weight_in_positive"] + table["weight_in_negative"]
    assert printed("alignment", given)[-24:] == pytest.approx(weights, abs=1e-4)


def test_tokens():
    given = {"n_tokens": 12, "n_signal": 3, "signal": 4.0, "random_state": 5}
    picture = first("alignment", given)
    table = picture["table"]
    assert table["token"] == [*range(12)]  # as in Python and on the command line
    assert sum(table["carries_signal"]) == 3
    weights = np.array([table["weight_in_positive"], table["weight_in_negative"]])
    assert weights.sum(axis=1) == pytest.approx([1.0, 1.0])
    signal, noise = (trace(picture, name, 1) for name in ("signal tokens", "noise tokens"))
    assert sorted(signal["x"] + noise["x"]) == [*range(12)]
    assert picture["facts"]["weight on signal tokens"] == f"{sum(signal['y']):.4f}"
    assert names(picture, 2) == ["noise tokens"]
    tops = [figure["layout"]["yaxis"]["range"][1] for figure in picture["figures"][1:]]
    assert tops[0] == tops[1]  # bars can be compared
    assert weights.max() < tops[0] < 1.1 * weights.max()


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"positive_rate": 0.1, "lr_bias": 0.0}, "away from the signal"),
        ({"alpha0": 0.1}, "more samples, or a bias step that fits"),
        ({"signal": 0.0}, "nothing to find"),
    ],
    ids=str,
)
def test_the_sentence_says_what_to_do(given, words):
    assert words in first("alignment", ODD | given)["sentence"]
