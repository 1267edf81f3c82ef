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
    matrix = standard.to_scaled(np.eye(5), shrinkage).T
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
    vector, scaled = np.arange(5.0), (np.ones(5) - standard.mean) * standard.scale
    there = standard.from_scaled(scaled, shrinkage)
    here = standard.to_scaled(vector, shrinkage)
    assert vector @ there == pytest.approx(here @ scaled)
    assert standard.to_standard(here[np.newaxis], shrinkage)[0] == pytest.approx(vector)
