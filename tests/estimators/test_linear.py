"""Linear classifiers of the mean token and of all tokens in a row."""

import numpy as np
import pytest
from sklearn.base import clone

import sparsetoken as st
from estimators.ragged import PROBLEM, ragged

X, Y = PROBLEM.sample(120, 8, random_state=0)
POOLED = st.PooledClassifier()
VECTORIZED = st.VectorizedClassifier()


@pytest.mark.parametrize("loss", ["logistic", "square", "hinge"])
def test_probabilities(loss):
    model = st.PooledClassifier(loss=loss).fit(X, Y)
    score, probability = model.decision_function(X), model.predict_proba(X)
    assert probability.shape == (120, 2)
    assert probability.sum(axis=1) == pytest.approx(np.ones(120))
    assert (probability >= 0).all()
    assert ((probability[:, 1] > 0.5) == (score > 0)).all()
    order = np.argsort(score)
    assert (np.diff(probability[order, 1]) >= 0).all()
    expected = 1 / (1 + np.exp(-score)) if loss == "logistic" else np.clip((1 + score) / 2, 0, 1)
    assert probability[:, 1] == pytest.approx(expected)


def test_probabilities_of_extreme_scores():
    model = st.PooledClassifier().fit(X, Y)
    model.coef_ = 1e6 * model.coef_
    assert np.isfinite(model.predict_proba(X)).all()


@pytest.mark.parametrize("classifier", [POOLED, VECTORIZED], ids=["pooled", "vectorized"])
def test_weights_of_zero_leave_samples_out(classifier):
    weight = (np.arange(120) < 80).astype(float)
    weighted = clone(classifier).fit(X, Y, sample_weight=weight)
    shorter = clone(classifier).fit(X[:80], Y[:80])
    assert weighted.coef_ == pytest.approx(shorter.coef_, abs=1e-8)


def test_vectorized_needs_one_length():
    parts, y = ragged()
    with pytest.raises(ValueError, match="needs sequences of equal length"):
        st.VectorizedClassifier().fit(parts, y)
    model = st.VectorizedClassifier().fit(X, Y)
    with pytest.raises(ValueError, match="sequences of 6 tokens, as in fit, got 5"):
        model.predict(X[:, :5])
    with pytest.raises(ValueError, match="got different lengths"):
        model.predict(parts)
    flat = X.reshape(120, -1)
    assert flat @ model.coef_ + model.intercept_ == pytest.approx(model.decision_function(X))
