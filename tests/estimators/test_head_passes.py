"""Each pass over ragged tokens against one sequence at a time in plain NumPy."""

from typing import NamedTuple

import numpy as np
import pytest
from dense_reference import softmax

from sparsetoken import Sequences
from sparsetoken.estimators import head_passes as passes
from sparsetoken.losses import Logistic
from sparsetoken.sequences.passes import scaled_tokens


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
    assert passes.query_gradient(X, slope, readout) == pytest.approx(wanted, abs=tolerance)


class Heads(NamedTuple):
    """Heads in scaled coordinates z = (x − mean)·scale, a column each."""

    mean: np.ndarray
    scale: np.ndarray
    queries: np.ndarray
    readouts: np.ndarray
    biases: np.ndarray


@pytest.fixture
def heads():
    rng = np.random.default_rng(2)
    return Heads(
        rng.standard_normal(6), rng.random(6), *rng.standard_normal((2, 6, 3)), rng.random(3)
    )


SIGNS = np.array([[1.0, -1.0], [-1.0, 1.0], [-1.0, -1.0], [1.0, 1.0]])
SHARES = np.array([[0.1, 0.5], [0.2, 0.0], [0.3, 0.2], [0.4, 0.3]])
SIGN_OF, SHARE_OF = np.array([0, 1, 1]), np.array([1, 0, 1])


def test_query_gradients_are_those_of_scaled_tokens(data, heads):
    X, _, tolerance = data
    scaled = Sequences(scaled_tokens(X, heads.mean, heads.scale), X.offsets)
    slopes = SIGNS[:, SIGN_OF] * SHARES[:, SHARE_OF]
    found = passes.query_gradients(X, slopes, heads.mean, heads.scale, heads.readouts)
    for k in range(3):
        expected = passes.query_gradient(scaled, slopes[:, k], heads.readouts[:, k])
        assert found[:, k] == pytest.approx(expected, abs=10 * tolerance)


def test_linear_scores(data, heads):
    X, parts, tolerance = data
    linear = passes.linear_scores(X, heads.queries, heads.readouts)
    wanted = [
        [part.T @ softmax(part @ heads.queries[:, k]) @ heads.readouts[:, k] for k in range(3)]
        for part in parts
    ]
    assert linear == pytest.approx(np.array(wanted), abs=10 * tolerance)


TEMPERATURES = np.array([1.0, -2.0, 10.0])


def evidence(part, heads, k):
    scaled = (part - heads.mean) * heads.scale @ heads.queries[:, k]
    a = TEMPERATURES[k]
    return a * np.log(np.mean(np.exp(scaled / a)))


def test_evidence_scores(data, heads):
    X, parts, _ = data
    wanted = np.array([[evidence(part, heads, k) for k in range(3)] for part in parts])
    arguments = heads.queries, TEMPERATURES
    scores = passes.evidence_scores(X, *arguments, heads.mean, heads.scale)
    assert scores == pytest.approx(wanted, abs=1e-5)
    scaled = Sequences(scaled_tokens(X, heads.mean, heads.scale), X.offsets)
    assert passes.evidence_scores(scaled, *arguments) == pytest.approx(wanted, abs=1e-5)


def test_evidence_gradients(data, heads):
    """Each head has labels and weights of its own; the gradient is that of differences."""
    X, parts, _ = data

    def values(directions):
        moved = heads._replace(queries=directions)
        scores = np.array([[evidence(part, moved, k) for k in range(3)] for part in parts])
        losses = Logistic().value(scores + heads.biases, SIGNS[:, SIGN_OF])
        return (SHARES[:, SHARE_OF] * losses).sum(axis=0)

    found = passes.evidence_gradients(
        X,
        SIGNS,
        SHARES,
        heads.mean,
        heads.scale,
        heads.queries,
        TEMPERATURES,
        heads.biases,
        SIGN_OF,
        SHARE_OF,
    )
    assert found.values == pytest.approx(values(heads.queries), abs=1e-6)
    for j in range(6):
        change = np.zeros((6, 1))
        change[j] = 1e-6
        differences = values(heads.queries + change) - values(heads.queries - change)
        assert found.directions[j] == pytest.approx(differences / 2e-6, abs=1e-5)


def test_contributions(data, heads):
    X, _, tolerance = data
    center, starts = np.arange(6.0), X.offsets[:-1]
    linear = passes.linear_tokens(X, heads.queries, heads.readouts, center)
    scores = passes.linear_scores(X, heads.queries, heads.readouts)
    sums = np.add.reduceat(linear[1], starts)
    assert sums == pytest.approx(scores - center @ heads.readouts, abs=10 * tolerance)
    evidence = passes.evidence_tokens(X, heads.queries, TEMPERATURES, center)
    scores = passes.evidence_scores(X, heads.queries, TEMPERATURES)
    sums = np.add.reduceat(evidence[1], starts)
    assert sums == pytest.approx(scores - center @ heads.queries, abs=10 * tolerance)
    for attention in (linear[0], evidence[0]):
        assert np.add.reduceat(attention, starts) == pytest.approx(np.ones((4, 3)))
