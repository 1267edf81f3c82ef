"""The worked examples of CONTRIBUTING: a new loss and a new pooling, used by name everywhere."""

import re
from pathlib import Path

import numpy as np
import pytest

import sparsetoken as st
from sparsetoken import losses, pooling
from sparsetoken.experiments import compute, make_cell
from sparsetoken.vocabulary import look

CONTRIBUTING = (Path(__file__).parents[1] / "CONTRIBUTING.md").read_text()
BLOCKS = re.findall(r"```python\n(.*?)```", CONTRIBUTING, flags=re.DOTALL)
PROBLEM = st.SparseTokenProblem(n_tokens=5, signal=3.0)
QUERY = {"cosine": 0.9, "sharpness": 1.0, "n_points": 1024}


@pytest.fixture(autouse=True)
def worked_examples(monkeypatch):
    """Run the classes that CONTRIBUTING shows; forget them afterwards."""
    monkeypatch.setattr(losses, "_KNOWN", dict(losses._KNOWN))
    monkeypatch.setattr(pooling, "_KNOWN", dict(pooling._KNOWN))
    for block in BLOCKS:
        exec(block, {})


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
    agree("test_error", values | {"dim": 120, "trials": 16, "model": "pooled"})
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
    agree("test_error", values | QUERY | {"dim": 120, "trials": 16})
    assert look("sigmax").color


def test_there_are_two_examples():
    assert len(BLOCKS) == 2
