"""Several kinds of signal: how many there are, what is learned of them, and what follows."""

import numpy as np
import pytest

import sparsetoken as st

PROBLEM = st.SparseTokenProblem(10, signal=5.0, n_kinds=3)


def draw(problem, n_samples, dim, seed):
    X, y, truth = problem.sample(n_samples, dim, random_state=seed, return_truth=True)
    new = problem.sample(1500, dim, random_state=100 + seed, direction=truth.directions)
    return X, y, truth, *new


@pytest.fixture(scope="module")
def fitted():
    X, y, truth, new, labels = draw(PROBLEM, 200, 30, 0)
    return st.BayesAttentionClassifier(random_state=0).fit(X, y), truth, new, labels


def test_finds_the_kinds_and_a_direction_for_each(fitted):
    clf, truth, new, labels = fitted
    assert clf.n_kinds_ == 3
    leading = [head for head in clf.heads_ if head.n_kinds == 3]
    queries = np.array([head.query / np.linalg.norm(head.query) for head in leading])
    assert (np.abs(queries @ truth.directions.T).max(axis=0) > 0.9).all()
    assert np.isclose(sum(head.weight for head in clf.heads_), 1.0)
    floor = st.theory.optimal(PROBLEM, alpha=200 / 30).test_error
    assert 1.0 - clf.score(new, labels) < 1.3 * floor + 3.0 * np.sqrt(floor / 1500)


@pytest.mark.statistical
@pytest.mark.parametrize(
    ("problem", "n_samples", "dim"),
    [
        (st.SparseTokenProblem(10, signal=5.0, n_kinds=2), 240, 120),
        (st.SparseTokenProblem(20, signal=6.0, n_kinds=5), 400, 60),
        (st.SparseTokenProblem(12, signal=3.5, n_signal=2, n_kinds=2), 240, 60),
    ],
    ids=["two", "five", "in two tokens"],
)
def test_learns_kinds_as_well_as_anything_can(problem, n_samples, dim):
    floor = st.theory.optimal(problem, alpha=n_samples / dim).test_error
    errors = {name: [] for name in ("bayes", "stack")}
    for seed in range(4):
        X, y, _, new, labels = draw(problem, n_samples, dim, seed)
        clf = st.BayesAttentionClassifier(random_state=0).fit(X, y)
        if problem.n_signal == 1:  # kinds are looked for in single tokens
            assert clf.n_kinds_ == problem.n_kinds
        errors["bayes"].append(1.0 - clf.score(new, labels))
        clf = st.SparseTokenClassifier(n_trees=20, random_state=0).fit(X, y)
        errors["stack"].append(1.0 - clf.score(new, labels))
    for values in errors.values():
        assert np.mean(values) < 1.3 * floor + 3.0 * np.std(values, ddof=1) / 2.0


def test_one_kind_stays_one():
    X, y, _, new, _ = draw(st.SparseTokenProblem(10, signal=5.0), 120, 60, 0)
    clf = st.BayesAttentionClassifier(random_state=0).fit(X, y)
    assert clf.n_kinds_ == 1
    alone = st.BayesAttentionClassifier(n_kinds=1, random_state=0).fit(X, y)
    assert clf.decision_function(new) == pytest.approx(alone.decision_function(new))
    assert {head.n_kinds for head in alone.heads_} == {1}


def test_noise_has_no_kinds():
    """With many features a few directions fit any noise: samples held out must not believe it."""
    aucs = []
    for seed in range(6):
        X, y = st.SparseTokenProblem(10, signal=0.0).sample(100, 200, random_state=seed)
        clf = st.BayesAttentionClassifier(n_kinds=3, random_state=0).fit(X, y)
        aucs.append(clf.diagnose(X, y).auc["held out"])
    assert np.mean(aucs) < 0.5 + 3.0 * np.std(aucs, ddof=1) / np.sqrt(6)


def test_kinds_stream_explain_and_leave(fitted, tmp_path):
    clf, _, new, _ = fitted
    scores = clf.decision_function(new[:5])
    for x, score in zip(new, scores, strict=False):
        stream = clf.stream()
        for token in x:
            stream.update(token)
        assert stream.score == pytest.approx(score)
    for explained, score in zip(clf.explain(new[:5], top=10), scores, strict=True):
        total = explained.contributions.sum() + explained.baseline + explained.whole
        assert total == pytest.approx(score)
    st.save(clf, tmp_path / "m.npz")
    again = st.load(tmp_path / "m.npz")
    assert again.n_kinds_ == 3
    assert again.decision_function(new[:5]) == pytest.approx(scores)


def test_explanations_say_which_kind_spoke(fitted):
    clf, truth, _, _ = fitted
    X, y, drawn = PROBLEM.sample(
        60, 30, random_state=7, direction=truth.directions, return_truth=True
    )
    heads = [head for head in clf.heads_ if head.n_kinds == 3][:3]
    of_truth = np.argmax([[head.query @ d for d in truth.directions] for head in heads], axis=1)
    explained = clf.explain(X)
    right = of_truth[[one.kind for one in explained]] == drawn.kinds
    assert right[y == 1].mean() > 0.9
    alone = st.BayesAttentionClassifier(n_kinds=1, random_state=0).fit(X, y)
    assert alone.explain(X[:1])[0].kind is None


@pytest.mark.parametrize("n_kinds", [0, 2.5, "many"])
def test_a_number_of_kinds_is_checked(n_kinds):
    X, y = PROBLEM.sample(20, 4, random_state=0)
    with pytest.raises(ValueError, match="n_kinds must be"):
        st.BayesAttentionClassifier(n_kinds=n_kinds).fit(X, y)


def test_classes_may_have_different_numbers_of_kinds():
    """Two classes with one and with three kinds, and one with none."""
    X, y, truth = st.SparseTokenProblem(8, signal=6.0, n_kinds=4).sample(
        400, 20, random_state=0, return_truth=True
    )
    labels = np.where(y == 0, 0, np.where(truth.kinds == 0, 1, 2))
    clf = st.BayesAttentionClassifier(random_state=0).fit(X[:300], labels[:300])
    assert clf.score(X[300:], labels[300:]) > 0.93
