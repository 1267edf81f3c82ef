import json
import math
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import linprog
from statistical import quick_first

from sparsetoken import SparseTokenProblem
from sparsetoken.sampling import sample_features
from sparsetoken.theory import capacity
from user_poolings import Rectified

CHECKED = json.loads((Path(__file__).parent / "checked_values.json").read_text())


def problem_of(row):
    names = ("n_tokens", "n_signal", "signal", "positive_rate")
    return SparseTokenProblem(**{name: row[name] for name in names})


@pytest.mark.parametrize("row", CHECKED["capacity_attention"], ids=lambda row: str(row["cosine"]))
def test_checked_values(row):
    found = capacity(problem_of(row), "attention", cosine=row["cosine"], sharpness=row["sharpness"])
    assert found == pytest.approx(row["capacity"], abs=3 * row["spread"] + 3 * found.uncertainty)
    assert found.converged
    assert 0 < found.uncertainty < 1e-3


@pytest.mark.parametrize("row", CHECKED["capacity_linear"], ids=lambda row: str(row["n_tokens"]))
def test_checked_values_of_linear_models(row):
    problem = problem_of(row)
    assert capacity(problem, "pooled") == pytest.approx(row["capacity_pooled"], abs=1e-5)
    assert capacity(problem, "vectorized") == pytest.approx(row["capacity_vectorized"], abs=1e-4)


def test_without_signal_two_samples_per_weight():
    problem = SparseTokenProblem(7, 2, 0.0)
    assert capacity(problem, "pooled") == pytest.approx(2.0, abs=1e-9)
    assert capacity(problem, "vectorized") == pytest.approx(14.0, abs=1e-8)
    assert capacity(problem, "attention", cosine=0.4, sharpness=2.0) == pytest.approx(2.0, abs=1e-6)
    lopsided = SparseTokenProblem(7, 2, 0.0, 0.1)
    assert capacity(lopsided, "pooled") > 2.5  # a bias alone separates more


def test_limits():
    problem = SparseTokenProblem(10, 1, 3.0, 0.5)
    pooled = capacity(problem, "pooled")
    flat = capacity(problem, "attention", cosine=0.7, sharpness=1e-4)
    assert flat == pytest.approx(pooled, abs=4 * flat.uncertainty + 1e-4)
    one_class = SparseTokenProblem(10, 1, 3.0, 1.0)
    assert capacity(one_class, "pooled") == math.inf
    # Half of the single-token sequences have no feature at all under a rectifier.
    assert capacity(SparseTokenProblem(1), Rectified(), cosine=0.5, sharpness=1.0) == 0.0


def separable(features, y):
    """Whether a hyperplane with bias has every sample on its side: a linear programme."""
    sign = 2.0 * y - 1.0
    rows = -sign[:, np.newaxis] * np.column_stack([features, np.ones(len(y))])
    result = linprog(np.zeros(rows.shape[1]), A_ub=rows, b_ub=-np.ones(len(y)), bounds=(None, None))
    return result.status == 0


@pytest.mark.parametrize(
    ("problem", "cosine", "sharpness"),
    quick_first(
        [
            (SparseTokenProblem(10, 1, 3.0, 0.5), 0.9, 1.0),
            (SparseTokenProblem(6, 2, 2.0, 0.3), 0.6, 1.5),
        ]
    ),
)
def test_separable_fraction_on_both_sides(problem, cosine, sharpness):
    dim, trials, rng = 60, 30, np.random.default_rng(0)
    threshold = capacity(problem, "attention", cosine=cosine, sharpness=sharpness)
    direction = np.eye(dim)[0]
    query = sharpness * (cosine * direction + math.sqrt(1 - cosine**2) * np.eye(dim)[1])
    shares = []
    for factor in (0.8, 1.25):
        n_samples = round(factor * threshold * dim)
        drawn = [
            sample_features(problem, n_samples, query, direction, random_state=rng)
            for _ in range(trials)
        ]
        shares.append(np.mean([separable(*sample) for sample in drawn]))
    assert shares[0] >= 0.9
    assert shares[1] <= 0.1
