"""What is wrong with a model or its data is found, and nothing else."""

import re

import numpy as np
import pytest

import sparsetoken as st

PROBLEM = st.SparseTokenProblem(10, 1, 5.0)
X, Y = PROBLEM.sample(300, 20, random_state=0)


def test_a_good_model_has_no_problem():
    problem = st.SparseTokenProblem(10, 1, 3.5)
    data, y, truth = problem.sample(400, 15, random_state=0, return_truth=True)
    model = st.AttentionClassifier(random_state=0, cv=3, refine_steps=15).fit(data, y)
    new, labels = problem.sample(500, 15, random_state=1, direction=truth.direction)
    diagnosis = model.diagnose(new, labels)
    assert diagnosis.problems == ()
    said = "No problem found.\nWhat decides: a few tokens, one kind of signal (AUC 0.9"
    assert str(diagnosis).startswith(said)
    assert diagnosis.auc["attention"] > 0.9
    assert diagnosis.p_value < 1e-6
    # A few new samples do not make the held-out scores of fit any worse.
    rows = np.concatenate([np.flatnonzero(labels == label)[:11] for label in (0, 1)])
    few = model.diagnose(new[rows], labels[rows])
    assert few.kind == "a few tokens"
    assert few.p_value < 0.005


def test_several_kinds_of_signal_are_counted():
    problem = st.SparseTokenProblem(8, 1, 5.5, n_kinds=3)
    data, y, truth = problem.sample(400, 30, random_state=0, return_truth=True)
    new = problem.sample(300, 30, random_state=1, direction=truth.directions)
    found = st.BayesAttentionClassifier(random_state=0).fit(data, y).diagnose(*new)
    assert found.n_kinds == 3
    assert "What decides: a few tokens, 3 kinds of signal (AUC" in str(found)
    two_step = st.TwoStepAttentionClassifier(random_state=0).fit(data, y)  # looks for one only
    assert two_step.diagnose(*new).n_kinds is None


def names(diagnosis):
    return {problem.name for problem in diagnosis.problems}


@pytest.mark.statistical
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


@pytest.mark.statistical
def test_halves_that_fail_do_not_accuse_a_query_that_works():
    """Half of the samples may be too few to find the query, and all of them enough."""
    X, y = st.SparseTokenProblem(20, 1, 5.5).sample(120, 150, random_state=3)
    model = st.SparseTokenClassifier(random_state=0, n_trees=50).fit(X, y)
    model.query_reliability_ = 0.2
    diagnosis = model.diagnose(X, y)
    assert diagnosis.auc["held out"] > 0.95
    assert diagnosis.problems == ()


def test_pooling_was_chosen():
    everywhere = st.SparseTokenProblem(40, 40, 0.3)
    data, y = everywhere.sample(150, 5, random_state=0)
    model = st.AttentionClassifier(random_state=0, cv=3, refine_steps=15).fit(data, y)
    assert model.chosen_["model"] == "pooled"
    diagnosis = model.diagnose(data, y)
    assert diagnosis.kind == "the mean token"
    assert "attention no better than pooling" in names(diagnosis)
    assert "unreliable query" not in names(diagnosis)


def test_bad_arguments():
    model = st.TwoStepAttentionClassifier(random_state=0).fit(X, Y)
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
        pytest.param("nothing beats chance", marks=pytest.mark.statistical),
        "scores the wrong way round",
        "length predicts the label",
        pytest.param("spread tells more than the model", marks=pytest.mark.statistical),
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


def test_samples_of_fit_are_judged_by_their_held_out_scores():
    rng = np.random.default_rng(1)
    data, y = rng.standard_normal((60, 5, 40)), np.arange(60) % 2
    model = st.AttentionClassifier(random_state=0, cv=3, refine_steps=30).fit(data, y)
    assert model.score(data, y) > 0.65  # it has learned some of the noise by heart
    found = model.diagnose(data[::-1], y[::-1])
    assert found.auc["model"] == pytest.approx(found.auc["held out"])
    assert found.problems[0].name == "nothing beats chance"


