"""Chunks of a Dask array give the results of memory, in threads; test_cluster has real workers."""

import numpy as np
import pytest

import sparsetoken as st
from sequences.chunked import CHUNKED, X, Y, da, same_as_in_memory

CLASSIFIERS = {
    "square": st.PooledClassifier(loss="square"),
    "pooled": st.PooledClassifier(),
    "two-step": st.TwoStepAttentionClassifier(random_state=0),
    "attention": st.AttentionClassifier(random_state=0, cv=2, refine_steps=5),
}


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_equals_memory(name):
    same_as_in_memory(CLASSIFIERS[name])


def test_a_vectorized_classifier_predicts_only():
    classifier = st.VectorizedClassifier().fit(X, Y)
    assert classifier.decision_function(CHUNKED) == pytest.approx(classifier.decision_function(X))
    with pytest.raises(ValueError, match="can predict but not fit a Dask array"):
        st.VectorizedClassifier().fit(CHUNKED, Y)


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
