import dense_reference
import numpy as np
import pytest

import sparsetoken as st
from agreement import assert_theory_agrees
from populations import STRENGTHS
from sparsetoken.experiments import make_cell
from sparsetoken.losses import Logistic
from sparsetoken.models.training import gradient
from sparsetoken.sequences.sequences import as_sequences

PROBLEM = st.SparseTokenProblem(6, 1, 4.0)
SETTINGS = {"reg": 0.1, "beta": 1.3, "lr_readout": 1.0, "lr_bias": 0.7, "lr_query": 8.0}


def test_joint_training_ends_in_a_minimum_of_all_parameters():
    trial = st.models.get("joint").trial(PROBLEM, 4.0, 30, SETTINGS, np.random.default_rng(5))
    X, y = PROBLEM.sample(120, 30, random_state=np.random.default_rng(5))
    query, coef, bias = trial.query.query, *trial.readout
    by_query, by_readout, by_bias, _ = gradient(
        as_sequences(X), 2.0 * y - 1.0, query, coef, bias, Logistic(), 1.3
    )
    slopes = [*by_query + 0.1 * query, *by_readout + 0.1 * coef, by_bias]
    np.testing.assert_allclose(slopes, 0.0, atol=1e-4)
    features = dense_reference.attention_features(X, query, 1.3)
    np.testing.assert_allclose(trial.training[0], features, rtol=1e-9)


@pytest.mark.parametrize(
    "problem",
    [
        {"n_tokens": 4, "signal": 4.0},
        pytest.param({"kinds": STRENGTHS}, marks=pytest.mark.statistical),
    ],
    ids=["problem", "strengths"],
)
def test_simulation_agrees_with_theory(problem):
    values = {"model": "joint", "alpha": 3.0, "reg": 0.2, "n_points": 256}
    quantities = ["test_error", "train_loss", "cosine", "sharpness"]
    assert_theory_agrees(problem | values | {"dim": 80, "trials": 10}, quantities, slack=2.0)


def test_what_it_refuses():
    assert make_cell("theory", ["auc"], {"model": "joint", "alpha": 4.0}) is None
    with pytest.raises(ValueError, match="'joint' learns its query"):
        make_cell("theory", ["test_error"], {"model": "joint", "alpha": 1.0, "cosine": 0.5})
    settings = {"loss": "square"}
    with pytest.raises(ValueError, match="loss must be 'logistic'"):
        _ = st.models.get("joint").trial(PROBLEM, 2.0, 8, settings, None).test_error
