import numpy as np
import pytest

import sparsetoken as st
from sparsetoken.inspection.explain import reliability

PROBLEM = st.SparseTokenProblem(10, 1, 5.0)
X, Y, TRUTH = PROBLEM.sample(300, 20, random_state=0, return_truth=True)
NEW, Y_NEW = PROBLEM.sample(400, 20, random_state=1, direction=TRUTH.direction)


@pytest.fixture(scope="module", params=["attention", "two-step"])
def model(request):
    if request.param == "attention":
        return st.AttentionClassifier(random_state=0).fit(X + 5.0, Y)
    return st.TwoStepAttentionClassifier(random_state=0).fit(X + 5.0, Y)


def test_contributions_add_up(model):
    data = [tokens[: 4 + i % 5] + 5.0 for i, tokens in enumerate(NEW[:20])]
    whole = model.explain(data, top=10)
    score = model.decision_function(data)
    for i, found in enumerate(whole):
        assert len(found.tokens) == len(data[i])
        assert found.weights.sum() == pytest.approx(1.0)
        assert found.contributions.sum() + found.baseline == pytest.approx(score[i])
        assert found.score == pytest.approx(score[i])
        assert (np.diff(found.weights) <= 0).all()
        assert found.weights == pytest.approx(model.attention(data)[i][found.tokens])
    short = model.explain(data, top=2)
    assert [found.tokens.tolist() for found in short] == [
        found.tokens[:2].tolist() for found in whole
    ]


def test_explanations_point_at_the_signal():
    model = st.AttentionClassifier(random_state=0).fit(X, Y)
    positive = np.flatnonzero(Y == 1)
    found = model.explain(X[positive], top=1)
    hits = [bool(TRUTH.positions[i, e.tokens[0]]) for i, e in zip(positive, found, strict=True)]
    assert np.mean(hits) > 0.9
    assert np.mean([e.contributions[0] for e in found]) > 1.0


def test_a_good_model_has_no_problem():
    problem = st.SparseTokenProblem(10, 1, 3.5)
    data, y, truth = problem.sample(400, 15, random_state=0, return_truth=True)
    model = st.AttentionClassifier(random_state=0).fit(data, y)
    new, labels = problem.sample(500, 15, random_state=1, direction=truth.direction)
    diagnosis = model.diagnose(new, labels)
    assert diagnosis.problems == ()
    assert str(diagnosis).startswith("No problem found.\nWhat decides: a few tokens (AUC 0.9")
    assert diagnosis.auc["attention"] > 0.9
    assert diagnosis.p_value < 1e-6
    # A few new samples do not make the held-out scores of fit any worse.
    rows = np.concatenate([np.flatnonzero(labels == label)[:11] for label in (0, 1)])
    few = model.diagnose(new[rows], labels[rows])
    assert few.kind == "a few tokens"
    assert few.p_value < 0.005


def names(diagnosis):
    return {problem.name for problem in diagnosis.problems}


def test_anti_aligned():
    """A large step on the readout: in the limit the cosine is −0.5."""
    model = st.TwoStepAttentionClassifier(lr_readout=80.0, lr_query=0.73, random_state=0)
    data, y, truth = PROBLEM.sample(920, 100, random_state=0, return_truth=True)
    model.fit(data, y)
    assert model.query_ @ truth.direction < 0
    diagnosis = model.diagnose(data, y)
    assert "anti-aligned query" in names(diagnosis)
    assert "opposite tokens" in str(diagnosis)
    assert diagnosis.auc["reversed"] > diagnosis.auc["attention"]


def test_nothing_beats_chance():
    """A signal far too weak for so few samples in so many dimensions."""
    weak = st.SparseTokenProblem(10, 1, 0.5)
    data, y, truth = weak.sample(60, 200, random_state=0, return_truth=True)
    model = st.TwoStepAttentionClassifier(random_state=0).fit(data, y)
    found = model.diagnose(*weak.sample(180, 200, random_state=1, direction=truth.direction))
    assert found.problems[0].name == "nothing beats chance"
    assert found.kind == "nothing found"
    assert found.p_value > 0.01
    for problem in found.problems:
        assert problem.advice in str(found)


def test_halves_that_fail_do_not_accuse_a_query_that_works():
    """Half of the samples may be too few to find the query, and all of them enough."""
    X, y = st.SparseTokenProblem(20, 1, 5.5).sample(120, 150, random_state=3)
    model = st.SparseTokenClassifier(random_state=0, n_trees=50).fit(X, y)
    model.query_reliability_ = 0.2
    diagnosis = model.diagnose(X, y)
    assert diagnosis.auc["held out"] > 0.95
    assert diagnosis.problems == ()


def test_pooling_was_chosen():
    everywhere = st.SparseTokenProblem(2, 2, 1.0)
    data, y = everywhere.sample(100, 5, random_state=0)
    model = st.AttentionClassifier(random_state=0).fit(data, y)
    assert model.chosen_["model"] == "pooled"
    assert model.diagnose(data, y).kind == "the mean token"
    assert "attention no better than pooling" in names(model.diagnose(data, y))
    assert "unreliable query" not in names(model.diagnose(data, y))


