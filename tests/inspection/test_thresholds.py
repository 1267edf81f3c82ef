"""Thresholds that hold a false-positive rate, at the length of training and at another."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import expon, norm

import sparsetoken as st
from sparsetoken.estimate import ConvergenceWarning
from sparsetoken.estimators.stack import Stack
from sparsetoken.inspection.thresholds import _with_rate, upper_quantile

SHORT = st.SparseTokenProblem(20, 1, 5.0)
LONG = st.SparseTokenProblem(100, 1, 5.0)
X, Y, TRUTH = SHORT.sample(400, 8, random_state=0, return_truth=True)


@pytest.fixture(scope="module")
def model():
    return st.AttentionClassifier(random_state=0, cv=3, refine_steps=10).fit(X, Y)


def drawn(problem, n_samples, seed):
    return problem.sample(n_samples, 8, random_state=seed, direction=TRUTH.direction)


def test_the_rate_is_held_at_the_length_of_training(model):
    new, y = drawn(SHORT, 4000, 1)
    for fpr in (0.2, 0.05):
        rate = np.mean(model.decision_function(new[y == 0]) > model.threshold(fpr))
        assert fpr / 2 < rate < 2 * fpr


@pytest.mark.parametrize("window", [None, 20])
def test_the_rate_is_held_at_another_length(model, window):
    new, y = drawn(LONG, 800, 2)
    threshold = model.threshold(0.05, n_tokens=100, window=window)
    scores = model.decision_function(new[y == 0], window=window)
    low, high = threshold.rate_interval
    assert low < 0.05 < high
    assert low < np.mean(scores > threshold) < high
    assert not threshold.converged  # ten negatives would tell, here are two
    with pytest.warns(ConvergenceWarning, match=r"one in 50,000, but fit kept .* 25,000 negatives"):
        rare = model.threshold(0.002, n_tokens=100, window=window)
    assert rare > threshold
    assert not rare.converged


def test_windows_take_the_largest_score(model):
    new, _ = drawn(LONG, 6, 3)
    parts = [model.decision_function(new[:, low : low + 20]) for low in range(0, 100, 20)]
    assert model.decision_function(new, window=20) == pytest.approx(np.max(parts, axis=0))
    short = model.decision_function(X[:6])
    assert model.decision_function(X[:6], window=20) == pytest.approx(short)
    ragged = [X[0, :5], X[1], X[2, :1]]
    assert model.decision_function(ragged, window=7).shape == (3,)
    assert model.decision_function(ragged, window=100) == pytest.approx(
        model.decision_function(ragged)
    )


def test_the_bar_of_a_quantile_is_its_scatter():
    rng = np.random.default_rng(0)
    for rate in (0.2, 0.01):  # among 300 scores, and beyond what they can show
        found = [upper_quantile(rng.standard_normal(300), rate, 300) for _ in range(400)]
        bar = np.mean([quantile.uncertainty for quantile in found])
        assert bar == pytest.approx(np.std(found), rel=0.3)
        assert np.mean(found) == pytest.approx(norm.isf(rate), abs=0.05)


def test_quantiles_and_their_tail():
    rng = np.random.default_rng(0)
    large = rng.standard_normal(100_000)
    assert upper_quantile(large, 0.01, len(large)) == pytest.approx(norm.isf(0.01), abs=0.05)
    beyond = [upper_quantile(rng.standard_normal(200), 0.001, 200) for _ in range(200)]
    assert 0.001 / 1.6 < np.mean(norm.sf(beyond)) < 1.6 * 0.001
    pooled = np.repeat(rng.standard_normal(60), 50)  # counts as 60 scores, not as 3000
    assert upper_quantile(pooled, 0.01, 60) > upper_quantile(pooled, 0.01, 3000)


@pytest.mark.statistical
def test_tokens_are_scored_by_fits_that_have_not_seen_them(monkeypatch):
    """With as many features as samples, what was fitted says nothing about new sequences."""
    problem = st.SparseTokenProblem(10, 1, 3.0)
    unseen, plain = [], []
    for seed in range(8):
        tokens, y, truth = problem.sample(80, 60, random_state=seed, return_truth=True)
        fitted = st.AttentionClassifier(random_state=0, refine_steps=15).fit(tokens, y)
        new, labels = problem.sample(3000, 60, random_state=100 + seed, direction=truth.direction)
        scores = fitted.decision_function(new[labels == 0])
        threshold = fitted.threshold(0.1, n_tokens=10)
        assert threshold.uncertainty > 0.0
        unseen.append(np.mean(scores > threshold))
        with monkeypatch.context() as patch:
            patch.setattr(Stack, "without_fold", lambda stack, _: stack)
            plain.append(np.mean(scores > fitted.threshold(0.1, n_tokens=10)))
    assert 0.1 / 1.35 < np.exp(np.mean(np.log(unseen))) < 1.35 * 0.1
    assert np.mean(plain) > np.mean(unseen) + 0.02


def test_every_fold_is_scored_by_members_that_have_not_seen_it(model, monkeypatch):
    asked = []

    def without_fold(stack, fold):
        asked.append(fold)
        return replace(stack, weights=0.0 * stack.weights + 1.0, scales=0.0 * stack.scales)

    monkeypatch.setattr(Stack, "without_fold", without_fold)
    shift = float(len(model.stack_.weights) * model.stack_.shift[0])  # all that is left of a score
    assert model.threshold(0.1, n_tokens=30) == pytest.approx(shift)
    assert sorted(asked) == [0, 1, 2]
    asked.clear()
    assert model.stream(fpr=0.1, n_tokens=30).threshold == pytest.approx(shift)
    assert sorted(asked) == [0, 1, 2]


def test_a_few_tokens_say_little_of_very_long_sequences(model):
    with pytest.warns(ConvergenceWarning, match="several times off"):
        threshold = model.threshold(0.01, n_tokens=5_000)
    assert np.isfinite(threshold)
    assert not threshold.converged


def test_any_rate_has_a_threshold(model):
    thresholds = [model.threshold(fpr) for fpr in (1e-300, 1e-20, 1e-6, 0.01, 0.5, 0.99)]
    assert np.isfinite(thresholds).all()
    assert (np.diff(thresholds) < 0).all()
    for threshold, fpr in zip(thresholds, (1e-300, 1e-20, 1e-6, 0.01, 0.5, 0.99), strict=True):
        low, high = threshold.rate_interval
        assert low <= fpr <= high <= 1.0


def test_bad_arguments(model):
    for fpr in (0.0, 1.5):
        with pytest.raises(ValueError, match="fpr must be"):
            model.threshold(fpr)
    with pytest.raises(ValueError, match="n_tokens must be an integer >= 1"):
        model.threshold(0.1, n_tokens=0)
    with pytest.raises(ValueError, match="window must be an integer >= 1"):
        model.decision_function(X, window=0)
    with pytest.raises(ValueError, match=r"label must be 1, .* got 0"):
        model.threshold(0.1, label=0)
    few = st.AttentionClassifier(random_state=0, refine_steps=2).fit(X[:3], [0, 1, 1])
    with pytest.raises(ValueError, match="threshold needs negatives that were held out"):
        few.threshold(0.1)


def test_a_threshold_says_how_far_off_its_rate_may_be(model):
    """The number of negatives tells: 200 tell of 20 %, not of 1 %."""
    sure, unsure = model.threshold(0.2), model.threshold(0.01)
    assert sure.converged
    assert not unsure.converged
    for rate, threshold in ((0.2, sure), (0.01, unsure)):
        low, high = threshold.rate_interval
        assert low * high == pytest.approx(rate**2)
    new, y = drawn(SHORT, 4000, 1)
    low, high = sure.rate_interval
    assert low < np.mean(model.decision_function(new[y == 0]) > sure) < high


@pytest.mark.statistical
@pytest.mark.parametrize("law", [norm, expon])
def test_rates_hold_for_normal_and_for_heavier_tails(law):
    """With 150 scores the rate is right on average; with 600 also mostly within a factor 1.5."""
    rng = np.random.default_rng(0)
    for n_scores, least_within in ((150, 0.35), (600, 0.65)):
        rates, covered = [], []
        for _ in range(300):
            scores = law.rvs(size=n_scores, random_state=rng)
            threshold = _with_rate(scores, 0.01, n_scores)
            low, high = threshold.rate_interval
            rates.append(law.sf(float(threshold)))
            covered.append(low <= rates[-1] <= high)
        logs = np.log(np.array(rates) / 0.01)
        assert abs(np.mean(logs)) < 0.2
        assert np.mean(np.abs(logs) < np.log(1.5)) > least_within
        assert 0.75 < np.mean(covered) < 0.97


def heavy_tails(rng, n_tokens):
    return rng.standard_t(3, (n_tokens, 8)) / np.sqrt(3.0)


def neighbors_alike(rng, n_tokens):
    tokens = rng.standard_normal((n_tokens, 8))
    for i in range(1, n_tokens):
        tokens[i] = 0.8 * tokens[i - 1] + 0.6 * tokens[i]
    return tokens


@pytest.mark.statistical
@pytest.mark.parametrize("harmless", [heavy_tails, neighbors_alike])
def test_tokens_need_not_be_normal_or_independent(harmless):
    """Of sequences twice as long: the mean rate of several training sets is near the one asked."""
    rates = []
    for seed in range(6):
        rng = np.random.default_rng(seed)
        tokens = np.stack([harmless(rng, 20) for _ in range(300)])
        y = np.arange(300) % 2
        tokens[y == 1, rng.integers(20, size=150), 0] += 6.0
        fitted = st.AttentionClassifier(random_state=0, refine_steps=15).fit(tokens, y)
        new = np.stack([harmless(rng, 40) for _ in range(1500)])
        rates.append(np.mean(fitted.decision_function(new) > fitted.threshold(0.05, n_tokens=40)))
    assert 0.05 / 1.6 < np.mean(rates) < 0.05 * 1.6
