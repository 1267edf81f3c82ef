"""Sequences of 1 to 29 tokens, to be stored in a folder."""

import numpy as np

import sparsetoken as st

RNG = np.random.default_rng(0)
LENGTHS = RNG.integers(1, 30, 400)
OFFSETS = np.concatenate([[0], np.cumsum(LENGTHS)])
TOKENS = RNG.standard_normal((OFFSETS[-1], 6), dtype=np.float32) + 2.0
Y = np.arange(400) % 2
TOKENS[OFFSETS[:-1][Y == 1], 0] += 4.0
NAMES = list("abcdef")
X = st.Sequences(TOKENS, OFFSETS, NAMES)
