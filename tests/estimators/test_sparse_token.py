"""SparseTokenClassifier: the right member for each kind of data, several classes, groups, files."""

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

import sparsetoken as st
from evidence_bags import UNIT_TESTS

NEEDLE = st.SparseTokenProblem(12, 1, 4.0)
X, Y, TRUTH = NEEDLE.sample(200, 10, random_state=0, return_truth=True)
NEW, Y_NEW = NEEDLE.sample(1000, 10, random_state=1, direction=TRUTH.direction)


@pytest.fixture(scope="module")
def fitted():
    return st.SparseTokenClassifier(random_state=0).fit(X, Y)


def spread(n_samples, seed):
    """Bags whose tokens all vary more in the positive class."""
    rng = np.random.default_rng(seed)
    y = np.arange(n_samples) % 2
    return rng.standard_normal((n_samples, 8, 5)) * np.where(y == 1, 1.6, 1.0)[:, None, None], y


def longer(n_samples, seed):
    """Bags of the positive class have more tokens, and nothing else tells."""
    rng = np.random.default_rng(seed)
    y = np.arange(n_samples) % 2
    counts = 1 + rng.poisson(np.where(y == 1, 15, 8))
    return [rng.standard_normal((count, 5)) for count in counts], y


def test_members_tell_the_kind_of_data(fitted):
    assert set(fitted.members_) == {"attention", "pooled", "statistics"}
    assert sum(fitted.members_.values()) == pytest.approx(1.0)
    assert min(fitted.members_.values()) >= 0.0
    assert max(fitted.members_, key=fitted.members_.get) == "attention"
    assert fitted.score(NEW, Y_NEW) > 0.88
    model = st.SparseTokenClassifier(random_state=0).fit(*longer(200, 0))
    assert max(model.members_, key=model.members_.get) == "statistics"
    assert model.score(*longer(500, 1)) > 0.8  # the best rule has 0.85
    model = st.SparseTokenClassifier(random_state=0).fit(*spread(200, 0))
    assert model.members_["attention"] < 0.2
    assert model.score(*spread(500, 1)) > 0.85


def test_probabilities_are_calibrated(fitted):
    probability = fitted.predict_proba(NEW)[:, 1]
    for low, high in ((0.0, 0.2), (0.2, 0.8), (0.8, 1.0)):
        chosen = (probability >= low) & (probability <= high)
        assert abs(Y_NEW[chosen].mean() - probability[chosen].mean()) < 0.12


def test_two_samples_of_each_class():
    model = st.SparseTokenClassifier(random_state=0).fit(X[:4], [0, 0, 1, 1])
    assert model.predict(X[:4]).shape == (4,)
    assert min(model.members_.values()) > 0.05  # so few silence no member
    assert st.SparseTokenClassifier(random_state=0).fit(X[:3], [0, 1, 1]).members_


def test_threads_change_nothing():
    models = [
        st.SparseTokenClassifier(random_state=0, n_jobs=n, cv=2, n_trees=20).fit(X, Y)
        for n in (1, 2)
    ]
    scores = [model.decision_function(NEW[:50]) for model in models]
    assert np.array_equal(*scores)


def test_a_pass_serves_all(fitted):
    """Sixty steps of four heads in six fits, and of two halves: one by one that is 1560 passes."""
    assert fitted.n_passes_ <= 300


@pytest.fixture(scope="module")
def monotone():
    data, y = st.SparseTokenProblem(12, signal=5.0).sample(120, 16, random_state=0)
    return st.SparseTokenClassifier(monotone=True, random_state=0).fit(data, y), data


def aucs(model, generate, seed):
    bags, y = generate(100, True, seed)
    new, y_new = generate(400, False, seed + 100)
    model.fit(bags, y)
    return [
        roc_auc_score(labels, model.decision_function(data))
        for data, labels in ((bags, y), (new, y_new))
    ]


@pytest.mark.parametrize("generate", UNIT_TESTS.values(), ids=UNIT_TESTS)
@pytest.mark.parametrize(
    "seed", [0, *(pytest.param(s, marks=pytest.mark.statistical) for s in (1, 2))]
)
def test_a_monotone_one_passes_the_published_unit_tests(generate, seed):
    model = st.SparseTokenClassifier(monotone=True, random_state=0)
    train, test = aucs(model, generate, seed)
    assert train > 0.9
    assert test > 0.8


@pytest.mark.statistical
def test_not_by_counting_tokens():
    """The published bags of the first test have ten harmless tokens each; these have 10 to 19."""
    rng = np.random.default_rng(0)

    def generate(*arguments):
        bags, y = UNIT_TESTS["single concept"](*arguments)
        more = [rng.standard_normal((rng.integers(10), 16)) for _ in bags]
        return [np.concatenate(pair) for pair in zip(bags, more, strict=True)], y

    assert aucs(st.SparseTokenClassifier(monotone=True, random_state=0), generate, 0)[1] > 0.8


@pytest.mark.statistical
@pytest.mark.parametrize("name", ["single concept", "several concepts"])
def test_the_ordinary_one_learns_what_marks_negatives(name):
    """A token that only negatives hold in training is evidence to it, and misleads: hence ours."""
    model = st.SparseTokenClassifier(n_trees=20, random_state=0)
    train, test = aucs(model, UNIT_TESTS[name], 0)
    assert train > 0.99
    assert test < 0.2


def test_a_further_token_never_lowers_the_score(monotone):
    fitted, data = monotone
    rng = np.random.default_rng(1)
    sequences = [
        rng.standard_normal((rng.integers(1, 30), 16)) * rng.choice([0.1, 1.0, 10.0])
        for _ in range(200)
    ]
    sequences += list(data)
    longer = [
        np.concatenate([one, rng.standard_normal((rng.integers(1, 4), 16)) * rng.choice([1, 30])])
        for one in sequences
    ]
    rise = fitted.decision_function(longer) - fitted.decision_function(sequences)
    assert rise.min() > -1e-9
    assert rise.max() > 0.1


def test_order_does_not_matter_to_a_monotone_one(monotone):
    fitted, data = monotone
    scores = fitted.decision_function(data[:, ::-1])
    assert scores == pytest.approx(fitted.decision_function(data))


def test_a_monotone_one_streams_explains_and_is_saved(monotone, tmp_path):
    fitted, data = monotone
    sequences = [data[0], data[1][:5], np.concatenate([data[2], data[3]])]
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


def test_several_classes_are_monotone():
    problem = st.SparseTokenProblem(8, signal=6.0, positive_rate=1.0 - 1e-9)
    parts = [problem.sample(60, 12, random_state=s, direction=np.eye(12)[s])[0] for s in range(3)]
    data, y = np.concatenate(parts), np.repeat(["a", "b", "c"], 60)
    model = st.SparseTokenClassifier(monotone=True, random_state=0).fit(data, y)
    assert model.score(data, y) > 0.9
    rng = np.random.default_rng(0)
    longer = np.concatenate([data, rng.standard_normal((180, 2, 12))], axis=1)
    assert (model.decision_function(longer) - model.decision_function(data)).min() > -1e-9
