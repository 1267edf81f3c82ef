"""Common coordinates of the tokens."""

import numpy as np
import pytest

from sparsetoken.estimators.standardize import Standard
from sparsetoken.sequences.data import MemoryData
from sparsetoken.sequences.passes import token_covariance
from sparsetoken.sequences.sequences import as_sequences


def data_and_weights(seed=0):
    rng = np.random.default_rng(seed)
    parts = [rng.standard_normal((length, 5)) * [1, 2, 3, 4, 0] + 1 for length in (2, 3, 5, 4) * 10]
    weights = rng.random(40)
    return MemoryData(as_sequences(parts)), weights / weights.sum(), np.arange(40) % 3 == 0


@pytest.mark.parametrize("shrinkage", [1.0, 0.5, 1e-9, None])
def test_standard_coordinates(shrinkage):
    data, weights, _ = data_and_weights()
    standard = Standard(data, weights)
    per_token = weights * data.lengths / (weights @ data.lengths)
    (covariance,) = data.total(token_covariance, (per_token,), standard.mean, standard.scale)
    directions, _ = standard.to_data(np.eye(5), shrinkage)
    scale = np.where(standard.scale > 0, standard.scale, 1.0)
    matrix = (directions / scale).T
    found = matrix.T @ covariance @ matrix
    if shrinkage is None:
        assert np.trace(found) == pytest.approx(10.0)
        assert np.ptp((standard.scale * np.diag(matrix))[:4]) == pytest.approx(0, abs=1e-12)
        return
    assert found[-1] == pytest.approx(np.zeros(5))  # the feature that never varies
    if shrinkage == 1.0:
        assert np.diag(found)[:4] == pytest.approx(np.ones(4))
    if shrinkage == 1e-9:
        assert found[:4, :4] == pytest.approx(np.eye(4), abs=1e-6)
    vector, token = np.arange(4.0, -1.0, -1.0)[np.newaxis], np.ones((1, 5))
    there = standard.from_data(3.0 * token, np.array([3.0]), shrinkage)
    direction, offset = standard.to_data(vector, shrinkage)
    assert vector @ there.T == pytest.approx(3.0 * (direction @ token.T + offset))
    assert standard.to_standard(direction, shrinkage) == pytest.approx(vector)
