import numpy as np
import pytest
from scipy.special import softmax

from sparsetoken.losses import Logistic
from sparsetoken.models.training import gradient
from sparsetoken.sequences.sequences import as_sequences


def test_the_gradient_is_that_of_the_loss():
    rng = np.random.default_rng(0)
    parts = [rng.standard_normal((length, 4)) for length in (3, 1, 5, 2)]
    sign, point = np.array([1.0, -1.0, -1.0, 1.0]), rng.standard_normal(9)

    def value(point):
        features = np.array([part.T @ softmax(0.7 * part @ point[:4]) for part in parts])
        return np.mean(Logistic().value(features @ point[4:8] + point[8], sign))

    by_query, by_readout, by_bias, found = gradient(
        as_sequences(parts), sign, point[:4], point[4:8], point[8], Logistic(), 0.7
    )
    assert found == pytest.approx(value(point))
    moves = 1e-5 * np.eye(9)
    differences = [(value(point + move) - value(point - move)) / 2e-5 for move in moves]
    np.testing.assert_allclose([*by_query, *by_readout, by_bias], differences, atol=1e-8)
