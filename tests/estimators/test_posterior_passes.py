"""Sums over subsets of tokens against counting them."""

from itertools import combinations

import numpy as np
import pytest
from scipy.special import logsumexp

import sparsetoken as st
from sparsetoken.estimators.posterior_passes import place_scores, place_tokens

RNG = np.random.default_rng(0)
LENGTHS = [1, 2, 5, 7]
TOKENS = RNG.standard_normal((sum(LENGTHS), 3))
SEQUENCES = st.Sequences(TOKENS, np.cumsum([0, *LENGTHS]))


@pytest.mark.parametrize("contiguous", [False, True])
@pytest.mark.parametrize("n_signal", [1, 2, 4])
@pytest.mark.parametrize("scale", [0.1, 1.0, 8.0])
def test_subsets_are_counted(n_signal, scale, contiguous):
    vector, offset = scale * RNG.standard_normal((3, 1)), np.array([0.7])
    counts = np.array([n_signal])
    scores = place_scores(SEQUENCES, vector, offset, counts, contiguous)
    attention, again = place_tokens(SEQUENCES, vector, offset, counts, contiguous)
    assert again == pytest.approx(scores)
    for i, x in enumerate(SEQUENCES):
        u = (x @ vector)[:, 0] + offset
        size = min(n_signal, len(u))
        chosen = list(combinations(range(len(u)), size))
        if contiguous:
            chosen = [places for places in chosen if places[-1] - places[0] == size - 1]
        logs = np.array([u[list(places)].sum() for places in chosen])
        assert scores[i, 0] == pytest.approx(logsumexp(logs) - np.log(len(logs)))
        weights = np.exp(logs - logsumexp(logs))
        part = [weights[[t in places for places in chosen]].sum() for t in range(len(u))]
        rows = slice(*SEQUENCES.offsets[i : i + 2])
        assert attention[rows, 0] * len(chosen[0]) == pytest.approx(part)
