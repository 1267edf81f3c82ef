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
            "kinds": "0.6,4,1,4; 0.4,14,2,3", "label_errors": [0.1, 0.05], "positive_rate": 0.3,
            "test_label_errors": "0,0",
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
    assert found["trained_step"] == risk.step
    assert found["trained_along_query"] == risk.readout_along_query
    assert found["capacity"] == st.theory.capacity(TWO_LENGTHS, "attention", **geometry)


def test_required_samples_turn_the_query_half_way():
    values = {"n_tokens": 20, "signal": 3.0, "center": 1, "dim": 200, "trials": 8}
    quantities = ["required_samples", "cosine"]
    theory = compute(make_cell("theory", "required_samples", values))["required_samples"]
    halfway = compute(make_cell("theory", "cosine", values | {"alpha0": float(theory)}))
    assert halfway["cosine"] == pytest.approx(0.5, abs=1e-5)
    cell = make_cell("simulation", quantities, values | {"alpha0": float(theory)})
    simulated = compute(cell)
    assert list(simulated) == ["cosine", "required_samples"]
    for name, expected in (("required_samples", theory), ("cosine", 0.5)):
        allowed = 4.0 * simulated[name].uncertainty + 4.0 * expected / 200
        assert abs(simulated[name] - expected) < allowed


def test_tuned_settings_are_those_of_the_theory():
    values = {"model": "two-step", "alpha": 2.0, "tuned": 1, "n_tokens": 4, "reg": 0.0}
    found = compute(make_cell("theory", ["test_error"], values))
    problem = st.SparseTokenProblem(4, 1, 5.0)
    best = st.theory.best_training(problem, alpha=2.0, steps=3, batches="fresh").two_step
    assert found["test_error"] == best.test_error
    simulated = values | {"dim": 200, "trials": 8}
    number = compute(make_cell("simulation", ["test_error"], simulated))["test_error"]
    assert abs(number - best.test_error) < 4 * number.uncertainty + 0.04 * best.test_error


def test_tuning_leaves_what_does_not_depend_on_settings():
    values = {"model": "two-step", "tuned": 1, "alpha": 2.0}
    plain = {"model": "two-step", "alpha": 2.0}
    oracle = make_cell("theory", "oracle_error", values)
    assert oracle == make_cell("theory", "oracle_error", plain)
    assert make_cell("theory", "required_samples", values) is None
    with pytest.raises(ValueError, match="tuned needs alpha"):
        make_cell("theory", "test_error", {"alpha0": 1.0, "alpha1": 1.0, "tuned": 1})


def test_a_given_query_is_refused():
    with pytest.raises(ValueError, match="'two-step' learns its query"):
        make_cell("theory", "auc", {"alpha": 1.0, "cosine": 0.5})
