import numpy as np
import pytest

import sparsetoken as st
from agreement import assert_theory_agrees
from sparsetoken.experiments import compute, make_cell

PROBLEM = {"n_tokens": 6, "signal": 3.0, "positive_rate": 0.4, "alpha": 2.0, "reg": 0.1}


@pytest.mark.parametrize(
    "values",
    [
        {"model": "attention", "cosine": 0.8, "sharpness": 1.5},
        {"model": "attention", "cosine": 0.8, "sharpness": 0.0},
        pytest.param({"model": "hardmax", "cosine": 0.9}, marks=pytest.mark.statistical),
        pytest.param(
            {"model": "elementwise", "cosine": 0.9, "sharpness": 1.0},
            marks=pytest.mark.statistical,
        ),
    ],
    ids=["attention", "no query", "hardmax", "elementwise"],
)
def test_simulation_agrees_with_theory(values):
    simulation = assert_theory_agrees(PROBLEM | values | {"n_points": 4096})
    assert "cosine" not in simulation  # it is given, not measured


def test_the_query_is_as_it_is_given():
    model, settings = st.models.get("attention"), {"cosine": -0.3, "sharpness": 1.7}
    problem = st.SparseTokenProblem(6, 1, 3.0)
    query = model.trial(problem, 2.0, 30, settings, np.random.default_rng(0)).query
    assert (query.cosine, query.sharpness) == pytest.approx((-0.3, 1.7))


def test_cells_are_the_theory():
    query, problem = {"cosine": 0.9, "sharpness": 1.0}, st.SparseTokenProblem(10, 1, 5.0)
    values = {"model": "attention", "alpha": 3.0, "reg": 0.1, "n_points": 1024} | query
    numbers = compute(make_cell("theory", ["test_error", "capacity", "oracle_error"], values))
    query["n_points"] = 1024
    risk = st.theory.risk(problem, "attention", alpha=3.0, reg=0.1, **query)
    assert numbers["test_error"] == risk.test_error
    assert numbers["capacity"] == st.theory.capacity(problem, "attention", **query)
    oracle = st.theory.oracle_error(problem, "attention", n_points=1024)
    assert numbers["oracle_error"] == oracle


def test_best_weights_need_no_query():
    values = {"model": "attention", "n_tokens": 4, "n_points": 512}
    numbers = compute(make_cell("theory", "oracle_error", values))
    problem = st.SparseTokenProblem(4, 1, 5.0)
    assert numbers["oracle_error"] == st.theory.oracle_error(problem, "attention", n_points=512)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"model": "attention"}, "'attention' needs a value for cosine"),
        ({"model": "attention", "cosine": 0.5}, "needs a value for sharpness"),
        ({"model": "elementwise", "cosine": 0.5}, "needs a value for sharpness"),
    ],
)
def test_a_query_that_is_not_given_is_refused(values, message):
    with pytest.raises(ValueError, match=message):
        make_cell("simulation", ["test_error"], values | {"alpha": 1.0})
