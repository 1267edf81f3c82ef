"""The best training for a budget of samples."""

import numpy as np
import pytest
from statistical import Z_LIMIT, standard_score

from sparsetoken import SparseTokenProblem
from sparsetoken.losses import Logistic
from sparsetoken.theory import (
    ConvergenceWarning,
    best_training,
    training,
    two_step_risk,
)
from theory.dynamics.dense_descent import NAMES, descend


def test_best_training_beats_its_starts_and_reports_the_protocol():
    problem = SparseTokenProblem(5, 1, 4.0)
    best = best_training(problem, alpha=2.0, steps=4, batches="fresh", n_points=4096)
    for lr_query, lr_readout, lr_bias in ((4.0, 1.0, 1.0), (2.0, 4.0, 2.0)):
        t = training(
            problem, steps=4, alpha=0.5, lr_query=lr_query, lr_readout=lr_readout,
            lr_bias=lr_bias, n_points=4096,
        )  # fmt: skip
        assert best.test_error < t.test_error[-1] + 1e-3
    assert best.steps == 4
    assert best.two_step.test_error < 0.5
    again = training(
        problem, steps=4, alpha=0.5, lr_query=best.lr_query, lr_readout=best.lr_readout,
        lr_bias=best.lr_bias, n_points=4096,
    )  # fmt: skip
    assert again.test_error[-1] == pytest.approx(best.test_error)


def test_best_training_on_the_same_samples_does_in_simulation_what_it_promises():
    problem = SparseTokenProblem(5, 1, 4.0)
    best = best_training(problem, alpha=4.0, steps=4, n_points=2048)
    assert best.test_error < best.two_step.test_error + 0.02
    rates = [[rate] * best.steps for rate in (best.lr_query, best.lr_readout, best.lr_bias)]
    rng = np.random.default_rng(3)
    drawn = np.array(
        [
            descend(problem, 4.0, 200, rng, steps=best.steps, reused=True, loss=Logistic(),
                    beta=1.0, rates=rates, reg=0.0)[-1]
            for _ in range(10)
        ]
    )  # fmt: skip
    for k, name in enumerate((*NAMES, "train_loss")):
        score = standard_score(drawn[:, k], getattr(best.training, name)[-1])
        assert abs(score) < Z_LIMIT, (name, score)
    again = two_step_risk(problem, n_points=2048, **best.two_step_settings)
    assert again.test_error == best.two_step.test_error


def test_best_training_of_strong_signals_needs_small_rates():
    """At the usual ones every step after the first does harm."""
    problem = SparseTokenProblem(5, 1, 50.0)
    best = best_training(problem, alpha=0.05, steps=3, n_points=1024)
    assert best.helped
    assert best.steps == 3
    assert best.test_error < 0.15
    assert best.lr_query < 0.1


def test_best_training_says_where_no_rate_helps():
    with pytest.warns(ConvergenceWarning, match=r"no learning rates .* \(helped=False\)"):
        best = best_training(SparseTokenProblem(3, 1, 0.0), alpha=1.0, steps=2, n_points=512)
    assert not best.helped
    assert best.test_error == pytest.approx(0.5)