def poisoned(rng, n_samples):
    """Positives have a concept; each negative, and no positive, has a token far from all others."""
    y = (np.arange(n_samples) < n_samples // 2).astype(int)
    X = rng.standard_normal((n_samples, 8, 10))
    X[y == 1, 0] += 0.5
    X[y == 0, 0] = -10.0 + 0.1 * rng.standard_normal(((y == 0).sum(), 10))
    return X, y


@pytest.mark.statistical
def test_tokens_of_the_negatives():
    def found(X, y):
        clf = st.AttentionClassifier(random_state=0).fit(X, y)
        findings = {f.name: f for f in clf.diagnose(X, y).findings}
        return findings["tokens of the negatives decide"]

    rng = np.random.default_rng(0)
    finding = found(*poisoned(rng, 100))
    assert finding.found
    assert "monotone=True" in finding.advice
    for n_tokens, signal, positive_rate in ((1, 3.0, 0.5), (8, 5.0, 0.5), (20, 4.0, 0.3)):
        problem = st.SparseTokenProblem(n_tokens, signal=signal, positive_rate=positive_rate)
        assert not found(*problem.sample(120, 10, random_state=0)).found
    mean = rng.standard_normal((100, 6, 5))
    assert not found(mean, (mean.mean(axis=(1, 2)) > 0).astype(int)).found


@pytest.mark.parametrize("kind", [st.AttentionClassifier, st.SparseTokenClassifier])
def test_sequences_unlike_those_of_training(kind):
    """Good scores when held out, chance on what was collected otherwise: not the model's fault."""
    data, y, new, y_new = needle()
    quick = {"n_trees": 10} if kind is st.SparseTokenClassifier else {}
    model = kind(random_state=0, cv=3, refine_steps=15, **quick).fit(data, y)
    assert "other data than those of training" not in names(model.diagnose(new, y_new))
    assert "other data than those of training" not in names(model.diagnose(data, y))
    found = model.diagnose(new[:, :, ::-1], y_new)  # features in another order
    assert found.problems[0].name == "other data than those of training"
    assert found.auc["held out"] > 0.85
    assert f"use {kind.__name__}" not in str(found)
    assert "nothing beats chance" not in names(found)


@pytest.mark.parametrize("kind", [st.AttentionClassifier, st.SparseTokenClassifier])
def test_scores_that_only_moved(kind):
    """Tokens all shifted or scaled: the order is right, and half of the decisions are wrong."""
    data, y, new, y_new = needle()
    quick = {"n_trees": 10} if kind is st.SparseTokenClassifier else {}
    model = kind(random_state=0, cv=3, refine_steps=15, **quick).fit(data, y)
    name = "scores moved off the threshold"
    assert name not in names(model.diagnose(new, y_new))
    assert name not in names(model.diagnose(data, y))
    assert name not in names(model.diagnose(new[:, :, ::-1], y_new))  # the order is lost too
    for moved in (new + 3.0, 3.0 * new):
        assert model.score(moved, y_new) < 0.8
        assert name in names(model.diagnose(moved, y_new))


def test_no_classifier_is_told_to_use_itself():
    rng = np.random.default_rng(0)
    y = np.arange(120) % 2
    parts = rng.standard_normal((120, 8, 4))
    parts[y == 1, 0] *= 4.0
    for model in (
        st.SparseTokenClassifier(random_state=0, cv=2, refine_steps=5, n_trees=10),
        st.AttentionClassifier(random_state=0, cv=2, refine_steps=5),
        st.PooledClassifier(),
        st.TwoStepAttentionClassifier(random_state=0),
    ):
        for finding in model.fit(parts, y).diagnose(parts, y).findings:
            said = finding.advice.replace("SparseTokenClassifier(monotone=True)", "")
            assert not re.search(rf"[Uu]se .*\b{type(model).__name__}", said)
