import math

import pytest

import sparsetoken as st
from agreement import assert_theory_agrees
from populations import TWO_LENGTHS
from sparsetoken.experiments import compute, make_cell

LEARNED = ("test_error", "auc", "recall", "cosine")
THRESHOLDS = ("information_threshold", "iteration_threshold", "iteration_law")


@pytest.mark.parametrize(
    "values",
    [
        {"n_tokens": 12, "signal": 4.0, "positive_rate": 0.3},
        {"n_tokens": 12, "n_signal": 3, "signal": 2.5, "contiguous": True},
        {"n_tokens": 6, "signal": 3.0, "alpha": 0.3, "unlabelled": 3.0},
        {"kinds": st.Population(TWO_LENGTHS.kinds, TWO_LENGTHS.shares, (0.1, 0.05))},
        {"n_tokens": 500, "signal": 5.0, "alpha": 0.4, "start": "informed"},
    ],
    ids=["one token", "runs", "unlabelled", "population", "hard phase"],
)
def test_simulation_agrees_with_theory(values):
    values = {"model": "optimal", "alpha": 1.5, "dim": 300} | values
    found = assert_theory_agrees(values, LEARNED)
    assert found.keys() == set(LEARNED)


def test_cells_are_the_theory():
    values = {"model": "optimal", "n_tokens": 20, "signal": 6.0, "alpha": 1.0, "fpr": 0.02}
    values |= {"unlabelled": 0.5, "n_points": 1024}
    found = compute(make_cell("theory", LEARNED, values))
    best = st.theory.optimal(st.SparseTokenProblem(20, 1, 6.0), 1.0, 0.5)
    assert found["test_error"] == best.test_error
    assert found["recall"] == best.recall(fpr=0.02)
    cell = make_cell("theory", THRESHOLDS, values)
    assert not {"alpha", "unlabelled", "fpr"} & cell.values.keys()
    thresholds = st.theory.learning_thresholds(st.SparseTokenProblem(20, 1, 6.0))
    assert compute(cell)["iteration_threshold"] == thresholds.iteration
    assert make_cell("simulation", THRESHOLDS, values) is None


def test_the_start_chooses_the_solution():
    hard = {"model": "optimal", "n_tokens": 5000, "signal": 5.0, "alpha": 3.0}
    best = st.theory.optimal(st.SparseTokenProblem(5000, 1, 5.0), 3.0)
    assert best.hard
    reached = [
        compute(make_cell("theory", "cosine", hard | start))["cosine"]
        for start in ({}, {"start": "nothing"}, {"start": "informed"})
    ]
    assert reached == [best.cosine, best.from_nothing.cosine, best.informed.cosine]


def test_runs_are_another_cell_where_positions_are_seen():
    values = {"n_tokens": 12, "n_signal": 3, "signal": 2.0, "alpha": 2.0}
    runs = st.SparseTokenProblem(12, 3, 2.0, contiguous=True)
    for model, quantity in (("optimal", "cosine"), ("bayes", "oracle_error"), ("pooled", "auc")):
        cells = [
            make_cell("theory", quantity, values | {"model": model, "contiguous": in_runs})
            for in_runs in (False, True)
        ]
        assert len(set(cells)) == (1 if model == "pooled" else 2)
        if model == "bayes":
            found = compute(cells[1])[quantity]
            expected = st.theory.oracle_error(runs, "bayes")
            assert found == pytest.approx(expected, abs=4.0 * expected.uncertainty)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"test_n_tokens": 5}, "is tested on the problem"),
        ({"unlabelled": math.inf}, "unlabelled must be finite in a simulation"),
        ({"start": "middle"}, "start must be one of"),
        ({"alpha": None}, "alpha"),
        ({"kinds": TWO_LENGTHS, "contiguous": True}, "contiguous does not go with kinds"),
        ({"model": "vectorized", "contiguous": True}, "contiguous"),
    ],
)
def test_what_it_refuses(values, message):
    values = {"model": "optimal", "alpha": 1.0} | values
    values = {name: value for name, value in values.items() if value is not None}
    with pytest.raises(ValueError, match=message):
        make_cell("simulation", ["test_error"], values)
