"""Each pass over ragged tokens against one sequence at a time in plain NumPy."""

import numpy as np
import pytest

from sparsetoken import Sequences
from sparsetoken.estimators import head_objective as passes
from sparsetoken.losses import Logistic


@pytest.fixture(params=[np.float64, np.float32], ids=["float64", "float32"])
def data(request):
    rng = np.random.default_rng(0)
    parts = [rng.standard_normal((length, 6)).astype(request.param) for length in (3, 1, 7, 2)]
    tolerance = 1e-12 if request.param == np.float64 else 1e-5
    return Sequences.from_list(parts), [part.astype(float) for part in parts], tolerance


@pytest.fixture
def vectors():
    rng = np.random.default_rng(1)
    sign = np.array([1.0, -1.0, -1.0, 1.0])
    return rng.standard_normal(6), rng.standard_normal(6), rng.random(4), sign


def test_query_gradient(data, vectors):
    X, parts, tolerance = data
    _, readout, slope, _ = vectors
    wanted = sum(
        h / len(part) * part.T @ (np.eye(len(part)) - 1 / len(part)) @ part @ readout
        for h, part in zip(slope, parts, strict=True)
    )
    found = passes.query_gradients(X, slope[:, np.newaxis], readout[:, np.newaxis])
    assert found[:, 0] == pytest.approx(wanted, abs=tolerance)


SIGNS = np.array([[1.0, -1.0], [-1.0, 1.0], [-1.0, -1.0], [1.0, 1.0]])
WEIGHTS = np.array([[0.1, 0.5], [0.2, 0.0], [0.3, 0.2], [0.4, 0.3]])
LABEL_COLUMN, WEIGHT_COLUMN = np.array([0, 1, 1]), np.array([1, 0, 1])
TEMPERATURES = np.array([1.0, -2.0, 10.0])


def test_evidence_gradients(data):
    """Each head has labels and weights of its own; the gradient is that of differences."""
    X, parts, _ = data
    rng = np.random.default_rng(2)
    queries, biases = rng.standard_normal((6, 3)), rng.random(3)

    def values(directions):
        scores = np.array(
            [
                TEMPERATURES * np.log(np.mean(np.exp(part @ directions / TEMPERATURES), axis=0))
                for part in parts
            ]
        )
        losses = Logistic().value(scores + biases, SIGNS[:, LABEL_COLUMN])
        return (WEIGHTS[:, WEIGHT_COLUMN] * losses).sum(axis=0)

    heads = TEMPERATURES, biases, LABEL_COLUMN, WEIGHT_COLUMN
    found_values, directions, _ = passes.evidence_gradients(X, SIGNS, WEIGHTS, queries, heads)
    assert found_values == pytest.approx(values(queries), abs=1e-6)
    for j in range(6):
        change = np.zeros((6, 1))
        change[j] = 1e-6
        differences = values(queries + change) - values(queries - change)
        assert directions[j] == pytest.approx(differences / 2e-6, abs=1e-5)
