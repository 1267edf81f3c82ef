import sparsetoken as st
from populations import TWO_LENGTHS
from sparsetoken.experiments import compute, make_cell


def test_cells_are_the_theory():
    values = {"model": "bayes", "n_tokens": 4, "error": 0.1, "n_points": 1024}
    numbers = compute(make_cell("theory", ["oracle_error", "required_signal"], values))
    problem = st.SparseTokenProblem(4, 1, 5.0)
    assert numbers["oracle_error"] == st.theory.oracle_error(problem, "bayes", n_points=1024)
    signal = st.theory.required_signal(problem, "bayes", error=0.1, n_points=1024)
    assert numbers["required_signal"] == signal


def test_it_has_no_more_than_the_best_error():
    quantities = ["oracle_error", "test_error", "capacity"]
    cell = make_cell("theory", quantities, {"model": "bayes", "alpha": 2.0})
    assert cell.quantities == ("oracle_error",)
    assert make_cell("simulation", quantities, {"model": "bayes", "alpha": 2.0}) is None


def test_a_population_has_floors_too():
    values = {"kinds": TWO_LENGTHS, "model": "pooled", "error": 0.2}
    numbers = compute(make_cell("theory", ["oracle_error", "required_signal"], values))
    assert numbers["oracle_error"] == st.theory.oracle_error(TWO_LENGTHS, "pooled")
    expected = st.theory.required_signal(TWO_LENGTHS, "pooled", error=0.2)
    assert numbers["required_signal"] == expected
