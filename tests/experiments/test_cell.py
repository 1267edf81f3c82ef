import pytest

import sparsetoken as st
from populations import LABEL_ERRORS, STRENGTHS, TWO_LENGTHS
from sparsetoken.experiments import make_cell

VALUES = {"alpha": 2.0, "dim": 60, "trials": 4}


def test_key_and_seed_depend_on_meaning_not_on_spelling():
    cell = make_cell("simulation", ["test_error"], VALUES)
    reordered = dict(reversed(VALUES.items())) | {"alpha": 2, "reg": 0.01}
    assert make_cell("simulation", ["test_error"], reordered) == cell
    other = make_cell("simulation", ["test_error"], VALUES | {"alpha": 2.5})
    assert other.key != cell.key
    assert other.seed != cell.seed


def test_samples_are_split_between_query_and_readout():
    cell = make_cell("theory", ["test_error"], VALUES | {"split": 0.25})
    assert (cell.alpha0, cell.alpha1) == (0.5, 1.5)
    assert make_cell("theory", ["test_error"], VALUES | {"model": "pooled"}).alpha1 == 2.0


def test_keys_stay_what_they_were():
    """Results of stores of version 0.2 are found again, but for populations (third)."""
    cells = [
        make_cell("simulation", "test_error", VALUES),
        make_cell("theory", "cosine", {"alpha0": 2.0, "model": "elementwise"}),
        make_cell("theory", ["auc", "recall"], {"kinds": TWO_LENGTHS, "alpha": 3.0, "fpr": 0.1}),
        make_cell("simulation", "train_loss", VALUES | {"model": "training", "batches": "reused"}),
    ]
    assert [cell.key[:16] for cell in cells] == [
        "11ede229847357ea",
        "16b7752ed7f0a887",
        "9ccb3fb13d4df996",
        "979e85aacf8e33bb",
    ]


@pytest.mark.parametrize("population", [TWO_LENGTHS, LABEL_ERRORS, STRENGTHS])
def test_a_population_is_built_once(population):
    cell = make_cell("theory", ["test_error"], {"kinds": population, "alpha": 2.0})
    for kind, expected in zip(cell.problem, population, strict=True):
        assert kind[0] == expected[0]
        assert kind[1] == pytest.approx(expected[1], rel=1e-12)
    assert cell.problem.label_errors == population.label_errors
    assert cell.problem is cell.problem
    assert cell.test_problem is cell.problem
    plain = make_cell("theory", ["auc"], {"test_kinds": population, "alpha": 2.0})
    assert plain.problem == st.SparseTokenProblem(10, 1, 5.0)
    assert plain.test_problem.kinds == population.kinds
