"""A matrix drawn as far as it is looked at."""

import itertools

import numpy as np
import pytest
from statistical import assert_same_law

from sparsetoken.sampling.hidden_noise import HiddenNoise


def test_hidden_noise_is_one_matrix():
    noise, rng = HiddenNoise(5, 4, np.random.default_rng(0)), np.random.default_rng(1)
    columns = np.stack([noise.times(rng.standard_normal(4)) for _ in range(2)])
    again = rng.standard_normal(5)
    first = noise.transposed_times(again)
    matrix = np.stack([noise.times(unit) for unit in np.eye(4)], axis=1)
    assert matrix.shape == (5, 4)
    assert np.isfinite(columns).all()
    assert noise.transposed_times(again) == pytest.approx(first)
    assert matrix.T @ again == pytest.approx(first)
    for unit in np.eye(5):
        assert noise.transposed_times(unit) == pytest.approx(matrix.T @ unit)


def test_hidden_noise_is_normal_whatever_is_asked_first():
    drawn = []
    for seed in range(3000):
        noise = HiddenNoise(3, 2, np.random.default_rng(seed))
        left = noise.transposed_times(np.array([1.0, 1.0, 0.0]))
        noise.times(left)  # asks along what it has just seen
        drawn.append([noise.times(unit) for unit in np.eye(2)])
    entries = np.array(drawn).reshape(3000, 6)
    normal = np.random.default_rng(9).standard_normal((3000, 6))
    pairs = list(itertools.combinations(range(6), 2))
    assert_same_law(
        {f"entry {k}": entries[:, k] for k in range(6)}
        | {f"product {i} {j}": entries[:, i] * entries[:, j] for i, j in pairs},
        {f"entry {k}": normal[:, k] for k in range(6)}
        | {f"product {i} {j}": normal[:, i] * normal[:, j] for i, j in pairs},
    )
