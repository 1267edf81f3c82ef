"""Sequences of different lengths that several tests of classifiers share."""

import numpy as np

import sparsetoken as st

PROBLEM = st.SparseTokenProblem(6, 1, 5.0)


def ragged():
    """The same kind of data with between two and six tokens, the signal's among them."""
    rng = np.random.default_rng(0)
    data, y, truth = PROBLEM.sample(120, 8, random_state=1, return_truth=True)
    parts = []
    for tokens, marked in zip(data, truth.positions, strict=True):
        keep = marked | (rng.random(6) < 0.6)
        keep[rng.integers(6, size=2)] = True
        parts.append(tokens[keep])
    return parts, y
