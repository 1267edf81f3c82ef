"""The free entropy of the solutions."""

import pytest

from sparsetoken.theory.optimal_precision import tabulate_precision
from theory.learned import PROBLEMS, learn


@pytest.mark.parametrize("name", ["one token", "runs", "two lengths"])
def test_free_entropy_grows_with_samples_by_their_information(name):
    problem = PROBLEMS[name]
    low, middle, high = (learn(problem, 1.0 + shift) for shift in (-1e-3, 0.0, 1e-3))
    slope = (high.free_entropy - low.free_entropy) / 2e-3
    information = 0.5 * tabulate_precision(problem, 512).integral(middle.overlap)[0]
    assert slope == pytest.approx(information, rel=1e-3)
