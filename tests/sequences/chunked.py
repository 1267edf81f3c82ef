"""A small problem in memory and in the chunks of a Dask array."""

import pytest

import sparsetoken as st

da = pytest.importorskip("dask.array", reason="needs the extra 'distributed'")

PROBLEM = st.SparseTokenProblem(8, 1, 4.0, 0.4)
X, Y = PROBLEM.sample(240, 12, random_state=0)
X = X + 3.0  # tokens of real data are not centered
CHUNKED = da.from_array(X, chunks=(70, -1, -1))


def same_as_in_memory(classifier):
    """Fit in memory and in chunks, and compare what both say."""
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
        assert weights == pytest.approx(in_memory.attention(X), abs=1e-6)
        verdict, expected_verdict = chunked.diagnose(CHUNKED, Y), in_memory.diagnose(X, Y)
        assert verdict.auc == pytest.approx(expected_verdict.auc, abs=1e-6)
