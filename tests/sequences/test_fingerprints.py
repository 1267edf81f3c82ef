"""Numbers that tell sequences apart."""

import numpy as np

import sparsetoken as st
from sparsetoken.sequences.fingerprints import fingerprints


def test_fingerprints_know_equal_sequences():
    X, _ = st.SparseTokenProblem(n_tokens=8, signal=4.0).sample(120, 6, random_state=0)
    data = st.Sequences.from_list(list(X))
    assert len(np.unique(fingerprints(data))) == len(X)
    single = st.Sequences.from_list([x.astype(np.float32) for x in X])
    double = st.Sequences.from_list([x.astype(np.float32).astype(float) for x in X])
    np.testing.assert_array_equal(fingerprints(single), fingerprints(double))
