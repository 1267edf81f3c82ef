import pytest

import sparsetoken as st
from agreement import assert_theory_agrees
from sparsetoken.experiments import compute, make_cell

PROBLEM = {"n_tokens": 6, "signal": 3.0, "positive_rate": 0.4, "alpha": 2.0}


@pytest.mark.parametrize(
    "values",
    [
        {"model": "attention", "cosine": 0.8, "sharpness": 1.5, "reg": 0.1},
        {"model": "hardmax", "cosine": 0.9, "reg": 0.1},
        {"model": "elementwise", "cosine": 0.9, "sharpness": 1.0, "reg": 1e-3},
        {
            "model": "attention", "cosine": 0.8, "sharpness": 1.5, "reg": 0.1,
            "test_n_tokens": 12, "n_windows": 2, "trials": 8,
        },
    ],
    ids=["attention", "hardmax", "elementwise", "windows"],
)  # fmt: skip
def test_simulation_agrees_with_theory(values):
    found = assert_theory_agrees(PROBLEM | values)
    assert "cosine" not in found  # it is given, not measured


def test_cells_are_the_theory():
    values = {"model": "attention", "cosine": 0.9, "sharpness": 1.0, "alpha": 3.0, "reg": 0.1}
    found = compute(make_cell("theory", ["test_error", "capacity", "oracle_error"], values))
    problem = st.SparseTokenProblem(10, 1, 5.0)
    query = {"cosine": 0.9, "sharpness": 1.0}
    risk = st.theory.risk(problem, "attention", alpha=3.0, reg=0.1, **query)
    assert found["test_error"] == risk.test_error
    assert found["capacity"] == st.theory.capacity(problem, "attention", **query)
    oracle = st.theory.oracle_error(problem, "attention")
    assert found["oracle_error"] == oracle


def test_best_weights_need_no_query():
    found = compute(make_cell("theory", "oracle_error", {"model": "attention", "n_tokens": 4}))
    problem = st.SparseTokenProblem(4, 1, 5.0)
    assert found["oracle_error"] == st.theory.oracle_error(problem, "attention")


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
