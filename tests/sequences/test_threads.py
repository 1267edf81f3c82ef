"""One BLAS thread."""

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

import sparsetoken as st
from sparsetoken.sequences.data import MemoryData


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
