import math

import pytest

import sparsetoken as st
from agreement import assert_theory_agrees
from populations import TWO_LENGTHS
from sparsetoken.experiments import compute, make_cell

LEARNED = ("test_error", "auc", "recall", "cosine")
slow = pytest.mark.statistical


@pytest.mark.parametrize(
    "values",
    [
        {"n_tokens": 12, "signal": 4.0, "positive_rate": 0.3},
        pytest.param(
            {"n_tokens": 12, "n_signal": 3, "signal": 2.5, "contiguous": True}, marks=slow
        ),
        pytest.param({"n_tokens": 6, "signal": 3.0, "alpha": 0.3, "unlabelled": 3.0}, marks=slow),
        pytest.param(
            {"kinds": st.Population(TWO_LENGTHS.kinds, TWO_LENGTHS.shares, (0.1, 0.05))},
            marks=slow,
        ),
        pytest.param(
            {"n_tokens": 500, "signal": 5.0, "alpha": 0.4, "start": "informed"}, marks=slow
        ),
    ],
    ids=["one token", "runs", "unlabelled", "population", "hard phase"],
)
def test_simulation_agrees_with_theory(values):
    values = {"model": "optimal", "alpha": 1.5, "dim": 200} | values
    assert assert_theory_agrees(values, LEARNED).keys() == set(LEARNED)


def test_cells_are_the_theory():
    values = {"model": "optimal", "n_tokens": 20, "signal": 6.0, "alpha": 1.0, "fpr": 0.02}
    values |= {"unlabelled": 0.5, "n_points": 1024}
    numbers = compute(make_cell("theory", [*LEARNED, "oracle_error"], values))
    problem = st.SparseTokenProblem(20, 1, 6.0)
    best = st.theory.optimal(problem, 1.0, 0.5)
    assert numbers["test_error"] == best.test_error
    assert numbers["recall"] == best.recall(fpr=0.02)
    assert numbers["oracle_error"] == st.theory.oracle_error(problem, "bayes", n_points=1024)


def test_thresholds_need_no_samples():
    names = ("information_threshold", "iteration_threshold")
    values = {"model": "optimal", "n_tokens": 20, "signal": 6.0}
    numbers = compute(make_cell("theory", names, values))
    thresholds = st.theory.learning_thresholds(st.SparseTokenProblem(20, 1, 6.0))
    assert numbers["iteration_threshold"] == thresholds.iteration
    assert numbers["information_threshold"] == thresholds.information
    assert make_cell("simulation", names, values) is None


def test_every_road_takes_as_many_points():
    """Where several tokens carry the signal the points matter."""
    numbers = compute(
        make_cell("theory", "test_error", {"model": "optimal", "n_signal": 2, "alpha": 1.0})
    )
    problem = st.SparseTokenProblem(10, 2, 5.0)
    assert numbers["test_error"] == st.theory.optimal(problem, 1.0).test_error


def test_the_start_chooses_the_solution():
    model, problem = st.models.get("optimal"), st.SparseTokenProblem(5000, 1, 5.0)
    best = st.theory.optimal(problem, 3.0)
    assert best.hard
    reached = [
        model.theory(problem, [3.0], start)[0].cosine
        for start in ({}, {"start": "nothing"}, {"start": "informed"})
    ]
    assert reached == [best.cosine, best.from_nothing.cosine, best.informed.cosine]


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"unlabelled": math.inf}, "unlabelled must be finite in a simulation"),
        ({"start": "middle"}, "start must be one of"),
        ({"alpha": None}, "alpha"),
        ({"kinds": TWO_LENGTHS, "contiguous": True}, "contiguous does not go with kinds"),
    ],
)
def test_what_it_refuses(values, message):
    values = {"model": "optimal", "alpha": 1.0} | values
    values = {name: value for name, value in values.items() if value is not None}
    with pytest.raises(ValueError, match=message):
        make_cell("simulation", ["test_error"], values)
