"""A transformer for every token keeps the form of the data."""

import numpy as np
import pytest
from sklearn.impute import SimpleImputer
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline

import sparsetoken as st
from sparsetoken.estimators import PerToken

PROBLEM = st.SparseTokenProblem(6, 1, 5.0)
X, Y = PROBLEM.sample(120, 8, random_state=0)


@pytest.mark.parametrize("form", [X, X[:, 0], list(X), st.Sequences.from_list(list(X))])
def test_per_token_keeps_the_form(form):
    transformed = PerToken().fit(form).transform(form)
    if isinstance(form, np.ndarray) and form.ndim == 3:
        assert transformed.shape == form.shape
        tokens = transformed.reshape(-1, 8)
    else:
        assert isinstance(transformed, st.Sequences)
        tokens = transformed.tokens
    assert tokens.mean(axis=0) == pytest.approx(np.zeros(8), abs=1e-12)
    assert tokens.std(axis=0) == pytest.approx(np.ones(8))


def test_missing_values_are_filled_in_a_pipeline():
    """What the error of a classifier advises works, also in a cross-validation."""
    X, y = st.SparseTokenProblem(6, signal=6.0).sample(80, 5, random_state=0)
    X = st.Sequences.from_list(list(X))
    X.tokens[np.random.default_rng(0).random(X.tokens.shape) < 0.05] = np.nan
    with pytest.raises(ValueError, match=r"NaN in .*\.PerToken\(SimpleImputer\(\)\)"):
        st.PooledClassifier().fit(X, y)
    pipeline = make_pipeline(PerToken(SimpleImputer()), st.PooledClassifier())
    assert cross_val_score(pipeline, X, y, cv=2).mean() > 0.6
