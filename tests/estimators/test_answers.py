"""What classifiers say: attention and explanations by class, and how well their model fits."""

import numpy as np
import pytest
from sklearn.base import clone

import sparsetoken as st
from estimators.ragged import PROBLEM, ragged

X, Y = PROBLEM.sample(120, 8, random_state=0)
TWO_STEP = st.TwoStepAttentionClassifier(random_state=0)
ATTENTION = st.AttentionClassifier(random_state=0, refine_steps=8, cv=2)
STACKED = [st.AttentionClassifier, st.BayesAttentionClassifier, st.SparseTokenClassifier]


@pytest.mark.parametrize("classifier", [TWO_STEP, ATTENTION], ids=["two-step", "attention"])
def test_attention_sums_to_one(classifier):
    parts, y = ragged()
    model = clone(classifier).fit(parts, y)
    weights = model.attention(parts)
    assert [len(w) for w in weights] == [len(part) for part in parts]
    assert [w.sum() for w in weights] == pytest.approx(np.ones(120))
    rectangular = model.attention(X)
    assert rectangular.shape == (120, 6)
    np.testing.assert_allclose(model.attention(X[:, 0]), np.ones((120, 1)), rtol=1e-14)


@pytest.mark.parametrize("kind", STACKED)
def test_three_classes(kind):
    """Each class has a token of its own; explanations and attention point at it, class by class."""
    rng = np.random.default_rng(0)
    index = np.arange(240) % 3
    data = rng.standard_normal((240, 6, 8))
    positions = rng.integers(6, size=240)
    data[np.arange(240), positions, index] += 5.0
    labels = np.array(["cat", "dog", "owl"])[index]
    quick = {} if kind is st.BayesAttentionClassifier else {"refine_steps": 10}
    model = kind(random_state=0, cv=2, **quick).fit(data[:180], labels[:180])
    new, truth = data[180:], labels[180:]
    scores, chances = model.decision_function(new), model.predict_proba(new)
    assert scores.shape == chances.shape == (60, 3)
    assert chances.sum(axis=1) == pytest.approx(np.ones(60))
    assert model.score(new, truth) > 0.9
    assert (model.predict(new) == model.classes_[scores.argmax(axis=1)]).all()
    assert np.mean(model.attention(new).argmax(axis=1) == positions[180:]) > 0.8
    for i, label in enumerate(model.classes_):
        found = model.explain(new, top=6, label=label)
        assert [e.speaks_for for e in found] == [label] * 60
        assert [e.score for e in found] == pytest.approx(scores[:, i])
        sums = [e.contributions.sum() + e.baseline + e.whole for e in found]
        assert sums == pytest.approx(scores[:, i])
    assert [e.speaks_for for e in model.explain(new)] == model.predict(new).tolist()
    assert model.query_.shape == (3, 8)
    assert model.diagnose(data, labels).p_value < 1e-4
    assert np.isfinite(model.threshold(0.1, label="owl"))
    with pytest.raises(ValueError, match=r"label must be one of \['cat', 'dog', 'owl'\], got None"):
        model.threshold(0.1)
    with pytest.raises(ValueError, match="got 'cow'"):
        model.explain(new, label="cow")


def test_explanations_of_two_classes_name_what_they_speak_for():
    fitted = st.SparseTokenClassifier(random_state=0, n_trees=10, cv=2, refine_steps=5).fit(X, Y)
    for_one = fitted.explain(X[:5], top=12)
    for_zero = fitted.explain(X[:5], top=12, label=0)
    scores = fitted.decision_function(X[:5])
    for score, one, zero in zip(scores, for_one, for_zero, strict=True):
        assert (one.speaks_for, zero.speaks_for) == (1, 0)
        assert one.predicted == zero.predicted == int(score > 0)
        assert one.contributions.sum() + one.baseline + one.whole == pytest.approx(score)
        assert zero.contributions == pytest.approx(-one.contributions)
        assert zero.score == pytest.approx(-one.score)
    pytest.importorskip("pandas", reason="frames come from pandas")
    frame = for_one[0].to_frame()
    assert frame.columns.tolist() == ["token", "weight", "contribution", "speaks_for"]
    negative = frame.contribution < 0
    assert (frame.speaks_for[negative] == "not 1").all()


def test_tells_data_of_the_model_from_others():
    X, y = st.SparseTokenProblem(n_tokens=10, signal=5.0).sample(200, 60, random_state=0)
    assert st.BayesAttentionClassifier(random_state=0).fit(X, y).model_fit_.holds
    rng = np.random.default_rng(0)
    shared = X + 2.0 * rng.standard_normal((200, 1, 60))
    fit = st.BayesAttentionClassifier(random_state=0).fit(shared, y).model_fit_
    assert fit.shared > 3.0
    assert "center each sequence" in str(fit)
    clusters = X + 4.0 * rng.standard_normal((5, 60))[rng.integers(5, size=(200, 10))]
    outliers = np.where(rng.random((200, 10, 1)) < 0.02, 6.0 * X, X)
    for other in (clusters, outliers):
        fit = st.BayesAttentionClassifier(random_state=0).fit(other, y).model_fit_
        assert not fit.holds, fit
    nothing = st.BayesAttentionClassifier(random_state=0).fit(X, rng.permutation(y)).model_fit_
    assert not nothing.holds


@pytest.mark.parametrize(
    ("n_samples", "dim", "n_tokens"), [(30, 100, 5), (40, 300, 3), (24, 400, 20)]
)
def test_few_tokens_are_no_clusters(n_samples, dim, n_tokens):
    """A covariance of fewer tokens than features is no evidence against the model."""
    X, y = st.SparseTokenProblem(n_tokens, signal=5.0).sample(n_samples, dim, random_state=1)
    fit = st.BayesAttentionClassifier(random_state=0).fit(X, y).model_fit_
    assert abs(np.log(fit.tails)) < 0.1 + 3.0 * np.sqrt(2.0 / fit.n_tokens)
    assert "clusters" not in str(fit)
