"""Each pass over ragged tokens against one sequence at a time in plain NumPy."""

import numpy as np
import pytest
from dense_reference import softmax

from sparsetoken import Sequences
from sparsetoken.estimators import passes
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


def test_features_and_weights(data, vectors):
    X, parts, tolerance = data
    query, *_ = vectors
    weights = [softmax(part @ query) for part in parts]
    features = np.array([part.T @ weight for part, weight in zip(parts, weights, strict=True)])
    pooled = np.array([part.mean(axis=0) for part in parts])
    assert passes.attention_weights(X, query) == pytest.approx(
        np.concatenate(weights), abs=tolerance
    )
    assert passes.attention_features(X, query) == pytest.approx(features, abs=tolerance)
    assert passes.pooled_features(X) == pytest.approx(pooled, abs=tolerance)
    assert passes.attention_features(X, 0 * query) == pytest.approx(pooled, abs=tolerance)


def test_query_gradient(data, vectors):
    X, parts, tolerance = data
    _, readout, slope, _ = vectors
    wanted = sum(
        h / len(part) * part.T @ (np.eye(len(part)) - 1 / len(part)) @ part @ readout
        for h, part in zip(slope, parts, strict=True)
    )
    assert passes.query_gradient(X, slope, readout) == pytest.approx(wanted, abs=tolerance)


def test_joint_gradient_against_differences(data, vectors):
    X, parts, tolerance = data
    query, readout, share, sign = vectors
    point = np.concatenate([query, readout, [0.3]])

    def value(point):
        score = [part.T @ softmax(part @ point[:6]) @ point[6:12] + point[12] for part in parts]
        return share @ Logistic().value(np.array(score), sign)

    found = passes.joint_gradient(X, sign, share, query, readout, 0.3)
    assert found.value == pytest.approx(value(point), abs=tolerance)
    gradient = np.concatenate([found.query, found.readout, [found.bias]])
    steps = 1e-6 * np.eye(13)
    differences = [(value(point + step) - value(point - step)) / 2e-6 for step in steps]
    assert gradient == pytest.approx(differences, abs=1e-8 + 10 * tolerance)


def test_joint_gradient_starts_with_the_two_steps(data, vectors):
    """At q = 0 the gradient in the query is that of the protocol's second step."""
    X, _, tolerance = data
    query, readout, share, sign = vectors
    found = passes.joint_gradient(X, sign, share, 0 * query, readout, 0.1)
    slope = share * Logistic().derivative(passes.pooled_features(X) @ readout + 0.1, sign)
    assert found.query == pytest.approx(
        passes.query_gradient(X, slope, readout), abs=10 * tolerance
    )


def test_moments(data, vectors):
    X, parts, tolerance = data
    mean, _, share, _ = vectors
    weights = [np.full(len(p), s / len(p)) for s, p in zip(share, parts, strict=True)]
    centred = np.concatenate(parts) - mean
    covariance = (centred.T * np.concatenate(weights)) @ centred
    found = passes.token_covariance(X, share, mean)
    assert found == pytest.approx(covariance, abs=10 * tolerance)
    found = passes.token_variances(X, share, mean)
    assert found == pytest.approx(np.diag(covariance), abs=10 * tolerance)


def test_scores_of_any_size_do_not_overflow(data):
    X, _, _ = data
    assert np.isfinite(passes.attention_features(X, np.full(6, 1e4))).all()


def test_read_only_tokens():
    tokens = np.arange(12.0).reshape(6, 2)
    tokens.flags.writeable = False
    assert passes.pooled_features(Sequences(tokens, [0, 2, 6])).tolist() == [[1, 2], [7, 8]]
