"""Each pass over ragged tokens against one sequence at a time in plain NumPy."""

import numpy as np
import pytest
from dense_reference import softmax

from sparsetoken import Sequences
from sparsetoken.sequences.passes import (
    attention_features,
    attention_weights,
    fingerprints,
    largest_magnitudes,
    pooled_features,
    token_covariance,
    token_fractions,
    token_statistics,
    token_variances,
)

QUERY = np.random.default_rng(1).standard_normal(6)
MEAN, SCALE = np.linspace(-1.0, 1.0, 6), np.arange(1.0, 7.0)


@pytest.fixture(params=[np.float64, np.float32], ids=["float64", "float32"])
def data(request):
    rng = np.random.default_rng(0)
    parts = [rng.standard_normal((length, 6)).astype(request.param) for length in (3, 1, 7, 2)]
    tolerance = 1e-12 if request.param == np.float64 else 1e-5
    return Sequences.from_list(parts), [part.astype(float) for part in parts], tolerance


def test_features_and_weights(data):
    X, parts, tolerance = data
    weights = [softmax(part @ QUERY) for part in parts]
    features = np.array([part.T @ weight for part, weight in zip(parts, weights, strict=True)])
    means = np.array([part.mean(axis=0) for part in parts])
    assert attention_weights(X, QUERY) == pytest.approx(np.concatenate(weights), abs=tolerance)
    assert attention_features(X, QUERY) == pytest.approx(features, abs=tolerance)
    assert pooled_features(X) == pytest.approx(means, abs=tolerance)
    assert attention_features(X, 0 * QUERY) == pytest.approx(means, abs=tolerance)


def test_moments(data):
    X, parts, tolerance = data
    sample_weights = np.array([0.1, 0.4, 0.2, 0.3])
    each = [np.full(len(p), w / len(p)) for w, p in zip(sample_weights, parts, strict=True)]
    scaled = (np.concatenate(parts) - MEAN) * SCALE
    covariance = (scaled.T * np.concatenate(each)) @ scaled
    sums = token_covariance(X, sample_weights, MEAN, SCALE)
    assert sums == pytest.approx(covariance, abs=100 * tolerance)
    variances = token_variances(X, sample_weights, MEAN, SCALE)
    assert variances == pytest.approx(np.diag(covariance), abs=100 * tolerance)
    largest = np.abs(np.concatenate(parts)).max(axis=0)
    assert largest_magnitudes(X)[0] == pytest.approx(largest, abs=tolerance)


def test_statistics(data):
    X, parts, _ = data
    statistics = token_statistics(X, np.full(6, 0.5))
    expected = [
        np.concatenate([p.mean(axis=0), p.max(axis=0), p.min(axis=0), p.std(axis=0)]) for p in parts
    ]
    assert statistics == pytest.approx(0.5 * np.array(expected), abs=1e-5)
    levels = np.array([[-0.5] * 6, [0.5] * 6])
    fractions = [[(part > level).mean(axis=0) for level in levels] for part in parts]
    expected = np.array(fractions).reshape(len(parts), -1)
    assert token_fractions(X, levels) == pytest.approx(expected, abs=1e-6)


def test_scores_of_any_size_do_not_overflow(data):
    assert np.isfinite(attention_features(data[0], np.full(6, 1e4))).all()


def test_read_only_tokens():
    tokens = np.arange(12.0).reshape(6, 2)
    tokens.flags.writeable = False
    assert pooled_features(Sequences(tokens, [0, 2, 6])).tolist() == [[1, 2], [7, 8]]


def test_fingerprints_know_equal_sequences():
    X = np.random.default_rng(0).standard_normal((120, 8, 6))
    data = Sequences.from_list(list(X))
    assert len(np.unique(fingerprints(data))) == len(X)
    single = Sequences.from_list([x.astype(np.float32) for x in X])
    double = Sequences.from_list([x.astype(np.float32).astype(float) for x in X])
    np.testing.assert_array_equal(fingerprints(single), fingerprints(double))
