"""Several kinds of signal: the two laws, their limits, and simulation with real directions."""

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from statistical import Z_LIMIT, standard_score

import sparsetoken as st
from agreement import assert_theory_agrees
from sparsetoken import Population, SparseTokenProblem
from sparsetoken.theory.bayes import bayes_rule

slow = pytest.mark.statistical
QUERY = {"cosine": 0.9, "sharpness": 1.0}


@pytest.mark.parametrize("problem", [SparseTokenProblem(6, 2, 4.0, 0.3, n_kinds=3)])
def test_one_query_sees_a_weaker_signal(problem):
    weaker = replace(problem, signal=problem.signal / math.sqrt(3.0), n_kinds=1)
    for model, query in (("pooled", {}), ("vectorized", {}), ("attention", QUERY)):
        several, one = (
            st.theory.risk(p, model, alpha=3.0, reg=0.1, n_points=512, **query)
            for p in (problem, weaker)
        )
        assert several.test_error == pytest.approx(one.test_error, rel=1e-9)
        assert several.train_loss == pytest.approx(one.train_loss, rel=1e-9)
        limits = [st.theory.capacity(p, model, n_points=512, **query) for p in (problem, weaker)]
        assert limits[0] == pytest.approx(limits[1], rel=1e-9)
    queries = [st.theory.alignment(p, alpha=2.0) for p in (problem, weaker)]
    assert queries[0].to_dict() == pytest.approx(queries[1].to_dict(), rel=1e-9)
    for model in ("pooled", "vectorized", "hardmax"):
        errors = [st.theory.oracle_error(p, model) for p in (problem, weaker)]
        assert errors[0] == pytest.approx(errors[1], rel=1e-9)
        needed = [st.theory.required_signal(p, model, error=0.1) for p in (problem, weaker)]
        assert needed[0] == pytest.approx(math.sqrt(3.0) * needed[1], rel=1e-5)
    trained = [
        st.theory.training(p, steps=3, alpha=2.0, n_points=256).cosine for p in (problem, weaker)
    ]
    assert trained[0] == pytest.approx(trained[1], rel=1e-6)


def test_several_directions_see_more_tokens_and_fewer_samples():
    problem, one = (
        SparseTokenProblem(5, 1, 5.0, 0.4, n_kinds=4),
        SparseTokenProblem(20, 1, 5.0, 0.4),
    )
    several, single = st.theory.optimal(problem, 4.0, 2.0), st.theory.optimal(one, 1.0, 0.5)
    for name in ("cosine", "test_error", "auc"):
        assert getattr(several, name) == pytest.approx(getattr(single, name), rel=1e-9)
    assert several.recall(0.05) == pytest.approx(single.recall(0.05), rel=1e-9)
    bounds = [st.theory.learning_thresholds(p) for p in (problem, one)]
    assert bounds[0].information == pytest.approx(4.0 * bounds[1].information, rel=1e-5)
    errors = [st.theory.oracle_error(p, "bayes") for p in (problem, one)]
    assert errors[0] == pytest.approx(errors[1], rel=1e-9)
    # With the signal in all tokens there is one sum for each kind.
    everywhere = SparseTokenProblem(4, 4, 2.0, n_kinds=3)
    sums = st.theory.oracle_error(SparseTokenProblem(3, 1, 4.0), "bayes")
    assert st.theory.oracle_error(everywhere, "bayes") == pytest.approx(sums, rel=1e-9)


@pytest.mark.parametrize("contiguous", [False, pytest.param(True, marks=slow)])
def test_bayes_error_of_several_tokens_is_that_of_the_likelihood_ratio(contiguous):
    """Against the ratio by enumeration, on fresh tokens along two directions."""
    problem = SparseTokenProblem(4, 2, 2.5, 0.4, contiguous, n_kinds=2)
    error = bayes_rule(problem, 16384).error
    X, y, truth = problem.sample(200_000, 2, random_state=1, return_truth=True)
    along = X @ truth.directions.T
    places = [p for p in itertools.combinations(range(4), 2) if not contiguous or p[1] == p[0] + 1]
    sums = np.stack([along[:, place].sum(axis=1) for place in places])
    ratio = np.exp(2.5 * sums - 2.5**2).mean(axis=(0, 2))
    wrong = (0.4 * ratio > 0.6) != (y == 1)
    bar = math.hypot(error.uncertainty, wrong.std() / math.sqrt(wrong.size))
    assert abs(wrong.mean() - error) < 4.0 * bar
    assert abs(standard_score(wrong, 1.05 * error)) > Z_LIMIT


