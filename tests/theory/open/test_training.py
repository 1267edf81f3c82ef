"""Training with fresh, reused and single samples against dense descent: all of open/."""

import math

import numpy as np
import pytest
from statistical import Z_LIMIT, quick_first, standard_score

from sparsetoken import Population, SparseTokenProblem
from sparsetoken.losses import Logistic, Loss, get_loss
from sparsetoken.theory import ConvergenceWarning, training
from theory.open.dense_descent import NAMES, descend

SETTINGS = {
    "plain": (SparseTokenProblem(6, 1, 3.0), "logistic", (4.0, 1.5, 1.0), 0.0, 2.0),
    "rare, ridge": (SparseTokenProblem(5, 2, 2.5, 0.25), "logistic", (3.0, 2.0, 2.0), 0.05, 3.0),
    "square": (SparseTokenProblem(4, 1, 3.0, 0.4), "square", (0.5, 0.3, 0.3), 0.0, 1.5),
}


@pytest.mark.parametrize("batches", ["fresh", "reused"])
@pytest.mark.parametrize("setting", quick_first(SETTINGS))
def test_agrees_with_dense_gradient_descent(setting, batches):
    """Ten runs at d = 300, where the finite size is below the standard error."""
    problem, loss, (lr_query, lr_readout, lr_bias), reg, alpha = SETTINGS[setting]
    steps = 4
    t = training(
        problem, steps=steps, alpha=alpha, batches=batches, loss=loss, reg=reg, beta=1.2,
        lr_query=lr_query, lr_readout=lr_readout, lr_bias=lr_bias, n_points=8192,
    )  # fmt: skip
    rng = np.random.default_rng(1)
    rates = [[rate] * steps for rate in (lr_query, lr_readout, lr_bias)]
    drawn = np.array(
        [
            descend(problem, alpha, 300, rng, steps=steps, reused=batches == "reused",
                    loss=get_loss(loss), beta=1.2, rates=rates, reg=reg)
            for _ in range(10)
        ]
    )  # fmt: skip
    for k, name in enumerate((*NAMES, "train_loss")):
        for step in range(steps):
            values = drawn[:, step, k]
            if np.ptp(values) > 1e-12:
                score = standard_score(values, getattr(t, name)[step])
                assert abs(score) < Z_LIMIT, (name, step + 1, score)
    assert t.converged


def test_checked_values():
    """Simulation at d = 800, six runs: ± 0.02 for new samples, ± 0.03 for the same."""
    problem = SparseTokenProblem(6, 1, 3.0)
    simulated = {
        "fresh": ([0.783, 0.739, 0.511, 0.724, 0.554], 0.02),
        "reused": ([0.783, 0.530, 0.575, 0.369, 0.702], 0.03),
    }
    for batches, (cosines, error) in simulated.items():
        t = training(problem, steps=6, alpha=2.0, batches=batches, n_points=16384)
        assert t.cosine[1:] == pytest.approx(cosines, abs=2 * error)
    # Another implementation of the same equations, by Monte Carlo.
    fresh = training(problem, steps=6, alpha=2.0, n_points=16384)
    assert fresh.cosine[1:] == pytest.approx([0.780, 0.744, 0.518, 0.710, 0.541], abs=6e-3)


def test_custom_smooth_loss():
    class Scaled(Loss):
        """Half of the logistic loss: the same as half the rates."""

        def value(self, z, y):
            return 0.5 * Logistic().value(z, y)

        def derivative(self, z, y):
            return 0.5 * Logistic().derivative(z, y)

        def second_derivative(self, z, y):
            return 0.5 * Logistic().second_derivative(z, y)

    problem = SparseTokenProblem(4, 1, 3.0)
    for batches in ("fresh", "reused"):
        options = {"steps": 3, "alpha": 2.0, "batches": batches, "n_points": 1024}
        own = training(problem, loss=Scaled(), lr_query=8.0, lr_readout=4.0, lr_bias=2.0, **options)
        plain = training(problem, lr_query=4.0, lr_readout=2.0, lr_bias=1.0, **options)
        assert own.cosine == pytest.approx(plain.cosine, rel=1e-4, abs=1e-12)
        assert own.test_error == pytest.approx(plain.test_error, rel=1e-4)


