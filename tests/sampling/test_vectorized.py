import math

import numpy as np
import pytest
from statistical import assert_same_law

import sparsetoken as st
from sparsetoken.estimators.readout import fit_readout
from sparsetoken.losses import Logistic
from sparsetoken.sampling.vectorized import sample_vectorized, vectorized_performance


@pytest.mark.parametrize("n_kinds", [1, 2])
def test_reduced_vectorized_features_have_the_law_of_dense_ones(n_kinds):
    problem, n_samples, dim = st.SparseTokenProblem(3, 1, 3.0, n_kinds=n_kinds), 20, 12
    records = {"reduced": [], "dense": []}
    rng = np.random.default_rng(0)
    for _ in range(400):
        features, y = sample_vectorized(problem, n_samples, dim, rng)
        X, labels = problem.sample(n_samples, dim, random_state=rng, direction=np.eye(n_kinds, dim))
        dense = X.transpose(0, 2, 1).reshape(n_samples, -1)  # signal coordinates first
        for name, rows, label in (("reduced", features, y), ("dense", dense, labels)):
            if np.unique(label).size == 2:
                coef, bias = fit_readout(rows, 2.0 * label - 1.0, 0.05, Logistic())
                loss = Logistic.value(rows @ coef + bias, 2.0 * label - 1.0).mean()
                records[name].append((np.linalg.norm(coef), coef[:3].sum(), bias, loss))
    names = ("norm", "overlap", "bias", "loss")
    laws = [dict(zip(names, np.array(r).T, strict=True)) for r in records.values()]
    assert_same_law(*laws)


def test_vectorized_error_of_several_kinds_is_the_mean_over_them():
    coef, bias = np.array([1.0, 0.5, 0.2, 0.8, -0.1, 0.7, 0.3]), -1.0
    rng = np.random.default_rng(0)
    both = st.SparseTokenProblem(3, 1, 3.0, 0.3, n_kinds=2)
    error = vectorized_performance(both, coef, bias, rng).test_error
    one = st.SparseTokenProblem(3, 1, 3.0, 0.3)
    halves = [coef, np.concatenate([coef[3:6], coef[:3], coef[6:]])]  # the other kind first
    each = [vectorized_performance(one, half, bias, rng).test_error for half in halves]
    assert error == pytest.approx(np.mean(each), abs=1e-12)


@pytest.mark.parametrize("n_signal", [1, 2])
def test_vectorized_error_is_that_of_fresh_samples(n_signal):
    problem = st.SparseTokenProblem(5, n_signal, 3.0, 0.3)
    coef, bias = np.array([1.0, 0.5, 0.2, 0.8, -0.1, 0.7, 0.3]), -1.0
    rng = np.random.default_rng(0)
    expected = vectorized_performance(problem, coef, bias, rng).test_error
    n_samples = 200_000
    y = rng.random(n_samples) < 0.3
    positions = rng.permuted((np.arange(5) < n_signal) & y[:, None], axis=1)
    features = rng.standard_normal((n_samples, 7))
    features[:, :5] += 3.0 * positions
    wrong = (features @ coef + bias > 0) != y
    assert abs(wrong.mean() - expected) < 4 * math.sqrt(expected / n_samples)
