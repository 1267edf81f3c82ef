"""The Bayes classifier as its users see it: labels that are missing, and data unlike the model."""

import numpy as np
import pytest

import sparsetoken as st

PROBLEM = st.SparseTokenProblem(n_tokens=10, signal=5.0)


def draw(n_samples, seed=0, dim=60):
    X, y, truth = PROBLEM.sample(n_samples, dim, random_state=seed, return_truth=True)
    new, labels = PROBLEM.sample(1500, dim, random_state=100 + seed, direction=truth.direction)
    return X, y, new, labels


def fits_with_unlabelled(problem, n_labelled, n_unlabelled, draws, dim=60):
    """Cosines and errors of fits to all sequences, and errors of fits to labelled ones alone."""
    results = []
    for seed in range(draws):
        n = n_labelled + n_unlabelled
        X, y, truth = problem.sample(n, dim, random_state=seed, return_truth=True)
        new, labels = problem.sample(2000, dim, random_state=100 + seed, direction=truth.direction)
        half = y.copy()
        half[n_labelled:] = -1
        helped = st.BayesAttentionClassifier(random_state=0).fit(X, half)
        assert helped.classes_.tolist() == [0, 1]
        alone = st.BayesAttentionClassifier(random_state=0).fit(X[:n_labelled], y[:n_labelled])
        cosine = helped.query_ @ truth.direction / np.linalg.norm(helped.query_)
        results.append([cosine, *(1.0 - clf.score(new, labels) for clf in (helped, alone))])
    return np.array(results).T


@pytest.mark.parametrize(
    ("problem", "n_labelled"),
    [
        (st.SparseTokenProblem(10, signal=5.0, positive_rate=0.2), 20),
        pytest.param(st.SparseTokenProblem(20, signal=6.0), 20, marks=pytest.mark.statistical),
        pytest.param(
            st.SparseTokenProblem(12, n_signal=2, signal=4.0), 40, marks=pytest.mark.statistical
        ),
    ],
    ids=["rare", "long", "two tokens"],
)
def test_unlabelled_sequences_teach_what_they_can(problem, n_labelled):
    cosines, helped, alone = fits_with_unlabelled(problem, n_labelled, 300, draws=5)
    best = st.theory.optimal(problem, alpha=n_labelled / 60, unlabelled=300 / 60)
    assert helped.mean() < 1.3 * best.test_error + 3.0 * helped.std(ddof=1) / np.sqrt(5)
    assert 1.0 - cosines.mean() < 2.0 * (1.0 - best.cosine)
    assert helped.mean() < 0.7 * alone.mean()


def test_one_positive_does_not_cry_wolf():
    """There is nothing to calibrate by: the odds must know how rare positives are."""
    alarms = []
    for seed in range(3):
        X, y, truth = PROBLEM.sample(160, 8, random_state=seed, return_truth=True)
        rows = np.concatenate([np.flatnonzero(y == 1)[:1], np.flatnonzero(y == 0)[:59]])
        new, labels = PROBLEM.sample(500, 8, random_state=9 + seed, direction=truth.direction)
        clf = st.BayesAttentionClassifier(random_state=0).fit(X[rows], y[rows])
        alarms.append(clf.predict(new[labels == 0]).mean())
    assert np.mean(alarms) < 0.02


def test_minus_one_is_a_class_if_there_is_no_other():
    X, y, new, labels = draw(120)
    clf = st.BayesAttentionClassifier(random_state=0).fit(X, 2 * y - 1)
    assert clf.classes_.tolist() == [-1, 1]
    assert clf.score(new, 2 * labels - 1) > 0.95
    names = np.array(["-1", "0", "1"])[y + (np.arange(120) % 2)]
    assert len(st.BayesAttentionClassifier(random_state=0).fit(X, names).classes_) == 3


def test_unlabelled_with_weights_and_groups(tmp_path):
    X, y, new, _ = draw(100)
    half = y.copy()
    half[60:] = -1
    weights, groups = np.ones(100), np.arange(100) // 2
    weights[60:] = 7.0  # of a sample without a label it says nothing
    plain = st.BayesAttentionClassifier(random_state=0).fit(X, half)
    weighed = st.BayesAttentionClassifier(random_state=0).fit(X, half, sample_weight=weights)
    assert weighed.decision_function(new) == pytest.approx(plain.decision_function(new))
    st.BayesAttentionClassifier(random_state=0).fit(X, half, groups=groups)
    st.Sequences(X.reshape(-1, 60), np.arange(101) * 10).save(tmp_path / "s")
    opened = st.Sequences.open(tmp_path / "s")
    stored = st.BayesAttentionClassifier(random_state=0).fit(opened, half)
    assert np.array_equal(stored.decision_function(new), plain.decision_function(new))


def test_streams_explains_and_leaves(tmp_path):
    problem = st.SparseTokenProblem(12, n_signal=3, signal=3.5)
    X, y = problem.sample(120, 20, random_state=0)
    clf = st.BayesAttentionClassifier(random_state=0).fit(X, y)
    scores = clf.decision_function(X[:5])
    for x, score in zip(X, scores, strict=False):
        stream = clf.stream()
        for token in x:
            stream.update(token)
        assert stream.score == pytest.approx(score)
    assert clf.attention(X[:5]).sum(axis=1) == pytest.approx(np.ones(5))
    for explained, score in zip(clf.explain(X[:5], top=12), scores, strict=True):
        total = explained.contributions.sum() + explained.baseline + explained.whole
        assert total == pytest.approx(score)
    st.save(clf, tmp_path / "m.npz")
    again = st.load(tmp_path / "m.npz")
    assert again.decision_function(X[:5]) == pytest.approx(scores)
    assert again.model_fit_ == clf.model_fit_


def test_labels_that_are_floats_may_be_missing_too():
    X, y = PROBLEM.sample(60, 10, random_state=0)
    half = np.where(np.arange(60) < 30, y, -1)
    clf, floats = (
        st.BayesAttentionClassifier(random_state=0).fit(X, labels)
        for labels in (half, half.astype(float))
    )
    assert floats.classes_.tolist() == [0.0, 1.0]
    assert np.array_equal(floats.decision_function(X), clf.decision_function(X))


def test_flags_are_checked():
    X, y = PROBLEM.sample(20, 4, random_state=0)
    for classifier in (st.BayesAttentionClassifier, st.SparseTokenClassifier):
        with pytest.raises(ValueError, match="contiguous must be True or False, got 'no'"):
            classifier(contiguous="no").fit(X, y)
    with pytest.raises(ValueError, match="monotone must be True or False, got 'no'"):
        st.SparseTokenClassifier(monotone="no").fit(X, y)


def test_rows_in_cv_are_those_given_among_unlabelled_samples_too():
    X, y = st.SparseTokenProblem(6, signal=5.0).sample(60, 5, random_state=0)
    some = np.where(np.arange(60) % 3 == 0, -1, y)
    cv = [(np.arange(30, 60), np.arange(30)), (np.arange(30), np.arange(30, 45))]
    reference = st.BayesAttentionClassifier(cv=cv, random_state=0).fit(X, some).reference_
    given = np.flatnonzero(some >= 0)
    assert np.isfinite(reference.scores[:, 0]).tolist() == (given < 45).tolist()
