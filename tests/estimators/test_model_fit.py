"""Data of the model are told from others."""

import numpy as np
import pytest

import sparsetoken as st

PROBLEM = st.SparseTokenProblem(n_tokens=10, signal=5.0)


def draw(n_samples, seed=0, dim=60):
    X, y, truth = PROBLEM.sample(n_samples, dim, random_state=seed, return_truth=True)
    new, labels = PROBLEM.sample(1500, dim, random_state=100 + seed, direction=truth.direction)
    return X, y, new, labels


def test_tells_data_of_the_model_from_others():
    X, y, *_ = draw(200)
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
