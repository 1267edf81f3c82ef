"""The same samples at every step."""

import numpy as np
import pytest
from dense_reference import softmax
from scipy.special import expit

from sparsetoken import SparseTokenProblem
from sparsetoken.theory import alignment, training
from sparsetoken.theory.open.reused import _derive
from theory.open.dense_descent import NAMES


@pytest.mark.parametrize(
    ("problem", "loss"),
    [
        (SparseTokenProblem(10, 2, 3.0, 0.3), "logistic"),
        (SparseTokenProblem(4, 4, 2.0), "square"),
        (SparseTokenProblem(1), "logistic"),
    ],
    ids=["plain", "all tokens, square", "one token"],
)
def test_two_published_steps_are_a_special_case(problem, loss):
    two = alignment(problem, alpha=1.5, loss=loss, lr_readout=1.5, lr_bias=0.7, beta=2.0)
    t = training(
        problem, steps=2, alpha=1.5, batches="reused", loss=loss, beta=2.0, n_points=512,
        lr_readout=[1.5, 0.0], lr_bias=[0.7, 0.0], lr_query=[0.0, 20.0],
    )  # fmt: skip
    found = t.cosine[-1], t.query_norm[-1], t.readout_norm[-1], t.bias[-1]
    expected = two.cosine, two.query_norm, two.readout_norm, two.bias
    assert found == pytest.approx(expected, rel=1e-8, abs=1e-10)


def test_same_samples_forever_many_samples_are_new_samples():
    """Without noise nothing is remembered: both agree as α → ∞."""
    problem = SparseTokenProblem(5, 1, 2.0, 0.4)
    options = {"steps": 5, "alpha": 1e7, "n_points": 4096, "lr_query": 3.0}
    fresh = training(problem, batches="fresh", **options)
    reused = training(problem, batches="reused", **options)
    for name in (*NAMES, "train_loss", "test_error"):
        found, expected = getattr(reused, name), getattr(fresh, name)
        assert found == pytest.approx(expected, rel=2e-3, abs=2e-4), name


@pytest.mark.statistical
def test_many_steps_on_the_same_samples_need_not_many_points():
    """Late gradients nearly depend on earlier ones: noise of their covariance must not grow.

    Gradient descent at d = 300, four runs: cosines after steps 28 to 30.
    """
    t = training(
        SparseTokenProblem(10, 1, 5.0), steps=30, alpha=2.0, batches="reused", reg=0.1,
        lr_query=3.0, lr_readout=1.0, lr_bias=0.5, n_points=512,
    )  # fmt: skip
    assert t.converged
    assert t.cosine[27:] == pytest.approx([0.599, 0.893, 0.616], abs=0.04)
    assert t.readout_norm[27:] == pytest.approx([1.192, 1.287, 1.180], abs=0.02)


def test_derivative_of_the_influence():
    """Along a change of the projections, against differences; the label is y = 1."""
    beta, step = 1.3, 1e-6
    h, change = np.random.default_rng(0).standard_normal((2, 2, 7, 5))

    def influence(h):
        weights = softmax(beta * h[0])
        score = (weights * h[1]).sum(axis=1, keepdims=True)
        a = -expit(-score) * weights
        return np.stack([beta * a * (h[1] - score), a]), weights, score

    _, weights, score = influence(h)
    slopes = -expit(-score[:, 0]), (expit(score) * expit(-score))[:, 0]
    moved = _derive(beta, [weights, h[1] - score, *slopes], change[:, np.newaxis])
    up, down = (influence(h + sign * step * change)[0] for sign in (1.0, -1.0))
    assert moved[:, 0] == pytest.approx((up - down) / (2 * step), abs=1e-8)
