"""Members one by one, in batches and token by token; and the coordinates they see tokens in."""

from functools import reduce

import numpy as np
import pytest
from dense_reference import softmax

import sparsetoken as st
from sparsetoken.estimators.linear import LinearHead
from sparsetoken.estimators.members import Standard
from sparsetoken.sequences.data import MemoryData
from sparsetoken.sequences.passes import token_covariance
from sparsetoken.sequences.sequences import as_sequences

NEEDLE = st.SparseTokenProblem(12, 1, 4.0)
X, Y, TRUTH = NEEDLE.sample(200, 10, random_state=0, return_truth=True)


@pytest.fixture(scope="module")
def fitted():
    return st.SparseTokenClassifier(random_state=0, cv=2, refine_steps=5, n_trees=10).fit(X, Y)


@pytest.mark.parametrize("size", [1e30, 1e160, 1e280])
def test_a_new_token_may_be_of_any_size(fitted, size):
    """In batches and in streams, by every member, whatever its weight."""
    far = X[:1].copy()
    far[0, 0, 0], far[0, 1, 1] = size, -size
    for member in fitted.stack_.members:
        scores = member.scores(MemoryData(as_sequences(far)))
        summary = member.summarize(far[0, 0])
        for token in far[0, 1:]:
            summary = member.join(summary, member.summarize(token))
        assert np.isfinite(scores).all()
        found = member.scores_of(summary, len(far[0]))
        np.testing.assert_allclose(found, scores[0], rtol=1e-6, atol=1e-6)


def test_a_linear_head_is_softmax_and_readout():
    """One sequence at a time in plain NumPy: scores, attention, contributions, and the stream."""
    rng = np.random.default_rng(1)
    head = LinearHead(rng.standard_normal(10), rng.standard_normal(10), 0.7)
    center, data = np.arange(10.0), MemoryData(as_sequences(list(X[:5])))
    attention = softmax(X[:5] @ head.query)
    scores = np.einsum("nl,nld,d->n", attention, X[:5], head.coef) + 0.7
    assert head.scores(data)[:, 0, 0] == pytest.approx(scores)
    tokens = head.per_token(data.sequences, 0, center)
    assert tokens.attention[:, 0] == pytest.approx(attention.ravel())
    sums = tokens.contributions[:, 0].reshape(5, -1).sum(axis=1) + tokens.baseline
    assert sums == pytest.approx(scores)
    summary = reduce(head.join, map(head.summarize, X[0]))
    assert head.scores_of(summary, 12)[0, 0] == pytest.approx(scores[0])
    pooled = LinearHead(np.zeros(10), head.coef, 0.0)
    assert pooled.scores(data)[:, 0, 0] == pytest.approx(X[:5].mean(axis=1) @ head.coef)


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
