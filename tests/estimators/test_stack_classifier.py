"""What the classifiers for real data share: heads and their weights, selection, reports."""

from itertools import combinations

import numpy as np
import pytest
from dense_reference import softmax
from sklearn.base import clone
from sklearn.model_selection import PredefinedSplit

import sparsetoken as st

PROBLEM = st.SparseTokenProblem(12, 1, 4.0)
X, Y, TRUTH = PROBLEM.sample(300, 15, random_state=0, return_truth=True)
X_NEW, Y_NEW = PROBLEM.sample(2000, 15, random_state=1, direction=TRUTH.direction)
ATTENTION = st.AttentionClassifier(random_state=0, refine_steps=20, cv=3)
SPARSE_TOKEN = st.SparseTokenClassifier(random_state=0, refine_steps=20, n_trees=10, cv=3)


@pytest.mark.parametrize("classifier", [ATTENTION, SPARSE_TOKEN], ids=["attention", "sparse"])
def test_several_heads_add_up(classifier):
    """Their attention is averaged by weight, and their scores add up to all but ``whole``."""
    X, y = st.SparseTokenProblem(6, 1, 5.0).sample(120, 8, random_state=0)
    model = clone(classifier).fit(X, y)
    weights, scores = 0.0, 0.0
    for head in model.heads_:
        choices = list(combinations(range(6), head.n_signal))
        chosen = np.array([np.isin(range(6), choice) for choice in choices], dtype=float)
        evidence = (X @ head.query) @ chosen.T  # that these tokens carry the signal
        weights = weights + head.weight * softmax(evidence) @ chosen / head.n_signal
        if head.model == "pooled":
            assert not head.query.any()
            score = X.mean(axis=1) @ head.coef
        else:
            assert head.query == pytest.approx(head.coef / head.temperature)
            score = head.temperature * np.log(np.mean(np.exp(evidence), axis=1))
        scores = scores + head.weight * (score + head.intercept)
    total = sum(head.weight for head in model.heads_)
    others = 1.0 - total - model.members_.get("statistics", 0.0)  # of the kernel, all tokens alike
    assert model.attention(X) == pytest.approx((weights + others / X.shape[1]) / (total + others))
    whole = np.array([explanation.whole for explanation in model.explain(X)])
    baseline = np.array([explanation.baseline for explanation in model.explain(X, top=10)])
    contributions = [explanation.contributions.sum() for explanation in model.explain(X, top=10)]
    assert contributions + baseline + whole == pytest.approx(model.decision_function(X))
    assert sum(model.members_.values()) == pytest.approx(1.0)
    if classifier is ATTENTION:
        assert scores + whole == pytest.approx(model.decision_function(X))
        assert total == pytest.approx(1.0)


def test_class_weight():
    uneven = np.concatenate([np.flatnonzero(Y == 1)[:30], np.flatnonzero(Y == 0)])
    data, y = X[uneven], Y[uneven]
    rates = [
        np.mean(
            st.AttentionClassifier(class_weight=weight, random_state=0).fit(data, y).predict(X_NEW)
        )
        for weight in (None, "balanced", {0: 1.0, 1: 1000.0})
    ]
    assert rates[0] < rates[1] < rates[2]
    weighted = st.AttentionClassifier(class_weight={0: 1.0, 1: 3.0}, random_state=0).fit(data, y)
    by_sample = st.AttentionClassifier(random_state=0).fit(data, y, np.where(y == 1, 3.0, 1.0))
    scores = [model.decision_function(X_NEW) for model in (weighted, by_sample)]
    assert np.corrcoef(*scores)[0, 1] > 0.99  # L-BFGS stops early, and rounding decides where


def test_too_few_samples_to_choose():
    model = st.AttentionClassifier(random_state=0).fit(X[:6], [0, 0, 0, 0, 0, 1])
    assert model.chosen_["auc"] is None
    assert model.predict(X[:6]).shape == (6,)
    few = st.AttentionClassifier(random_state=0).fit(X[:8], [0, 0, 0, 0, 0, 1, 1, 1])
    assert few.chosen_["auc"] is not None


def choose_on(monkeypatch, n_samples):
    """Let no more than so many samples of this size choose the heads."""
    monkeypatch.setattr("sparsetoken.estimators.folds._ENOUGH_NUMBERS", 12 * 15 * n_samples)
    monkeypatch.setattr("sparsetoken.estimators.folds._ENOUGH_SEQUENCES", n_samples)
    monkeypatch.setattr("sparsetoken.estimators.folds._ENOUGH_OF_A_CLASS", 10)


def test_a_part_decides_the_weights_of_large_data(monkeypatch):
    """The heads are then refined on all samples, from where the part has led them."""
    choose_on(monkeypatch, 160)
    model = st.AttentionClassifier(random_state=0).fit(X, Y)
    assert len(model.reference_.scores) in (159, 160)  # of each class its part, rounded down
    alone = st.AttentionClassifier(random_state=0).fit(X[:160], Y[:160])
    assert model.score(X_NEW, Y_NEW) > alone.score(X_NEW, Y_NEW)


