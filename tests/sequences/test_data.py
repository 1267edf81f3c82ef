"""Passes over sequences."""

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

import sparsetoken as st
from sequences.stored import X
from sparsetoken.sequences.data import MemoryData
from sparsetoken.sequences.passes import pooled_features, token_covariance


@pytest.mark.parametrize("n_jobs", [None, 2])
def test_blocks_threads_and_maps_change_nothing(folder, small_blocks, n_jobs):
    """Sums are those of the whole, and the same bits for a folder and any number of threads."""
    memory, mapped = MemoryData(X), MemoryData(st.Sequences.open(folder), n_jobs)
    assert len(memory._blocks) > 10
    mean, scale, weights = np.zeros(6), np.ones(6), np.full(400, 1 / 400)
    for a, b in ((memory, mapped), (memory.pooled(), mapped.pooled())):
        (expected,) = a.total(token_covariance, (weights,), mean, scale)
        (sums,) = b.total(token_covariance, (weights,), mean, scale)
        assert np.array_equal(sums, expected)
        assert sums == pytest.approx(token_covariance(a.sequences, weights, mean, scale))
        assert np.array_equal(b.per_sample(pooled_features), a.per_sample(pooled_features))
    means = np.stack([tokens.mean(axis=0) for tokens in X])
    assert memory.per_sample(pooled_features) == pytest.approx(means, rel=1e-5)
    assert (memory.passes.count, mapped.passes.count) == (4, 3)
    rows = np.array([3, 4, 399])
    assert np.array_equal(mapped.take(rows).sequences.tokens, X[rows].tokens)


def blas_threads(sequences=None):
    pools = [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]
    return np.array([[max(pools)]])


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_pass_has_one_blas_thread(n_jobs):
    """Several on small blocks wait for each other: on a busy machine 40 times as long."""
    data = MemoryData(st.Sequences.from_list([np.ones((3, 2))]), n_jobs)
    with threadpool_limits(2, user_api="blas"):
        before = blas_threads()
        assert data.per_sample(blas_threads) == 1
        assert blas_threads() == before
