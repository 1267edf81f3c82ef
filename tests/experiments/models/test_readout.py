"""What all readouts of fixed features share; pooled ones stand for them."""

import pytest

import sparsetoken as st
from sparsetoken.experiments import compute, make_cell


def test_false_positives_of_training_are_held_there_only():
    values = {"model": "pooled", "alpha": 3.0, "fpr": 0.02}
    same = compute(make_cell("theory", ["false_positives"], values))["false_positives"]
    assert same == pytest.approx(0.02)
    longer = compute(make_cell("theory", ["false_positives"], values | {"test_n_tokens": 20}))
    assert longer["false_positives"] < 0.02  # the mean of more tokens varies less


def test_separable_turns_at_the_capacity():
    values = {"model": "pooled", "dim": 60, "trials": 8, "signal": 3.0}
    limit = st.theory.capacity(st.SparseTokenProblem(10, 1, 3.0), "pooled")
    found = {}
    for factor in (0.6, 1.6):
        cell_values = values | {"alpha": factor * float(limit)}
        for source in ("theory", "simulation"):
            cell = make_cell(source, ["separable"], cell_values)
            found[source, factor] = float(compute(cell)["separable"])
    assert found == {
        ("theory", 0.6): 1.0,
        ("simulation", 0.6): 1.0,
        ("theory", 1.6): 0.0,
        ("simulation", 1.6): 0.0,
    }


def test_one_class_among_the_training_samples_is_an_error():
    values = {"model": "pooled", "alpha": 1.0, "dim": 4, "trials": 2, "positive_rate": 1e-6}
    with pytest.raises(ValueError, match="only one class"):
        compute(make_cell("simulation", ["test_error"], values))
