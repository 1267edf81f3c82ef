"""Chunks on a real cluster of two worker processes: classifiers give the results of memory."""

import os

import numpy as np
import pytest

import sparsetoken as st
from sparsetoken.sequences.chunks import ChunkedData, chunks_of_array
from sparsetoken.sequences.passes import pooled_features, token_covariance

da = pytest.importorskip("dask.array", reason="needs the extra 'distributed'")
distributed = pytest.importorskip("distributed", reason="needs the extra 'distributed'")

PROBLEM = st.SparseTokenProblem(8, 1, 4.0, 0.4)
X, Y, TRUTH = PROBLEM.sample(240, 12, random_state=0, return_truth=True)
X = X + 3.0  # tokens of real data are not centered
CHUNKED = da.from_array(X, chunks=(70, -1, -1))


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


CLASSIFIERS = [
    st.PooledClassifier(loss="square"),
    st.PooledClassifier(),
    st.TwoStepAttentionClassifier(random_state=0),
    st.AttentionClassifier(random_state=0, refine_steps=15),
]


@pytest.mark.parametrize(
    "classifier", CLASSIFIERS, ids=["square", "pooled", "two-step", "attention"]
)
def test_equals_memory(cluster, classifier):
    in_memory = classifier.fit(X, Y)
    expected = {
        name: getattr(in_memory, name)
        for name in ("coef_", "intercept_", "query_")
        if hasattr(in_memory, name)
    }
    decision, probability = in_memory.decision_function(X), in_memory.predict_proba(X)
    chunked = classifier.fit(CHUNKED, da.from_array(Y, chunks=70))
    for name, value in expected.items():
        assert getattr(chunked, name) == pytest.approx(value, rel=1e-6, abs=1e-6), name
    assert chunked.decision_function(CHUNKED) == pytest.approx(decision, abs=1e-6)
    assert chunked.predict_proba(CHUNKED) == pytest.approx(probability, abs=1e-6)
    assert chunked.score(CHUNKED, Y) == in_memory.score(X, Y)
    if hasattr(chunked, "query_"):
        weights = chunked.attention(CHUNKED)
        assert weights.shape == (240, 8)
        assert weights.chunks[0] == CHUNKED.chunks[0]
        assert weights.compute() == pytest.approx(in_memory.attention(X), abs=1e-6)
        verdict, expected_verdict = chunked.diagnose(CHUNKED, Y), in_memory.diagnose(X, Y)
        assert verdict.auc == pytest.approx(expected_verdict.auc, abs=1e-6)


def test_a_vectorized_classifier_predicts_only(cluster):
    classifier = st.VectorizedClassifier().fit(X, Y)
    assert classifier.decision_function(CHUNKED) == pytest.approx(classifier.decision_function(X))
    with pytest.raises(ValueError, match="can predict but not fit a Dask array"):
        st.VectorizedClassifier().fit(CHUNKED, Y)


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


@pytest.mark.parametrize(
    ("array", "message"),
    [
        (da.zeros((4, 3)), r"must have shape \(n, L, d\)"),
        (da.zeros((4, 3, 2), chunks=(2, 2, 2)), "chunked over the samples only"),
        (da.zeros((4, 3, 2), chunks=(2, 3, 1)), "chunked over the samples only"),
    ],
)
def test_a_wrong_form_is_refused(array, message):
    with pytest.raises(ValueError, match=message):
        st.PooledClassifier().fit(array, [0, 1, 0, 1])


def test_unknown_chunks_are_refused():
    filtered = da.from_array(X, chunks=(70, -1, -1))
    with pytest.raises(ValueError, match="must know its chunk sizes"):
        st.PooledClassifier().fit(filtered[da.from_array(Y == 1, chunks=70)], Y)


def test_the_token_that_is_not_finite_is_named():
    bad = X.copy()
    bad[150, 2, 3] = np.nan
    with pytest.raises(ValueError, match="NaN in sequence 150, token 2, feature 3"):
        st.PooledClassifier().fit(da.from_array(bad, chunks=(70, -1, -1)), Y)


def test_explanations_need_memory():
    classifier = st.TwoStepAttentionClassifier(random_state=0).fit(X, Y)
    with pytest.raises(ValueError, match="explain needs X in memory"):
        classifier.explain(CHUNKED)


def test_mean_tokens_that_do_not_fit_stay_at_the_workers(monkeypatch):
    monkeypatch.setattr("sparsetoken.sequences.chunks._ROOM", 240 * 12 - 1)
    means = chunks_of_array(CHUNKED).pooled()
    assert isinstance(means, ChunkedData)
    assert (len(means), means.n_tokens, means.dim) == (240, 1, 12)
    assert means.per_sample(pooled_features) == pytest.approx(X.mean(axis=1))
    rows = np.array([3, 71, 239])
    assert means.take(rows).sequences.tokens == pytest.approx(X[rows].mean(axis=1))


def test_a_worker_that_dies_changes_nothing(cluster, tmp_path):
    """Killed in the middle of a pass. The last test, as the new worker must import everything."""
    data = chunks_of_array(CHUNKED)
    weights, mean, scale = np.full(240, 1 / 240), np.zeros(12), np.ones(12)
    (expected,) = data.total(token_covariance, (weights,), mean, scale)
    marker = tmp_path / "a worker died"
    marker.touch()

    def die_once(block):  # local: it travels to the workers by value
        if not marker.exists():
            marker.touch()
            os._exit(1)
        return block

    dying = data.changed(die_once)
    marker.unlink()
    (sums,) = dying.total(token_covariance, (weights,), mean, scale)
    assert marker.exists()
    assert sums == pytest.approx(expected, abs=1e-12)
