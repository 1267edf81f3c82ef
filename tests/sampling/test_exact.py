import numpy as np
import pytest
from dense_reference import attention_features, ridge_readout, two_gradient_steps
from scipy.special import ndtr
from statistical import Z_LIMIT, assert_same_law, disagreements, quick_first, standard_score

from sparsetoken import SparseTokenProblem
from sparsetoken.losses import Logistic
from sparsetoken.sampling import (
    exact_performance,
    pooled_performance,
    sample_feature_law,
    sample_features,
    sample_query,
)

RATES = {"beta": 1.0, "lr_readout": 1.0, "lr_bias": 1.0, "lr_query": 40.0}
PROBLEMS = [
    SparseTokenProblem(8, 1, 4.0, 0.5),
    SparseTokenProblem(5, 2, 4.0, 0.4, n_kinds=2),
    SparseTokenProblem(6, 2, 2.5, 0.3),
    SparseTokenProblem(3, 3, 1.0, 0.6),
    SparseTokenProblem(1, 1, 2.0, 0.5),
]


def law_for(problem, query, direction, n_points, seed):
    norm = np.linalg.norm(query)
    cosine = direction @ query / norm if norm > 0 else 1.0
    return sample_feature_law(problem, n_points, cosine=cosine, sharpness=norm, random_state=seed)


@pytest.mark.parametrize("problem", quick_first(PROBLEMS, 2), ids=str)
def test_equals_the_error_on_a_dense_test_set(problem):
    rng = np.random.default_rng(0)
    direction = np.eye(problem.n_kinds, 6)
    query = np.array([1.0, 0.6, 0.0, -0.3, 0.0, 0.2])
    readout, bias = np.array([0.8, -0.2, 0.3, 0.0, 0.1, 0.0]), -0.4
    law = law_for(problem, query, direction, 400_000, seed=1)
    exact = exact_performance(law, readout, bias, query, direction).test_error
    X, y = problem.sample(200_000, 6, random_state=rng, direction=direction)
    wrong = (attention_features(X, query) @ readout + bias > 0) != (y == 1)
    assert abs(standard_score(wrong, exact)) < Z_LIMIT
    assert abs(standard_score(wrong, 1.02 * exact)) > Z_LIMIT  # it would see 2 %


@pytest.mark.parametrize("problem", quick_first(PROBLEMS, 2), ids=str)
def test_whole_pipeline_has_the_same_law_as_dense(problem):
    """Query on D0, readout on D1, its exact test error: dense tokens against reduced samplers."""
    dim, n0, n1, trials = 12, 40, 40, 800

    def dense(rng):
        X, y, truth = problem.sample(n0, dim, random_state=rng, return_truth=True)
        query, _, _ = two_gradient_steps(X, y, Logistic(), **RATES)
        X, y = problem.sample(n1, dim, random_state=rng, direction=truth.directions)
        return attention_features(X, query), y, query, truth.directions

    def reduced(rng):
        learned = sample_query(problem, n0, dim, loss=Logistic(), random_state=rng, **RATES)
        drawn = sample_features(problem, n1, learned.query, learned.directions, random_state=rng)
        return *drawn, learned.query, learned.directions

    def record(pipeline, seed):
        rng, rows = np.random.default_rng(seed), []
        for _ in range(trials):
            F, y, query, direction = pipeline(rng)
            readout, bias = ridge_readout(F, y, reg=0.1)
            law = law_for(problem, query, direction, 500, seed=3)  # the same points for both
            error = exact_performance(law, readout, bias, query, direction).test_error
            loss = np.mean((F @ readout + bias - (2 * y - 1)) ** 2) / 2
            rows.append((error, loss, np.linalg.norm(readout), bias))
        names = ("test error", "train loss", "readout norm", "bias")
        return dict(zip(names, np.transpose(rows), strict=True))

    first, second = record(dense, 1), record(reduced, 2)
    assert_same_law(first, second)
    assert disagreements(first["test error"], 1.08 * second["test error"])


def test_linear_case_in_closed_form():
    """One token: two Gaussians, so the error is Φ of the distances to the threshold."""
    problem = SparseTokenProblem(1, 1, 2.0, 0.3)
    readout, bias, xi = np.array([0.6, 0.8, 0.0]), -0.5, np.eye(3)[0]
    error = pooled_performance(problem, readout, bias, xi).test_error
    assert error == pytest.approx(0.3 * ndtr(-(1.2 - 0.5)) + 0.7 * ndtr(-0.5), rel=1e-12)


def test_pooled_error_of_several_kinds_is_that_of_fresh_samples():
    problem, directions = SparseTokenProblem(3, 1, 4.0, 0.3, n_kinds=2), np.eye(2, 4)
    readout, bias = np.array([0.9, 0.4, 0.3, 0.0]), -0.6
    error = pooled_performance(problem, readout, bias, directions).test_error
    X, y = problem.sample(200_000, 4, random_state=0, direction=directions)
    wrong = (X.mean(axis=1) @ readout + bias > 0) != (y == 1)
    assert abs(standard_score(wrong, error)) < Z_LIMIT
    assert abs(standard_score(wrong, 1.02 * error)) > Z_LIMIT


def test_readout_along_the_query_leaves_no_noise():
    problem = SparseTokenProblem(5, 1, 3.0, 0.2)
    xi = np.eye(4)[0]
    law = law_for(problem, xi, xi, 50_000, seed=0)
    error = exact_performance(law, xi, -2.0, xi, xi).test_error
    low = (law.positive.along_query < 2.0).mean()
    high = (law.negative.along_query > 2.0).mean()
    assert error == pytest.approx(0.2 * low + 0.8 * high, abs=1e-12)
    assert exact_performance(law, np.zeros(4), 0.0, xi, xi).test_error == pytest.approx(0.5)
    assert exact_performance(law, np.zeros(4), -1.0, xi, xi).test_error == pytest.approx(0.2)


@pytest.mark.parametrize(
    ("argument", "value"),
    [("cosine", 1.5), ("cosine", np.nan), ("sharpness", -1.0), ("n_points", 0), ("pooling", "sum")],
)
def test_bad_law_argument_is_named(argument, value):
    arguments = {"n_points": 10, "cosine": 0.5, "sharpness": 1.0, argument: value}
    with pytest.raises(ValueError, match=f"^{argument} must"):
        sample_feature_law(SparseTokenProblem(5), **arguments)
