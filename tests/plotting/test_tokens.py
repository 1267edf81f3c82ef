import numpy as np
import pytest

import sparsetoken as st
from sparsetoken.estimators import Explanation
from sparsetoken.plotting import explanation
from sparsetoken.vocabulary import SPEAKS

EXPLAINED = Explanation(
    tokens=np.array([4, 0, 2]),
    weights=np.array([0.6, 0.3, 0.05]),
    contributions=np.array([2.0, -0.5, 0.25]),
    score=1.0,
    baseline=-1.0,
    whole=0.5,
    speaks_for="ill",
    predicted="ill",
)


def bars(axes):
    return {round(bar.get_x() + bar.get_width() / 2): bar for bar in axes.patches}


def test_every_token_is_drawn_in_its_place_and_color():
    weights, contributions = explanation(EXPLAINED).axes
    assert {at: bar.get_height() for at, bar in bars(weights).items()} == {4: 0.6, 0: 0.3, 2: 0.05}
    assert {at: bar.get_height() for at, bar in bars(contributions).items()} == {
        4: 2.0,
        0: -0.5,
        2: 0.25,
    }
    for axes in (weights, contributions):
        for at, bar in bars(axes).items():
            color = SPEAKS["against" if at == 0 else "for"]
            assert bar.get_facecolor()[:3] == pytest.approx(
                [int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)]
            )


def test_caption_adds_up_to_the_score():
    figure = explanation(EXPLAINED)
    assert "speak for 'ill'" in figure.title
    assert "Score 1.00: baseline -1.00, 3 tokens +1.75, other tokens -0.25, the sequence as a" in (
        figure.caption
    )
    whole = explanation(EXPLAINED._replace(score=0.75, whole=0.0))
    assert "baseline -1.00, 3 tokens +1.75." in whole.caption


def test_texts_stand_under_their_tokens():
    _, axes = explanation(EXPLAINED, texts=["a", "b", "c", "d", "e"]).axes
    assert axes.get_xticks().tolist() == [0, 2, 4]
    assert [label.get_text() for label in axes.get_xticklabels()] == ["a", "c", "e"]


def test_of_a_classifier():
    X, y = st.SparseTokenProblem(n_tokens=6, signal=5.0).sample(100, 5, random_state=0)
    clf = st.TwoStepAttentionClassifier(random_state=0).fit(X, y)
    (explained,) = clf.explain(X[:1], top=6)
    assert len(bars(st.plotting.explanation(explained).axes[0])) == 6
