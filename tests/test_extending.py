"""The worked examples of CONTRIBUTING: a loss, a pooling, a model and a member of a stack."""

import re
from pathlib import Path

import numpy as np
import pytest

import sparsetoken as st
from populations import LENGTH_WITH_LABEL
from sparsetoken import losses, pooling
from sparsetoken.experiments import Grid, Store, Sweep, collect, compute, make_cell
from sparsetoken.models import look

CONTRIBUTING = (Path(__file__).parents[1] / "CONTRIBUTING.md").read_text()
BLOCKS = re.findall(r"```python\n(.*?)```", CONTRIBUTING, flags=re.DOTALL)
PROBLEM = st.SparseTokenProblem(n_tokens=5, signal=3.0)
QUERY = {"cosine": 0.9, "sharpness": 1.0, "n_points": 1024}


@pytest.fixture(autouse=True)
def worked_examples(monkeypatch):
    """Run the classes that CONTRIBUTING shows; forget them afterwards."""
    for name in st.models.names():
        st.models.get(name)  # what is imported now is not forgotten
    monkeypatch.setattr(losses.Loss, "known", dict(losses.Loss.known))
    monkeypatch.setattr(pooling.Pooling, "known", dict(pooling.Pooling.known))
    monkeypatch.setattr(st.models.Model, "known", dict(st.models.Model.known))
    names = {"__name__": __name__}
    for block in BLOCKS:
        exec(block, names)
    return names


def agree(quantity, values):
    """Theory and simulation of a sweep's cell agree, in standard errors and finite-size slack."""
    theory, simulated = (
        compute(make_cell(source, quantity, values))[quantity]
        for source in ("theory", "simulation")
    )
    assert theory.converged
    assert abs(theory - simulated) < 4 * simulated.uncertainty + 0.02 * theory


def test_a_new_loss_is_one_class():
    risk = st.theory.risk(PROBLEM, "attention", alpha=3.0, reg=0.1, loss="squared-hinge", **QUERY)
    logistic = st.theory.risk(PROBLEM, "attention", alpha=3.0, reg=0.1, **QUERY)
    assert risk.converged
    assert risk.test_error == pytest.approx(logistic.test_error, rel=0.3)
    values = {"n_tokens": 5, "signal": 3.0, "alpha": 3.0, "reg": 0.1, "loss": "squared-hinge"}
    agree("test_error", values | {"dim": 100, "trials": 10, "model": "pooled"})
    X, y = PROBLEM.sample(200, 10, random_state=0)
    clf = st.TwoStepAttentionClassifier(loss="squared-hinge", random_state=0).fit(X, y)
    assert clf.score(X, y) > 0.8


def test_a_new_pooling_is_one_class():
    ragged = pooling.get_pooling("sigmax").weights(np.array([0.0, 0.0, 5.0]), offsets=[0, 2, 3])
    np.testing.assert_allclose(ragged, [0.5, 0.5, 1.0])
    risk = st.theory.risk(PROBLEM, "sigmax", alpha=3.0, reg=0.1, **QUERY)
    assert risk.converged
    pooled = st.theory.risk(PROBLEM, "pooled", alpha=3.0, reg=0.1)
    assert risk.test_error < pooled.test_error
    assert st.theory.capacity(PROBLEM, "sigmax", **QUERY) > st.theory.capacity(PROBLEM, "pooled")
    values = {"n_tokens": 5, "signal": 3.0, "alpha": 3.0, "reg": 0.1, "model": "sigmax"}
    agree("test_error", values | QUERY | {"dim": 100, "trials": 10})
    assert look("sigmax").color


@pytest.mark.parametrize(
    "problem",
    [{"n_tokens": 5, "signal": 4.0, "positive_rate": 0.3}, {"kinds": LENGTH_WITH_LABEL}],
    ids=["problem", "population"],
)
def test_a_new_model_is_one_class(problem, tmp_path):
    values = problem | {"model": "class-means", "alpha": 2.0, "dim": 100, "trials": 10}
    agree("test_error", values)
    assert make_cell("theory", "auc", values) is None
    many = compute(make_cell("theory", "test_error", values | {"alpha": 1e6}))["test_error"]
    assert many < compute(make_cell("theory", "test_error", values))["test_error"]
    axes = {"model": ["pooled", "class-means"], "alpha": [1.0, 2.0]}
    sweep = Sweep([Grid(["test_error"], axes, problem, ["theory"])])
    with Store(tmp_path / "results.db") as store:
        assert len(collect(sweep, store)) == 4
    assert look("class-means").color


def test_there_are_four_examples():
    assert len(BLOCKS) == 4
    assert next(block for block in BLOCKS if "(Model)" in block).count("\n") <= 40


def test_a_new_member_is_one_class(worked_examples):
    """It is weighed, explained, streamed and has thresholds, like those that are there."""

    class WithLengths(st.AttentionClassifier):
        def _members(self, n_tokens):
            return [*super()._members(n_tokens), worked_examples["Lengths"]()]

    rng = np.random.default_rng(0)
    y = np.arange(120) % 2
    X = [rng.standard_normal((rng.integers(3, 8) + 8 * label, 4)) for label in y]
    clf = WithLengths(random_state=0, cv=3).fit(X, y)
    assert clf.members_["length"] > 0.8
    assert clf.score(X, y) == 1.0
    explanation = clf.explain(X[:1], top=10)[0]
    parts = explanation.contributions.sum() + explanation.baseline + explanation.whole
    assert parts == pytest.approx(clf.decision_function(X[:1])[0])
    stream = clf.stream()
    for token in X[1]:
        stream.update(token)
    assert stream.score == pytest.approx(clf.decision_function(X[1:2])[0])
    assert clf.threshold(0.1, n_tokens=12) > clf.threshold(0.1, n_tokens=4)
