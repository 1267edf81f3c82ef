"""Thresholds that hold a false-positive rate, at the length of training and at another."""

import numpy as np
import pytest

import sparsetoken as st
from sparsetoken.estimators.serving import _upper_quantile

SHORT = st.SparseTokenProblem(20, 1, 5.0)
LONG = st.SparseTokenProblem(400, 1, 5.0)
X, Y, TRUTH = SHORT.sample(400, 8, random_state=0, return_truth=True)


@pytest.fixture(scope="module")
def model():
    return st.AttentionClassifier(random_state=0).fit(X, Y)


def drawn(problem, n_samples, seed):
    return problem.sample(n_samples, 8, random_state=seed, direction=TRUTH.direction)


def test_the_rate_is_held_at_the_length_of_training(model):
    new, y = drawn(SHORT, 4000, 1)
    for fpr in (0.2, 0.05):
        rate = np.mean(model.decision_function(new[y == 0]) > model.threshold(fpr))
        assert fpr / 2 < rate < 2 * fpr


@pytest.mark.parametrize("window", [None, 20])
def test_the_rate_is_held_at_another_length(model, window):
    new, y = drawn(LONG, 2000, 2)
    threshold = model.threshold(0.05, n_tokens=400, window=window)
    scores = model.decision_function(new[y == 0], window=window)
    assert 0.05 / 3 < np.mean(scores > threshold) < 3 * 0.05
    naive = model.threshold(0.05)  # that of the short sequences is far off
    assert not 0.05 / 3 < np.mean(scores > naive) < 3 * 0.05
    assert model.threshold(0.01, n_tokens=400, window=window) > threshold


def test_windows_take_the_largest_score(model):
    new, _ = drawn(LONG, 6, 3)
    parts = [model.decision_function(new[:, low : low + 20]) for low in range(0, 400, 20)]
    assert model.decision_function(new, window=20) == pytest.approx(np.max(parts, axis=0))
    short = model.decision_function(X[:6])
    assert model.decision_function(X[:6], window=20) == pytest.approx(short)
    ragged = [X[0, :5], X[1], X[2, :1]]
    assert model.decision_function(ragged, window=7).shape == (3,)
    assert model.decision_function(ragged, window=100) == pytest.approx(
        model.decision_function(ragged)
    )


def test_thresholds_survive_files(model, tmp_path):
    st.save(model, tmp_path / "model.npz")
    again = st.load(tmp_path / "model.npz")
    assert again.threshold(0.02) == model.threshold(0.02)
    assert again.threshold(0.02, n_tokens=50) == model.threshold(0.02, n_tokens=50)


def test_quantiles_and_their_tail():
    rng = np.random.default_rng(0)
    large = rng.exponential(size=100_000)
    assert _upper_quantile(large, 0.01) == pytest.approx(np.log(100), abs=0.05)
    beyond = [_upper_quantile(rng.exponential(size=200), 0.001) for _ in range(200)]
    assert np.mean(beyond) == pytest.approx(np.log(1000), abs=0.3)


def test_bad_arguments(model):
    for fpr in (0.0, 1.5):
        with pytest.raises(ValueError, match="fpr must be"):
            model.threshold(fpr)
    with pytest.raises(ValueError, match="n_tokens must be an integer >= 1"):
        model.threshold(0.1, n_tokens=0)
    with pytest.raises(ValueError, match="window must be an integer >= 1"):
        model.decision_function(X, window=0)
    few = st.AttentionClassifier(random_state=0).fit(X[:3], [0, 1, 1])
    with pytest.raises(ValueError, match="threshold needs negatives that were held out"):
        few.threshold(0.1)