def test_reliability_is_exact_for_gaussian_errors():
    """Two halves: limit plus noise; the estimate is the cosine at the full sample."""
    rng = np.random.default_rng(0)
    dim, noise = 2000, 0.8  # squared error over squared length of the limit, at half the sample
    limit = np.eye(dim)[0]
    drawn = limit + np.sqrt(noise / dim) * rng.standard_normal((50, 2, 1, dim))
    for share in (0.5, 0.1):
        found = [reliability(queries, share) for queries in drawn]
        assert np.mean(found) == pytest.approx(1 / np.sqrt(1 + noise * share), abs=0.01)
    assert reliability(np.zeros((2, 1, 3)), 0.5) == 0.0
    assert reliability(np.array([np.ones((1, 3)), -np.ones((1, 3))]), 0.5) == 0.0


def test_two_step_reliability_is_that_of_its_query():
    cosines, estimates = [], []
    for seed in range(20):
        data, y, truth = PROBLEM.sample(200, 30, random_state=seed, return_truth=True)
        model = st.TwoStepAttentionClassifier(random_state=0).fit(data, y)
        cosines.append(model.query_ @ truth.direction / np.linalg.norm(model.query_))
        estimates.append(model.query_reliability_)
    assert np.mean(estimates) == pytest.approx(np.mean(cosines), abs=0.04)


def test_bad_arguments():
    model = st.TwoStepAttentionClassifier(random_state=0).fit(X, Y)
    with pytest.raises(ValueError, match="top must be an integer >= 1"):
        model.explain(X, top=0)
    with pytest.raises(ValueError, match=r"y must hold 300 labels, all of \[0, 1\]"):
        model.diagnose(X, np.zeros(300))
    with pytest.raises(ValueError, match="y must hold 300 labels"):
        model.diagnose(X, Y[:5])
    with pytest.raises(ValueError, match="at least two samples of each class"):
        model.diagnose(X[:3], [0, 0, 1])


def needle(n_samples=200, seed=0):
    problem = st.SparseTokenProblem(10, 1, 4.0)
    data, y, truth = problem.sample(n_samples, 10, random_state=seed, return_truth=True)
    return data, y, *problem.sample(200, 10, random_state=seed + 1, direction=truth.direction)


def faulty(kind):
    """Return samples for fit and for diagnose, with one known fault."""
    rng = np.random.default_rng(0)
    data, y, new, y_new = needle()
    if kind == "nothing beats chance":
        return data, rng.permutation(y), new, rng.permutation(y_new)
    if kind == "scores the wrong way round":
        return data, y, new, 1 - y_new
    if kind == "duplicated sequences":
        data, y = np.repeat(data[:80], 2, axis=0), np.repeat(y[:80], 2)
        return data, y, data, y
    if kind == "constant features":
        data, new = (np.concatenate([a, np.ones((*a.shape[:2], 2))], axis=2) for a in (data, new))
        return data, y, new, y_new
    y = np.arange(200) % 2
    if kind == "length predicts the label":
        parts = [rng.standard_normal((10 if label else 6, 5)) for label in np.tile(y, 2)]
        return parts[:200], y, parts[200:], y
    parts = rng.standard_normal((2, 200, 8, 4))
    parts[:, y == 1, 0] *= 4.0  # "spread tells more than the model"
    return parts[0], y, parts[1], y


@pytest.mark.parametrize(
    "kind",
    [
        "nothing beats chance",
        "scores the wrong way round",
        "duplicated sequences",
        "constant features",
        "length predicts the label",
        "spread tells more than the model",
    ],
)
def test_the_fault_is_the_first_finding(kind):
    data, y, new, y_new = faulty(kind)
    model = st.AttentionClassifier(random_state=0, cv=3, refine_steps=30).fit(data, y)
    found = model.diagnose(new, y_new)
    assert found.problems[0].name == kind
    assert found.problems[0].advice in str(found)
    if kind == "nothing beats chance":
        assert "many more samples" in str(found)
        assert "More samples would help little" not in str(found)


def test_few_samples_of_a_class():
    data, y, _, _ = needle(300)
    rows = np.concatenate([np.flatnonzero(y == 0), np.flatnonzero(y == 1)[:5]])
    model = st.SparseTokenClassifier(random_state=0, cv=3, refine_steps=30).fit(data[rows], y[rows])
    found = model.diagnose(data[rows], y[rows])
    assert found.problems[0].name == "few samples of a class"


def test_samples_of_fit_are_judged_by_their_held_out_scores():
    rng = np.random.default_rng(1)
    data, y = rng.standard_normal((60, 5, 40)), np.arange(60) % 2
    model = st.AttentionClassifier(random_state=0, cv=3, refine_steps=30).fit(data, y)
    assert model.score(data, y) > 0.9  # it has learned the noise by heart
    found = model.diagnose(data[::-1], y[::-1])
    assert found.auc["model"] == pytest.approx(found.auc["held out"])
    assert found.problems[0].name == "nothing beats chance"
