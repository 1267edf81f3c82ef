import numpy as np
import pytest

import sparsetoken as st
from agreement import assert_theory_agrees
from populations import TWO_LENGTHS
from sparsetoken.experiments import compute, make_cell

PROBLEM = {"n_tokens": 6, "signal": 3.0, "positive_rate": 0.4}
LONG = {"n_tokens": 40, "signal": 3.0, "dim": 400, "center": True, "lr_query": 100.0, "alpha": 3.0}


@pytest.mark.parametrize(
    "values",
    [
        PROBLEM,
        PROBLEM | {"n_tokens": 1},
        pytest.param(PROBLEM | {"model": "elementwise"}, marks=pytest.mark.statistical),
        pytest.param(LONG, marks=pytest.mark.statistical),
        pytest.param(
            {"kinds": st.Population(TWO_LENGTHS.kinds, TWO_LENGTHS.shares, (0.1, 0.05))},
            marks=pytest.mark.statistical,
        ),
    ],
    ids=["two-step", "one token", "elementwise", "centered", "population"],
)
def test_simulation_agrees_with_theory(values):
    assert_theory_agrees({"alpha": 6.0, "reg": 0.1, "n_points": 4096, "dim": 150} | values)


def test_cells_are_the_theory():
    values = {"kinds": TWO_LENGTHS, "alpha0": 1.0, "alpha1": 3.0, "reg": 0.1, "n_points": 1024}
    quantities = ["cosine", "test_error", "recall", "capacity"]
    numbers = compute(make_cell("theory", quantities, values | {"fpr": 0.1}))
    options = {"reg": 0.1, "n_points": 1024}
    risk = st.theory.two_step_risk(TWO_LENGTHS, alpha0=1.0, alpha1=3.0, **options)
    geometry = {"cosine": risk.cosine, "sharpness": risk.sharpness, "n_points": 1024}
    assert numbers["cosine"] == risk.cosine
    assert numbers["test_error"] == risk.test_error
    assert numbers["recall"] == risk.recall(fpr=0.1)
    assert numbers["recall"].uncertainty == risk.recall(fpr=0.1).uncertainty > 0.0
    assert numbers["capacity"] == st.theory.capacity(TWO_LENGTHS, "attention", **geometry)


def test_samples_are_split_between_query_and_readout():
    model, problem = st.models.get("two-step"), st.SparseTokenProblem(**PROBLEM)
    split, pair = (
        model.theory(problem, [4.0], {"split": 0.25}),
        model.theory(problem, [(1.0, 3.0)], {}),
    )
    assert split[0].test_error == pytest.approx(pair[0].test_error, rel=1e-12)
    trial = model.trial(problem, 4.0, 10, {"split": 0.3}, np.random.default_rng(0))
    assert len(trial.training[1]) == 28  # of 40
    odd = model.trial(problem, 2.5, 10, {}, np.random.default_rng(0))
    assert len(odd.training[1]) == 13  # of 25: none is lost


def test_the_query_alone_needs_no_readout():
    values = PROBLEM | {"alpha0": 2.0, "dim": 20, "trials": 2}
    assert -1.0 < compute(make_cell("simulation", "cosine", values))["cosine"] < 1.0
    with pytest.raises(ValueError, match="test_error: a value for alpha1"):
        make_cell("simulation", "test_error", values)


def test_a_given_query_is_refused():
    with pytest.raises(ValueError, match="'two-step' learns its query"):
        make_cell("theory", "auc", {"alpha": 1.0, "cosine": 0.5})


def test_samples_that_are_not_given_are_not_drawn():
    model, problem = st.models.get("two-step"), st.SparseTokenProblem(**PROBLEM)
    for size, missing in (((2.0, None), "alpha1"), ((None, 2.0), "alpha0"), (None, "alpha0")):
        trial = model.trial(problem, size, 10, {}, np.random.default_rng(0))
        with pytest.raises(ValueError, match=f"a value for {missing} .or alpha. is needed"):
            _ = trial.test_error
