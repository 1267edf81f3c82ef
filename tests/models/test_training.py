import numpy as np
import pytest
from scipy.special import softmax

from agreement import assert_theory_agrees
from populations import TWO_LENGTHS
from sparsetoken.experiments import compute, make_cell
from sparsetoken.losses import Logistic
from sparsetoken.models.training import gradient
from sparsetoken.sequences.sequences import as_sequences

VALUES = {"model": "training", "alpha": 3.0, "steps": 3, "reg": 0.1}
RATES = {"lr_query": 2.0, "lr_readout": 0.5, "lr_bias": 0.5}
PROBLEM = {"n_tokens": 4, "signal": 4.0}


@pytest.mark.parametrize(
    "values",
    [
        PROBLEM | {"batches": "fresh", "loss": "square"},
        pytest.param(PROBLEM | {"batches": "reused", "beta": 1.5}, marks=pytest.mark.statistical),
        pytest.param(PROBLEM | {"batches": "online"}, marks=pytest.mark.statistical),
        pytest.param({"batches": "fresh", "kinds": TWO_LENGTHS}, marks=pytest.mark.statistical),
    ],
    ids=["fresh", "reused", "online", "two lengths"],
)
def test_simulation_agrees_with_theory(values):
    quantities = ["test_error", "train_loss", "cosine", "sharpness", "readout_norm", "bias"]
    values = VALUES | RATES | values | {"dim": 80, "trials": 10, "n_points": 4096}
    assert_theory_agrees(values, quantities, slack=2.0)


def test_a_training_that_runs_away_is_an_error():
    values = {"model": "training", "alpha": 1.0, "loss": "square", "lr_readout": 100.0}
    with pytest.raises(ArithmeticError, match="runs away in step"):
        compute(make_cell("theory", ["test_error"], values | {"n_points": 256}))


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"alpha0": 1.0}, "a value for alpha1 .or alpha. is needed"),
        ({"alpha": 1.0, "batches": "old"}, "batches must be one of"),
    ],
)
def test_what_it_refuses(values, message):
    with pytest.raises(ValueError, match=message):
        make_cell("simulation", ["test_error"], values | {"model": "training"})


def test_the_gradient_is_that_of_the_loss():
    rng = np.random.default_rng(0)
    parts = [rng.standard_normal((length, 4)) for length in (3, 1, 5, 2)]
    sign, point = np.array([1.0, -1.0, -1.0, 1.0]), rng.standard_normal(9)

    def value(point):
        features = np.array([part.T @ softmax(0.7 * part @ point[:4]) for part in parts])
        return np.mean(Logistic().value(features @ point[4:8] + point[8], sign))

    by_query, by_readout, by_bias = gradient(
        as_sequences(parts), sign, point[:4], point[4:8], point[8], Logistic(), 0.7
    )
    moves = 1e-5 * np.eye(9)
    differences = [(value(point + move) - value(point - move)) / 2e-5 for move in moves]
    np.testing.assert_allclose([*by_query, *by_readout, by_bias], differences, atol=1e-8)
