import math

import numpy as np
import pytest

import sparsetoken as st

MODEL = st.models.get("sparse-token")


@pytest.mark.parametrize(
    ("problem", "size", "dim"),
    [
        (st.SparseTokenProblem(10, signal=4.5), 2.0, 40),
        pytest.param(
            st.SparseTokenProblem(30, n_signal=2, signal=4.0, positive_rate=0.3),
            3.0,
            60,
            marks=pytest.mark.statistical,
        ),
    ],
)
def test_theory_is_near_the_fitted_classifier(problem, size, dim):
    # An empirical law: within a quarter of the error, beside noise.
    predicted = MODEL.theory(problem, [size], {})[0].test_error
    errors = [
        MODEL.trial(problem, size, dim, {}, np.random.default_rng(seed)).test_error
        for seed in range(4)
    ]
    noise = 3.0 * np.std(errors, ddof=1) / 2.0
    assert abs(np.mean(errors) - predicted) < noise + 0.25 * predicted
    assert np.mean(errors) > st.theory.optimal(problem, size).test_error - noise


def test_never_better_than_the_optimum_nor_worse_than_a_constant():
    for signal in (0.0, 2.0, 5.0, 9.0):
        problem = st.SparseTokenProblem(20, signal=signal, positive_rate=0.3)
        for size in (0.1, 1.0, 8.0, math.inf):
            near, best = MODEL.theory(problem, [size], {})[0], st.theory.optimal(problem, size)
            assert best.from_nothing.test_error <= near.test_error * (1 + 1e-9)
            assert near.test_error <= 0.3 + 1e-12
            assert 0.5 - 1e-12 <= near.auc <= best.from_nothing.auc * (1 + 1e-9)
            assert near.recall(0.05) <= best.from_nothing.recall(0.05) * (1 + 1e-9)
