"""Chunks on a real cluster of two worker processes: classifiers give the results of memory."""

import os

import numpy as np
import pytest

import sparsetoken as st
from sparsetoken.sequences.chunks import chunks_of_folder
from sparsetoken.sequences.passes import token_covariance

da = pytest.importorskip("dask.array", reason="needs the extra 'distributed'")
distributed = pytest.importorskip("distributed", reason="needs the extra 'distributed'")

PROBLEM = st.SparseTokenProblem(8, 1, 4.0, 0.4)
X, Y, TRUTH = PROBLEM.sample(240, 12, random_state=0, return_truth=True)
X = X + 3.0  # tokens of real data are not centred
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
    here = classifier.fit(X, Y)
    expected = {
        name: getattr(here, name)
        for name in ("coef_", "intercept_", "query_")
        if hasattr(here, name)
    }
    decision, probability = here.decision_function(X), here.predict_proba(X)
    there = classifier.fit(CHUNKED, da.from_array(Y, chunks=70))
    for name, value in expected.items():
        assert getattr(there, name) == pytest.approx(value, rel=1e-6, abs=1e-6), name
    assert there.decision_function(CHUNKED) == pytest.approx(decision, abs=1e-6)
    assert there.predict_proba(CHUNKED) == pytest.approx(probability, abs=1e-6)
    assert there.score(CHUNKED, Y) == here.score(X, Y)
    if hasattr(there, "query_"):
        weights = there.attention(CHUNKED)
        assert weights.shape == (240, 8)
        assert weights.chunks[0] == CHUNKED.chunks[0]
        assert weights.compute() == pytest.approx(here.attention(X), abs=1e-6)
        verdict, expected_verdict = there.diagnose(CHUNKED, Y), here.diagnose(X, Y)
        assert verdict.auc == pytest.approx(expected_verdict.auc, abs=1e-6)


def test_a_vectorized_classifier_predicts_only(cluster):
    classifier = st.VectorizedClassifier().fit(X, Y)
    assert classifier.decision_function(CHUNKED) == pytest.approx(classifier.decision_function(X))
    with pytest.raises(ValueError, match="can predict but not fit a Dask array"):
        st.VectorizedClassifier().fit(CHUNKED, Y)


def stored(folder, client, n_samples=240):
    st.Sequences(X[:n_samples].reshape(-1, 12), np.arange(n_samples + 1) * 8).save(folder)
    return st.Sequences.open(folder, memory_limit=400_000, client=client)


@pytest.mark.parametrize("name", ["attention", "sparse-token"])
def test_workers_read_a_folder(cluster, tmp_path, monkeypatch, name):
    monkeypatch.setattr("sparsetoken.sequences.chunks._TASK", 4000)
    monkeypatch.setattr("sparsetoken.estimators.folds._ENOUGH_NUMBERS", 12_000)
    monkeypatch.setattr("sparsetoken.estimators.folds._ENOUGH_SEQUENCES", 1)
    monkeypatch.setattr("sparsetoken.estimators.folds._ENOUGH_OF_A_CLASS", 50)
    model = st.AttentionClassifier if name == "attention" else st.SparseTokenClassifier
    classifier = model(random_state=0, refine_steps=5)
    there = stored(tmp_path / "sequences", cluster)
    wanted = classifier.fit(X, Y).decision_function(X)
    found = classifier.fit(there, Y).decision_function(there)
    assert found == pytest.approx(wanted, abs=1e-6)
    weights = classifier.attention(there)
    assert np.array(weights) == pytest.approx(classifier.attention(X), abs=1e-6)


def large_array(n_blocks, rows, length, dim):
    """Lazy float32 tokens drawn from a small pool: making them costs next to nothing.

    The functions are local so that they travel to the workers by value, not by import.
    """

    def labels_of(block):
        return (np.random.default_rng(1000 + block).random(rows) < 0.5).astype(int)

    def tokens_of(block_id):
        pool = np.random.default_rng(99).standard_normal((4096, dim), dtype=np.float32)
        chosen = np.random.default_rng(block_id[0]).integers(0, 4096, rows * length)
        tokens = pool[chosen].reshape(rows, length, dim)
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
    known = da.from_array(X, chunks=(70, -1, -1))
    with pytest.raises(ValueError, match="must know its chunk sizes"):
        st.PooledClassifier().fit(known[da.from_array(Y == 1, chunks=70)], Y)


def test_the_token_that_is_not_finite_is_named():
    bad = X.copy()
    bad[150, 2, 3] = np.nan
    with pytest.raises(ValueError, match="NaN in sequence 150, token 2, feature 3"):
        st.PooledClassifier().fit(da.from_array(bad, chunks=(70, -1, -1)), Y)


def test_explanations_need_memory():
    classifier = st.TwoStepAttentionClassifier(random_state=0).fit(X, Y)
    with pytest.raises(ValueError, match="explain needs X in memory"):
        classifier.explain(CHUNKED)


def test_a_worker_that_dies_changes_nothing(cluster, tmp_path, monkeypatch):
    """Killed in the middle of a pass. The last test, as the new worker must import everything."""
    monkeypatch.setattr("sparsetoken.sequences.chunks._TASK", 4000)
    data = chunks_of_folder(stored(tmp_path / "sequences", cluster))
    share, mean, scale = np.full(240, 1 / 240), np.zeros(12), np.ones(12)
    (wanted,) = data.total(token_covariance, (share,), mean, scale)
    marker = tmp_path / "a worker died"
    marker.touch()

    def die_once(block):  # local: it travels to the workers by value
        if not marker.exists():
            marker.touch()
            os._exit(1)
        return block

    dying = data.changed(die_once)
    marker.unlink()
    (found,) = dying.total(token_covariance, (share,), mean, scale)
    assert marker.exists()
    assert found == pytest.approx(wanted, abs=1e-12)
