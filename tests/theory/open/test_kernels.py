"""The compiled loops against their definitions."""

import numpy as np
import pytest
from dense_reference import softmax
from scipy.special import expit

from sparsetoken.theory.open.kernels import (
    _derive,
    attend,
    cross_energies,
    project,
    store_influence,
)

BETA = 1.3


def influence_of(h):
    """Return weights, δ, −expit(−φ), its derivative, and A, of one label: y = 1, no bias."""
    n, n_tokens = h.shape[1:]
    weights, delta, score = np.empty((n, n_tokens)), np.empty((n, n_tokens)), np.empty(n)
    attend(h, BETA, weights, delta, score)
    slope, curvature = -expit(-score), expit(score) * expit(-score)
    influence = np.empty((n, 2, n_tokens))
    store_influence(weights, delta, slope, BETA, influence)
    return weights, delta, slope, curvature, influence


def test_influence_and_its_derivative():
    rng = np.random.default_rng(0)
    h, change = rng.standard_normal((2, 2, 7, 5))
    weights, delta, slope, curvature, influence = influence_of(h)
    assert weights == pytest.approx(softmax(BETA * h[0]))
    assert delta == pytest.approx(h[1] - (weights * h[1]).sum(axis=1, keepdims=True))
    assert influence[:, 1] == pytest.approx(slope[:, np.newaxis] * weights)
    assert influence[:, 0] == pytest.approx(BETA * influence[:, 1] * delta)
    step = 1e-6
    up, down = (influence_of(h + sign * step * change)[-1] for sign in (1.0, -1.0))
    for n in range(7):
        moved = np.empty((2, 5))
        _derive(weights[n], delta[n], slope[n], curvature[n], BETA, change[:, n].copy(), moved)
        assert moved == pytest.approx((up[n] - down[n]) / (2 * step), abs=1e-8)


def test_projections_and_energies_over_steps():
    rng = np.random.default_rng(1)
    sources, propagator = rng.standard_normal((4, 3, 2, 5)), rng.standard_normal((6, 2))
    h = np.zeros((2, 4, 5))
    project(sources, propagator, 2, h)
    expected = -np.einsum("nskj,ska->anj", sources[:, :2], propagator[:4].reshape(2, 2, 2))
    assert h == pytest.approx(expected)
    cross = np.empty((8, 4))
    cross_energies(sources, 2, cross)
    expected = np.einsum("nskj,naj->skan", sources[:, :2], sources[:, 2])
    assert cross == pytest.approx(expected.reshape(8, 4))