def test_limits():
    nothing = SparseTokenProblem(5, 1, 0.0, n_kinds=3)
    assert st.theory.oracle_error(nothing, "bayes") == pytest.approx(0.5)
    assert st.theory.optimal(nothing, 2.0).cosine == 0.0
    assert st.theory.optimal(nothing, 2.0).test_error == pytest.approx(0.5)
    many = SparseTokenProblem(10, 1, 7.0, n_kinds=1000)
    assert st.theory.risk(many, "pooled", alpha=2.0, reg=0.1).test_error == pytest.approx(
        0.5, abs=0.02
    )
    bayes = st.theory.oracle_error(SparseTokenProblem(10_000, 1, 7.0), "bayes")
    assert st.theory.oracle_error(many, "bayes") == pytest.approx(bayes, rel=1e-9)
    known = st.theory.optimal(SparseTokenProblem(5, 1, 4.0, n_kinds=3), math.inf)
    assert known.test_error == st.theory.oracle_error(known.problem, "bayes")


def test_what_the_laws_do_not_cover_is_refused():
    problem = SparseTokenProblem(4, 1, 4.0, n_kinds=2)
    with pytest.raises(ValueError, match="n_kinds must be 1 for joint_risk, got 2"):
        st.theory.joint_risk(problem, alpha=4.0, reg_query=0.1, reg_readout=0.1)
    trained = st.theory.risk(problem, "pooled", alpha=2.0, reg=0.1)
    assert trained.on(replace(problem, n_tokens=8)).test_error > trained.test_error
    with pytest.raises(ValueError, match=r"problem\.n_kinds must stay the same"):
        trained.on(SparseTokenProblem(4, 1, 4.0))


LEARNED = ("test_error", "auc", "cosine")
TRAINED = ("test_error", "auc", "train_loss")
TWO_LENGTHS = Population(
    [SparseTokenProblem(5, 1, 5.0, n_kinds=2), SparseTokenProblem(12, 1, 6.0, n_kinds=2)]
)


@pytest.mark.parametrize("dim", [100, pytest.param(300, marks=slow)])
@pytest.mark.parametrize(
    "values",
    [
        {"n_tokens": 10, "signal": 5.0, "n_kinds": 3, "alpha": 3.0},
        pytest.param({"n_tokens": 20, "signal": 6.0, "n_kinds": 2}, marks=slow),
        pytest.param({"n_tokens": 10, "signal": 6.0, "n_kinds": 4, "alpha": 2.0}, marks=slow),
        pytest.param({"n_tokens": 8, "n_signal": 2, "signal": 3.5, "n_kinds": 2}, marks=slow),
        pytest.param({"n_tokens": 9, "signal": 6.0, "n_kinds": 2, "unlabelled": 1.0}, marks=slow),
        pytest.param({"kinds": TWO_LENGTHS}, marks=slow),
    ],
    ids=["three", "two", "four", "two tokens", "unlabelled", "population"],
)
def test_message_passing_reaches_the_optimum(values, dim):
    assert_theory_agrees({"model": "optimal", "alpha": 2.0, "dim": dim} | values, LEARNED)


@pytest.mark.parametrize("dim", [80, pytest.param(200, marks=slow)])
@pytest.mark.parametrize(
    "values",
    [
        {"model": "pooled", "signal": 7.0},
        pytest.param({"model": "vectorized", "signal": 7.0}, marks=slow),
        pytest.param({"model": "attention", "signal": 6.0} | QUERY, marks=slow),
        pytest.param({"model": "pooled", "kinds": TWO_LENGTHS}, marks=slow),
    ],
    ids=["pooled", "vectorized", "attention", "population"],
)
def test_readouts_see_the_weaker_signal(values, dim):
    shared = {"alpha": 4.0, "reg": 0.1, "dim": dim, "trials": 16, "n_points": 2048}
    kinds = {} if "kinds" in values else {"n_tokens": 6, "n_kinds": 2}
    assert_theory_agrees(shared | kinds | values, TRAINED)


@slow
@pytest.mark.parametrize("dim", [200, 600])
def test_two_steps_see_the_weaker_signal(dim):
    """What finite sizes add to the error falls with the dimension: 60/d of it with two kinds."""
    values = {"n_tokens": 10, "signal": 6.0, "n_kinds": 2, "alpha": 4.0, "dim": dim}
    assert_theory_agrees(values | {"trials": 16}, ("test_error", "cosine"), slack=60.0)
