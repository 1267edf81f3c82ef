"""Protocols beyond the theory: the same samples teach query and readout, or both are refined."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from sparsetoken.estimators.data import MemoryData
from sparsetoken.estimators.passes import attention_features, pooled_features
from sparsetoken.estimators.readout import Readout, fit_readout
from sparsetoken.estimators.sequences import as_sequences
from sparsetoken.estimators.two_step import two_gradient_steps
from sparsetoken.experiments.cell import Cell
from sparsetoken.losses import Loss, get_loss
from sparsetoken.pooling import Softmax
from sparsetoken.sampling import LearnedQuery

__all__ = ["learn_on_same_data"]

Floats = NDArray[Any]


def learn_on_same_data(
    cell: Cell, n_samples: int, rng: np.random.Generator
) -> tuple[Floats, Floats, LearnedQuery, Readout]:
    """Draw tokens and train on all of them twice: two steps for the query, then the readout.

    The protocol "joint" then refines query and readout together. Returns the training features,
    their signs, the query and the readout.
    """
    values = cell.values
    X, y, truth = cell.problem.sample(n_samples, values["dim"], random_state=rng, return_truth=True)
    data, sign = MemoryData(as_sequences(X)), np.where(y == 1, 1.0, -1.0)
    loss, beta = get_loss(values["loss"]), values["beta"]
    share = np.full(n_samples, 1.0 / n_samples)
    rates = [values[name] for name in ("lr_readout", "lr_bias", "lr_query")]
    pooled = data.per_sample(pooled_features)
    query = two_gradient_steps(data, pooled, sign, share, loss, beta, *rates)
    features = data.per_sample(attention_features, beta * query)
    readout = fit_readout(features, sign, values["reg"], loss)
    if values["protocol"] == "joint":
        query, readout = _refine(X, sign, loss, cell, query, readout)
        features = data.per_sample(attention_features, beta * query)
    learned = LearnedQuery(query, readout.coef, readout.intercept, truth.direction, beta)
    return features, sign, learned, readout


def _refine(
    X: Floats, sign: Floats, loss: Loss, cell: Cell, query: Floats, readout: Readout
) -> tuple[Floats, Readout]:
    """Minimise mean loss + (λ/2)(‖w‖² + ‖q‖²) by some steps of L-BFGS from the two-step start."""
    size, reg, beta = query.size, cell.values["reg"], cell.values["beta"]

    def objective(point: Floats) -> tuple[float, Floats]:
        query, coef, bias = point[:size], point[size:-1], point[-1]
        weights, along = Softmax().weights(beta * (X @ query)), X @ coef
        output = (weights * along).sum(axis=1)
        value = float(loss.value(output + bias, sign).mean())
        slope = loss.derivative(output + bias, sign) / len(sign)
        pull = slope[:, np.newaxis] * weights
        by_query = beta * np.tensordot(pull * (along - output[:, np.newaxis]), X, axes=2)
        by_readout = np.tensordot(pull, X, axes=2)
        gradient = [by_query + reg * query, by_readout + reg * coef, [slope.sum()]]
        return value + 0.5 * reg * float(point[:-1] @ point[:-1]), np.concatenate(gradient)

    start = np.concatenate([query, readout.coef, [readout.intercept]])
    options = {"maxiter": cell.values["refine_steps"]}
    point = minimize(objective, start, jac=True, method="L-BFGS-B", options=options).x
    return point[:size], Readout(point[size:-1], float(point[-1]))
