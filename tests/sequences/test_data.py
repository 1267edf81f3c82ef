"""Passes over sequences."""

import numpy as np
import pytest

import sparsetoken as st
from sequences.stored import LENGTHS, LIMIT, X, Y
from sparsetoken.sequences.data import MemoryData, StoredData
from sparsetoken.sequences.folder import StoredSequences
from sparsetoken.sequences.passes import pooled_features, token_covariance


@pytest.mark.parametrize("n_jobs", [None, 2])
def test_passes_are_those_of_memory(folder, small_blocks, n_jobs):
    memory = MemoryData(X, n_jobs)
    stored = StoredData(st.Sequences.open(folder, LIMIT), n_jobs)
    mean, scale, weights = np.zeros(6), np.ones(6), np.full(400, 1 / 400)
    for a, b in ((memory, stored), (memory.pooled(), stored.pooled())):
        (expected,) = a.total(token_covariance, (weights,), mean, scale)
        (sums,) = b.total(token_covariance, (weights,), mean, scale)
        assert np.array_equal(sums, expected)
        assert np.array_equal(b.per_sample(pooled_features), a.per_sample(pooled_features))
    rows = np.array([3, 4, 399])
    assert np.array_equal(stored.take(rows).sequences.tokens, X[rows].tokens)


def test_no_more_is_read_than_the_limit_says(folder, small_blocks, monkeypatch):
    in_passes, at_once, whole = [], [], StoredSequences._read

    def spy(self, rows):
        numbers = int(self.lengths[rows].sum()) * self.dim
        (in_passes if np.ptp(rows) == len(rows) - 1 else at_once).append(numbers)
        return whole(self, rows)

    monkeypatch.setattr(StoredSequences, "_read", spy)
    clf = st.AttentionClassifier(random_state=0, refine_steps=3)
    opened = st.Sequences.open(folder, LIMIT)
    clf.fit(opened, Y).predict(opened)
    assert max(in_passes) <= 7500 // 4 + LENGTHS.max() * 6 + 2**9
    assert max(at_once) <= 7500
    assert sum(in_passes) > clf.n_passes_ / 6 * X.tokens.size  # passes over the part read nothing
