"""Chunks on a real cluster of two worker processes, which may die or have little memory."""

import os

import numpy as np
import pytest

import sparsetoken as st
from sequences.chunked import CHUNKED, da, same_as_in_memory
from sparsetoken.sequences.chunks import ChunkedData
from sparsetoken.sequences.passes import token_covariance

distributed = pytest.importorskip("distributed", reason="needs the extra 'distributed'")
pytestmark = pytest.mark.system

MEMORY_LIMIT = 700_000_000  # bytes a worker, of which an idle one uses nearly half


@pytest.fixture(scope="module")
def cluster():
    with (
        distributed.LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            processes=True,
            memory_limit=MEMORY_LIMIT,
            dashboard_address=":0",
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


def test_equals_memory(cluster):
    same_as_in_memory(st.AttentionClassifier(random_state=0, cv=2, refine_steps=5))


def large_array(n_blocks, rows, length, dim):
    """Lazy float32 tokens drawn from a small pool: making them costs next to nothing.

    The functions are local so that they travel to the workers by value, not by import.
    """

    def labels_of(block):
        return (np.random.default_rng(1000 + block).random(rows) < 0.5).astype(int)

    def tokens_of(block_id):
        pool = np.random.default_rng(99).standard_normal((4096, dim), dtype=np.float32)
        drawn = np.random.default_rng(block_id[0]).integers(0, 4096, rows * length)
        tokens = pool[drawn].reshape(rows, length, dim)
        tokens[labels_of(block_id[0]) == 1, 0, 0] += 6.0
        return tokens

    array = da.map_blocks(
        tokens_of,
        chunks=((rows,) * n_blocks, (length,), (dim,)),
        dtype=np.float32,
        meta=np.empty((0, 0, 0), dtype=np.float32),
    )
    return array, np.concatenate([labels_of(block) for block in range(n_blocks)])


def test_data_larger_than_all_workers_together(cluster):
    """1.5 GB of tokens on workers that may hold 1.4 GB: only mean tokens leave them."""
    big, y = large_array(n_blocks=144, rows=200, length=200, dim=64)
    assert big.nbytes > 2 * MEMORY_LIMIT
    workers = set(cluster.scheduler_info()["workers"])
    classifier = st.PooledClassifier().fit(big, y)
    assert set(cluster.scheduler_info()["workers"]) == workers  # none was killed and replaced
    assert abs(classifier.coef_[0]) > 0.9 * np.linalg.norm(classifier.coef_)


def test_a_worker_that_dies_changes_nothing(cluster, tmp_path):
    """Killed in the middle of a pass. The last test, as the new worker must import everything."""
    data = ChunkedData(CHUNKED)
    weights, mean, scale = np.full(240, 1 / 240), np.zeros(12), np.ones(12)
    (expected,) = data.total(token_covariance, (weights,), mean, scale)
    marker = tmp_path / "a worker died"
    marker.touch()

    def die_once(block):  # local: it travels to the workers by value
        if not marker.exists():
            marker.touch()
            os._exit(1)
        return block

    dying = ChunkedData(CHUNKED.map_blocks(die_once, dtype=CHUNKED.dtype))
    marker.unlink()
    (sums,) = dying.total(token_covariance, (weights,), mean, scale)
    assert marker.exists()
    assert sums == pytest.approx(expected, abs=1e-12)
