"""Members weighed together."""

from dataclasses import replace

import numpy as np

import sparsetoken as st
from sparsetoken.sequences.data import MemoryData
from sparsetoken.sequences.sequences import as_sequences


def test_members_without_weight_are_not_asked():
    X, y = st.SparseTokenProblem(n_tokens=6, signal=5.0).sample(80, 6, random_state=0)
    stack = st.AttentionClassifier(random_state=0).fit(X, y).stack_
    weights = stack.weights.copy()
    rows = stack.split(np.arange(len(weights)))[1]
    weights[rows] = 0.0
    stack, data = replace(stack, weights=weights), MemoryData(as_sequences(X))
    expected = stack.combine(stack.member_scores(data))
    del stack.members[1].directions
    np.testing.assert_allclose(stack.scores(data), expected, rtol=1e-12)