def test_samples_that_no_fit_has_seen_decide_the_weights_if_few_choose_the_heads(monkeypatch):
    choose_on(monkeypatch, 60)
    model = clone(SPARSE_TOKEN).fit(X, Y)
    unseen = model.reference_
    assert 40 <= len(unseen.scores) <= 60
    assert set(unseen.kept_folds) == {0}
    sequences = st.Sequences(unseen.tokens, unseen.offsets)
    assert len(sequences) == len(unseen.scores)
    seen = {x.tobytes() for x in X} - {x.tobytes() for x in sequences}
    assert len(seen) == len(X) - len(unseen.scores)
    without = st.SparseTokenClassifier(random_state=0)
    without.__dict__ |= model.__dict__ | {"stack_": model.stack_.without_fold(0)}
    scores = np.sort(without.decision_function(sequences))
    assert scores == pytest.approx(np.sort(unseen.scores[:, 0]), rel=1e-6)
    assert model.score(X_NEW, Y_NEW) > 0.9


@pytest.mark.parametrize("n_samples", [60, 160])
def test_folds_of_ones_own_are_those_of_all_samples(monkeypatch, n_samples):
    """However few of the samples choose the heads: folds may be row numbers."""
    choose_on(monkeypatch, n_samples)
    thirds = np.arange(len(X)) % 3
    rows = [(np.flatnonzero(thirds != k), np.flatnonzero(thirds == k)) for k in range(3)]
    models = [
        clone(ATTENTION).set_params(cv=cv).fit(X, Y) for cv in (rows, PredefinedSplit(thirds))
    ]
    scores = [model.decision_function(X_NEW) for model in models]
    assert scores[0] == pytest.approx(scores[1])
    assert models[0].score(X_NEW, Y_NEW) > 0.9


def test_unseen_samples_tell_noise_from_signal(monkeypatch):
    """With labels drawn at random, heads that judged what they had seen would be nearly perfect."""
    choose_on(monkeypatch, 60)
    aucs = []
    for seed in range(3):
        labels = np.random.default_rng(seed).permutation(Y)
        model = st.AttentionClassifier(random_state=0, cv=2).fit(X, labels)
        aucs.append([head.auc for head in model.heads_])
    assert np.mean(aucs) == pytest.approx(0.5, abs=0.12)  # three standard errors of 3 x 60 samples


@pytest.mark.statistical
def test_reliability_estimates_the_cosine():
    """It must tell a well-learned query from a badly learned one, on the scale of the cosine."""
    for n_samples, low, high in ((60, 0.0, 0.95), (400, 0.95, 1.0)):
        found, actual = [], []
        for seed in range(4):
            data, y, truth = PROBLEM.sample(n_samples, 40, random_state=seed, return_truth=True)
            model = st.AttentionClassifier(random_state=0, reg=0.1, shrinkage=1.0).fit(data, y)
            found.append(model.query_reliability_)
            norm = np.linalg.norm(model.query_)
            actual.append(abs(model.query_ @ truth.direction) / norm if norm > 0 else 0.0)
        assert low <= np.mean(found) <= high
        assert abs(np.mean(found) - np.mean(actual)) < 0.2


def test_samples_without_weight_decide_nothing():
    """Nor do their lengths: of shorter ones the model would expect fewer signal tokens."""
    X, y = st.SparseTokenProblem(10, n_signal=2, signal=4.0).sample(150, 6, random_state=0)
    cv = [(np.arange(20, 60), np.arange(20)), (np.arange(40), np.arange(40, 60))]
    without = st.BayesAttentionClassifier(cv=cv, random_state=0).fit(X[:60], y[:60])
    sequences, weight = [*X[:60], *X[60:, :2]], np.repeat([1.0, 0.0], [60, 90])
    model = st.BayesAttentionClassifier(cv=cv, random_state=0)
    model.fit(sequences, y, sample_weight=weight)
    expected = without.decision_function(X)
    np.testing.assert_allclose(model.decision_function(X), expected, atol=1e-6 * expected.std())
    assert model.reference_.lengths.tolist() == [10.0, 10.0]


def test_balanced_classes_are_those_of_samples_with_weight():
    X, y = st.SparseTokenProblem(6, signal=4.0).sample(120, 5, random_state=0)
    cv = [(np.arange(30, 60), np.arange(30)), (np.arange(30), np.arange(30, 60))]
    options = {"cv": cv, "class_weight": "balanced", "random_state": 0, "refine_steps": 5}
    y[60:] = 1
    without = st.AttentionClassifier(**options).fit(X[:60], y[:60]).decision_function(X)
    weight = np.repeat([1.0, 0.0], 60)
    scores = st.AttentionClassifier(**options).fit(X, y, weight).decision_function(X)
    np.testing.assert_allclose(scores, without, atol=1e-6 * without.std())


def test_the_only_sample_of_a_class_with_a_weight_stays_though_it_is_far_out():
    X, y = st.SparseTokenProblem(6, signal=4.0).sample(120, 5, random_state=0)
    only = np.flatnonzero(y == 1)[0]
    X[only, 0, 0] = 1e5
    weight = np.where(np.arange(120) == only, 1.0, y == 0)
    model = st.AttentionClassifier(refine_steps=5).fit(X, y, sample_weight=weight)
    assert np.isfinite(model.decision_function(X)).all()
