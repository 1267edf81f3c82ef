"""A transformer for every token keeps the form of the data."""

import numpy as np
import pytest

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
