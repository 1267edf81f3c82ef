"""What is asked of the planner, and the case that a value of the unknown makes of it."""

import pytest

import sparsetoken as st
from sparsetoken.planner.metric import get_metric
from sparsetoken.planner.request import fewest_samples, make_request

ERROR = get_metric("error")
ASKED = {
    "n_samples": None,
    "dim": 50,
    "n_tokens": 4,
    "n_signal": 2,
    "signal": 3.0,
    "positive_rate": 0.4,
    "error": 0.1,
}
LEFT_OUT = ASKED | {"n_tokens": None, "n_signal": 1, "signal": None, "positive_rate": 0.5}


def test_a_case_has_the_unknown_and_all_that_is_known():
    request = make_request(ERROR, None, ASKED)
    assert request.unknown == "n_samples"
    case = request.at(100)
    assert (case.n_samples, case.dim, case.alpha) == (100, 50, 2.0)
    assert case.problem == st.SparseTokenProblem(4, 2, 3.0, 0.4)
    longer = make_request(ERROR, None, ASKED | {"n_samples": 100, "n_tokens": None}).at(9)
    assert longer.problem.n_tokens == 9


def test_the_signal_of_a_population_is_a_factor_on_all_strengths():
    kinds = [st.SparseTokenProblem(4, 2, 3.0, 0.4), st.SparseTokenProblem(12, 2, 5.0, 0.4)]
    population = st.Population(kinds, shares=[0.6, 0.4])
    request = make_request(ERROR, population, LEFT_OUT | {"n_samples": 100})
    assert request.unknown == "signal"
    assert [kind.signal for kind in request.at(2.0).problem.kinds] == [6.0, 10.0]
    sized = make_request(ERROR, population, LEFT_OUT)
    assert [kind.signal for kind in sized.at(100).problem.kinds] == [3.0, 5.0]


def test_a_problem_keeps_its_runs():
    runs = st.SparseTokenProblem(40, 4, 2.0, contiguous=True)
    assert make_request(ERROR, runs, LEFT_OUT).at(100).problem == runs


@pytest.mark.parametrize(("rate", "fewest"), [(0.5, 20), (0.1, 100), (0.9, 100), (0.3, 34)])
def test_the_fewest_samples_have_ten_of_the_rarer_class(rate, fewest):
    assert fewest_samples(rate) == fewest
