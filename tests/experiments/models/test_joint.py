import dense_reference
import numpy as np
import pytest
from scipy.special import softmax

from agreement import assert_theory_agrees
from populations import STRENGTHS
from sparsetoken.experiments import compute, make_cell
from sparsetoken.experiments.models import find_model
from sparsetoken.experiments.models.joint import gradient
from sparsetoken.losses import Logistic
from sparsetoken.sequences.sequences import as_sequences

VALUES = {"alpha": 4.0, "dim": 30, "reg": 0.1, "n_tokens": 6, "signal": 4.0, "beta": 1.3}
STEPS = {"lr_readout": 1.0, "lr_bias": 0.7, "lr_query": 8.0}


def trained():
    """Return a training set of the model, and the tokens that it was drawn from."""
    cell = make_cell("simulation", "test_error", VALUES | STEPS | {"model": "joint"})
    training = find_model(cell.values).draw_training(cell, np.random.default_rng(5))
    X, y = cell.problem.sample(120, 30, random_state=np.random.default_rng(5))
    return training, X, y


def slopes(training, X, y):
    """Return the gradient of mean loss + (reg/2)(‖q‖² + ‖w‖²)."""
    query, coef, bias = training.query.query, *training.readout
    sign = 2.0 * y - 1.0
    by_query, by_readout, by_bias, _ = gradient(
        as_sequences(X), sign, query, coef, bias, Logistic(), 1.3
    )
    return by_query + 0.1 * query, by_readout + 0.1 * coef, by_bias


def test_the_gradient_is_that_of_the_loss():
    rng = np.random.default_rng(0)
    parts = [rng.standard_normal((length, 4)) for length in (3, 1, 5, 2)]
    sign, point = np.array([1.0, -1.0, -1.0, 1.0]), rng.standard_normal(9)

    def value(point):
        features = np.array([part.T @ softmax(0.7 * part @ point[:4]) for part in parts])
        return np.mean(Logistic().value(features @ point[4:8] + point[8], sign))

    by_query, by_readout, by_bias, found = gradient(
        as_sequences(parts), sign, point[:4], point[4:8], point[8], Logistic(), 0.7
    )
    assert found == pytest.approx(value(point))
    moves = 1e-5 * np.eye(9)
    differences = [(value(point + move) - value(point - move)) / 2e-5 for move in moves]
    np.testing.assert_allclose([*by_query, *by_readout, by_bias], differences, atol=1e-8)


def test_joint_training_ends_in_a_minimum_of_all_parameters():
    training, X, y = trained()
    by_query, by_readout, by_bias = slopes(training, X, y)
    np.testing.assert_allclose([*by_query, *by_readout, by_bias], 0.0, atol=1e-4)
    features = dense_reference.attention_features(X, training.query.query, 1.3)
    np.testing.assert_allclose(training.features, features, rtol=1e-9)


@pytest.mark.parametrize("problem", [{"n_tokens": 4, "signal": 4.0}, {"kinds": STRENGTHS}])
def test_joint_simulation_agrees_with_theory(problem):
    values = {"model": "joint", "alpha": 3.0, "reg": 0.2, "n_points": 256}
    quantities = ["test_error", "train_loss", "cosine", "sharpness"]
    assert_theory_agrees(problem | values | {"dim": 80, "trials": 10}, quantities, slack=2.0)


def test_what_it_has():
    assert make_cell("theory", ["auc"], VALUES | {"model": "joint"}) is None
    query = make_cell("simulation", ["cosine"], VALUES | {"model": "joint", "trials": 2})
    assert query.values["model"] == "joint"  # the query is not that of the two steps
    assert -1.0 < compute(query)["cosine"] < 1.0


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"model": "joint", "alpha": 1.0, "test_n_tokens": 5}, "is tested on the problem"),
        ({"model": "joint", "alpha": 1.0, "loss": "square"}, "loss must be 'logistic'"),
        ({"model": "joint", "alpha0": 1.0, "alpha1": 1.0}, "needs alpha"),
        ({"model": "joint", "alpha": 1.0, "cosine": 0.5}, "'joint' learns its query"),
    ],
)
def test_what_it_refuses(values, message):
    with pytest.raises(ValueError, match=message):
        make_cell("simulation", ["test_error"], values)