@pytest.mark.parametrize("batches", quick_first(["fresh", "reused"]))
def test_population_agrees_with_dense_gradient_descent(batches):
    """Two kinds of one length and wrong labels: dense tokens in one array."""
    kinds = [SparseTokenProblem(5, 1, 4.0), SparseTokenProblem(5, 3, 1.5)]
    population = Population(kinds, shares=[0.6, 0.4], label_errors=(0.1, 0.05))
    rates = [[2.0] * 3, [1.0] * 3, [1.0] * 3]
    t = training(
        population, steps=3, alpha=2.0, batches=batches, lr_query=2.0, lr_readout=1.0,
        n_points=4096,
    )  # fmt: skip
    rng = np.random.default_rng(5)
    drawn = np.array(
        [
            descend(population, 2.0, 150, rng, steps=3, reused=batches == "reused",
                    loss=Logistic(), beta=1.0, rates=rates, reg=0.0)
            for _ in range(10)
        ]
    )  # fmt: skip
    for k, name in enumerate((*NAMES, "train_loss")):
        for step in range(3):
            if np.ptp(drawn[:, step, k]) > 1e-12:
                score = standard_score(drawn[:, step, k], getattr(t, name)[step])
                assert abs(score) < Z_LIMIT, (name, step + 1, score)


def test_population_of_one_kind_is_the_problem():
    kind = SparseTokenProblem(4, 1, 3.0)
    options = {"steps": 3, "alpha": 2.0, "n_points": 512}
    for batches in ("fresh", "reused"):
        one, other = (
            training(problem, batches=batches, **options) for problem in (kind, Population([kind]))
        )
        assert np.array_equal(one.test_error, other.test_error)


def test_same_arguments_same_numbers():
    options = {"steps": 3, "alpha": 1.0, "batches": "reused", "n_points": 512}
    first, second = (training(SparseTokenProblem(3), **options) for _ in range(2))
    assert np.array_equal(first.test_error, second.test_error)


@pytest.mark.parametrize(
    ("argument", "value"),
    [
        ("steps", 0), ("alpha", 0.0), ("alpha", math.inf), ("batches", "old"), ("loss", "hinge"),
        ("beta", -1.0), ("beta", 1e300), ("lr_query", -1.0), ("lr_bias", [1.0, 2.0, 3.0]),
        ("reg", -1.0), ("n_points", 10),
    ],
)  # fmt: skip
def test_bad_argument_is_named(argument, value):
    arguments = {"steps": 2, "alpha": 1.0, argument: value}
    with pytest.raises(ValueError, match=f"^{argument} must"):
        training(SparseTokenProblem(5), **arguments)


@pytest.mark.statistical
def test_error_bars_cover_the_error():
    problem = SparseTokenProblem(6, 1, 3.0)
    for batches in ("fresh", "reused", "online"):
        options = {"steps": 4, "alpha": 1.0, "batches": batches}
        coarse = training(problem, **options, n_points=1024)
        fine = training(problem, **options, n_points=16384)
        for name in ("cosine", "query_norm", "readout_norm", "test_error"):
            error = np.hypot(coarse.uncertainty(name), fine.uncertainty(name)) + 1e-6
            scores = (getattr(coarse, name) - getattr(fine, name)) / error
            assert np.abs(scores).max() < 5.0, (batches, name)
            assert fine.uncertainty(name).max() < 0.02


@pytest.mark.parametrize("batches", ["fresh", "reused", "online"])
def test_runaway_training_is_told(batches):
    problem = SparseTokenProblem(4, 1, 2.0)
    with pytest.warns(ConvergenceWarning, match="runs away in step"):
        t = training(
            problem, steps=12, alpha=1.0, batches=batches, loss="square", lr_readout=200.0,
            lr_query=50.0, n_points=256,
        )  # fmt: skip
    assert not t.converged
    assert t.diverged_at == len(t.cosine) + 1 <= 12
    for name in (*NAMES, "train_loss", "test_error"):
        assert np.isfinite(getattr(t, name)).all()
        assert len(getattr(t, name)) == len(t.uncertainty(name)) == len(t.cosine)
    assert f"diverged in step {t.diverged_at}" in repr(t)


def test_arrays_are_asked_for_by_name():
    t = training(SparseTokenProblem(5), steps=2, alpha=1.0, n_points=256)
    assert repr(t).startswith("Training(fresh, steps=2, cosine=")
    with pytest.raises(ValueError, match=r"^name must"):
        t.uncertainty("angle")
