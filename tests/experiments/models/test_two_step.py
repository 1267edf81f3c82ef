import pytest

import sparsetoken as st
from agreement import assert_theory_agrees
from populations import TWO_LENGTHS
from sparsetoken.experiments import compute, make_cell

PROBLEM = {"n_tokens": 6, "signal": 3.0, "positive_rate": 0.4, "reg": 0.1}


@pytest.mark.parametrize(
    "values",
    [
        {"model": "two-step", "alpha": 6.0},
        {"model": "elementwise", "alpha": 6.0},
        {"model": "two-step", "alpha": 4.0, "test_n_tokens": 20, "test_signal": 6.0},
        {"model": "two-step", "alpha": 3.0, "center": 1, "n_tokens": 40, "lr_query": 100.0},
    ],
    ids=["two-step", "elementwise", "tested elsewhere", "centered"],
)
def test_simulation_agrees_with_theory(values):
    assert_theory_agrees(PROBLEM | values)


@pytest.mark.parametrize(
    "values",
    [
        {"kinds": TWO_LENGTHS},
        {
            "kinds": [
                {"probability": 0.6, "n_tokens": 4, "signal": 4.0},
                {"probability": 0.4, "n_tokens": 14, "n_signal": 2, "signal": 3.0},
            ],
            "label_errors": [0.1, 0.05], "positive_rate": 0.3, "test_label_errors": [0, 0],
        },
    ],
    ids=["two lengths", "tested on true labels"],
)  # fmt: skip
def test_simulation_of_populations_agrees_with_theory(values):
    assert_theory_agrees(values | {"model": "two-step", "alpha": 6.0, "reg": 0.1})


def test_cells_are_the_theory():
    values = {"alpha0": 1.0, "alpha1": 3.0, "reg": 0.1, "n_tokens": 8, "signal": 4.0}
    found = compute(make_cell("theory", ["cosine", "test_error", "auc", "capacity"], values))
    problem = st.SparseTokenProblem(8, 1, 4.0)
    expected = st.theory.two_step_risk(problem, alpha0=1.0, alpha1=3.0, reg=0.1)
    geometry = {"cosine": expected.cosine, "sharpness": expected.sharpness}
    limit = st.theory.capacity(problem, "attention", **geometry)
    for name, known in found.items():
        number = limit if name == "capacity" else getattr(expected, name)
        assert known == number
        assert known.uncertainty == getattr(number, "uncertainty", 0.0)
        assert known.converged
    assert found["test_error"].uncertainty > 0.0


def test_population_cells_are_the_theory():
    values = {"kinds": TWO_LENGTHS, "alpha0": 1.0, "alpha1": 3.0, "reg": 0.1}
    quantities = ["test_error", "recall", "trained_step", "trained_along_query", "capacity"]
    found = compute(make_cell("theory", quantities, values | {"fpr": 0.1}))
    risk = st.theory.two_step_risk(TWO_LENGTHS, alpha0=1.0, alpha1=3.0, reg=0.1)
    geometry = {"cosine": risk.cosine, "sharpness": risk.sharpness}
    assert found["test_error"] == risk.test_error
    assert found["recall"] == risk.recall(fpr=0.1)
    assert found["recall"].uncertainty == risk.recall(fpr=0.1).uncertainty > 0.0
    assert found["trained_step"] == risk.chi
    assert found["trained_along_query"] == risk.readout_along_query
    assert found["capacity"] == st.theory.capacity(TWO_LENGTHS, "attention", **geometry)


def test_a_given_query_is_refused():
    with pytest.raises(ValueError, match="'two-step' learns its query"):
        make_cell("theory", "auc", {"alpha": 1.0, "cosine": 0.5})
