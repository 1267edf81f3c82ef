"""SparseTokenClassifier(monotone=True): evidence may only add."""

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

import sparsetoken as st
from evidence_bags import UNIT_TESTS

X, Y = st.SparseTokenProblem(12, signal=5.0).sample(120, 16, random_state=0)


@pytest.fixture(scope="module")
def fitted():
    return st.SparseTokenClassifier(monotone=True, random_state=0).fit(X, Y)


def aucs(model, generate, seed):
    bags, y = generate(100, True, seed)
    new, y_new = generate(400, False, seed + 100)
    model.fit(bags, y)
    return [
        roc_auc_score(labels, model.decision_function(data))
        for data, labels in ((bags, y), (new, y_new))
    ]


@pytest.mark.parametrize("generate", UNIT_TESTS.values(), ids=UNIT_TESTS)
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_it_passes_the_published_unit_tests(generate, seed):
    model = st.SparseTokenClassifier(monotone=True, random_state=0)
    train, test = aucs(model, generate, seed)
    assert train > 0.9
    assert test > 0.8


def test_not_by_counting_tokens():
    """The published bags of the first test have ten harmless tokens each; these have 10 to 19."""
    rng = np.random.default_rng(0)

    def generate(*arguments):
        bags, y = UNIT_TESTS["single concept"](*arguments)
        more = [rng.standard_normal((rng.integers(10), 16)) for _ in bags]
        return [np.concatenate(pair) for pair in zip(bags, more, strict=True)], y

    assert aucs(st.SparseTokenClassifier(monotone=True, random_state=0), generate, 0)[1] > 0.8


@pytest.mark.parametrize("name", ["single concept", "several concepts"])
def test_the_ordinary_one_learns_what_marks_negatives(name):
    """A token that only negatives hold in training is evidence to it, and misleads: hence ours."""
    model = st.SparseTokenClassifier(n_trees=20, random_state=0)
    train, test = aucs(model, UNIT_TESTS[name], 0)
    assert train > 0.99
    assert test < 0.2


def test_a_further_token_never_lowers_the_score(fitted):
    rng = np.random.default_rng(1)
    sequences = [
        rng.standard_normal((rng.integers(1, 30), 16)) * rng.choice([0.1, 1.0, 10.0])
        for _ in range(200)
    ]
    sequences += list(X)
    longer = [
        np.concatenate([one, rng.standard_normal((rng.integers(1, 4), 16)) * rng.choice([1, 30])])
        for one in sequences
    ]
    rise = fitted.decision_function(longer) - fitted.decision_function(sequences)
    assert rise.min() > -1e-9
    assert rise.max() > 0.1


def test_order_does_not_matter(fitted):
    scores = fitted.decision_function(X[:, ::-1])
    assert scores == pytest.approx(fitted.decision_function(X))


def test_it_streams_explains_and_is_saved(fitted, tmp_path):
    sequences = [X[0], X[1][:5], np.concatenate([X[2], X[3]])]
    scores = fitted.decision_function(sequences)
    for one, score in zip(sequences, scores, strict=True):
        stream = fitted.stream()
        rising = [stream.update(token) for token in one]
        assert stream.score == pytest.approx(score)
        assert (np.diff(rising) > -1e-9).all()
    for explained, score in zip(fitted.explain(sequences, top=24), scores, strict=True):
        total = explained.contributions.sum() + explained.baseline + explained.whole
        assert total == pytest.approx(score)
    st.save(fitted, tmp_path / "m.npz")
    again = st.load(tmp_path / "m.npz")
    assert again.monotone is True
    assert again.decision_function(sequences) == pytest.approx(scores)


def test_several_classes():
    problem = st.SparseTokenProblem(8, signal=6.0, positive_rate=1.0 - 1e-9)
    parts = [problem.sample(60, 12, random_state=s, direction=np.eye(12)[s])[0] for s in range(3)]
    data, y = np.concatenate(parts), np.repeat(["a", "b", "c"], 60)
    model = st.SparseTokenClassifier(monotone=True, random_state=0).fit(data, y)
    assert model.score(data, y) > 0.9
    rng = np.random.default_rng(0)
    longer = np.concatenate([data, rng.standard_normal((180, 2, 12))], axis=1)
    assert (model.decision_function(longer) - model.decision_function(data)).min() > -1e-9
