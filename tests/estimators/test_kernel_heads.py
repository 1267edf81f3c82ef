"""Heads on the mean of a kernel map of the tokens."""

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score

import sparsetoken as st
from sparsetoken.estimators.folds import Fold
from sparsetoken.estimators.kernel_heads import KernelHeads
from sparsetoken.estimators.members import TrainingSamples
from sparsetoken.sequences.data import MemoryData


def crossed(n_samples, seed):
    """Tokens in two opposite corners of a square, or in the two others: no feature tells alone."""
    rng = np.random.default_rng(seed)
    y = np.arange(n_samples) % 2
    bags = []
    for label in y:
        corners = rng.choice([-2.0, 2.0], rng.integers(6, 15))
        signed = np.stack([corners, corners * (2 * label - 1)], axis=1)
        bags.append(signed + rng.standard_normal(signed.shape))
    return st.Sequences.from_list(bags), y


def samples_of(X, y):
    held_out = np.arange(len(y)) % 3 == 0
    fold = Fold(np.flatnonzero(~held_out), np.flatnonzero(held_out))
    weights = np.full(len(y), 1.0 / len(y))
    return TrainingSamples(MemoryData(X), y, weights, [fold], np.arange(len(y)), seed=0)


def test_mean_kernels():
    X, _ = crossed(7, 0)
    landmarks, gammas = X.tokens[:5] * 0.5, np.array([0.5, 2.0])
    member = KernelHeads(mean=np.ones(2), scale=np.full(2, 0.5), landmarks=landmarks, gammas=gammas)
    means = member.mean_kernels(X)
    for bag, mean in zip(X, means, strict=True):
        apart = ((0.5 * (bag - 1.0))[:, np.newaxis] - landmarks) ** 2
        for k, gamma in enumerate(gammas):
            expected = np.exp(-gamma * apart.sum(axis=2)).mean(axis=0)
            np.testing.assert_allclose(mean[k], expected, rtol=1e-10)


def test_fits_are_logistic_regressions_on_mean_kernels():
    """Against scikit-learn's, of all samples and without the fold."""
    X, y = crossed(60, 1)
    training, member = samples_of(X, y), KernelHeads()
    held_out = member.fit(training)
    means = member.mean_kernels(X)
    for k, gamma in enumerate(member.gammas):
        apart = member.landmarks[:, np.newaxis] - member.landmarks
        values, vectors = np.linalg.eigh(np.exp(-gamma * (apart**2).sum(axis=2)))
        rows = means[:, k] @ (vectors / np.sqrt(values + 1e-6 * values[-1])) @ vectors.T
        rows -= rows.mean(axis=0)
        rows /= np.sqrt((rows**2).sum(axis=1).mean())
        n_used = {0: 60, 1: 40}
        for fit, used in enumerate((np.arange(60), training.folds[0].rows)):
            # The ridge is 0.1 over all 60 samples, for a mean loss.
            model = LogisticRegression(C=600 / n_used[fit], solver="newton-cholesky", tol=1e-10)
            model.fit(rows[used], y[used])
            stack = member if fit == 0 else member.without_fold(0)
            scores = stack.scores(MemoryData(X))[:, k, 0]
            np.testing.assert_allclose(scores, model.decision_function(rows), atol=5e-3)
            if fit == 1:
                hidden = training.folds[0].held_out
                np.testing.assert_allclose(held_out[k, hidden, 0], scores[hidden], atol=1e-7)


def test_it_sees_what_no_feature_tells():
    X, y = crossed(120, 2)
    X_new, y_new = crossed(500, 3)
    clf = st.SparseTokenClassifier(n_trees=50, random_state=0).fit(X, y)
    assert roc_auc_score(y_new, clf.decision_function(X_new)) > 0.99
    assert max(clf.members_, key=clf.members_.get) == "pooled"
    explained = [
        e.baseline + e.contributions.sum() + e.whole for e in clf.explain(X_new[:5], top=20)
    ]
    np.testing.assert_allclose(explained, clf.decision_function(X_new[:5]), atol=1e-8)


def test_constant_tokens_have_no_kernel():
    X = np.ones((20, 3, 2))
    X[:10, 0, 0] = 1.0
    member = KernelHeads()
    held_out = member.fit(samples_of(st.Sequences.from_list(list(X)), np.arange(20) % 2))
    assert np.isfinite(held_out[:, ::3]).all()
    assert np.isfinite(member.scores(MemoryData(st.Sequences.from_list(list(X))))).all()


def test_landmarks_do_not_depend_on_the_memory():
    X, y = crossed(60, 3)
    members = KernelHeads(), KernelHeads()
    for member, room in zip(members, (np.inf, 50), strict=True):
        training = samples_of(X, y)
        training.data.memory_budget = room  # of numbers: a few sequences at a time
        member.fit(training)
    np.testing.assert_array_equal(members[0].landmarks, members[1].landmarks)
