"""Joint training: the same samples teach query and readout, up to the minimum.

There is no reduced sampler: the tokens are drawn.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy.optimize import minimize

from sparsetoken._types import Array
from sparsetoken.estimate import Estimate
from sparsetoken.estimators.readout import LinearReadout, fit_readout
from sparsetoken.estimators.two_step import two_gradient_steps
from sparsetoken.experiments.cell import Cell
from sparsetoken.experiments.models.attention import PoolingModel
from sparsetoken.experiments.models.base import (
    PROBLEM,
    TWO_STEPS,
    Numbers,
    Rng,
    count_samples,
    two_steps,
)
from sparsetoken.experiments.models.readout import SIMULATED, TrainingSet
from sparsetoken.experiments.models.two_step import QUERY
from sparsetoken.losses import Loss, get_loss
from sparsetoken.sampling import LearnedQuery
from sparsetoken.sequences.data import MemoryData
from sparsetoken.sequences.passes import attention_features, attention_weights, pooled_features
from sparsetoken.sequences.sequences import Sequences, as_sequences

DESCENT_QUANTITIES = frozenset(
    {"test_error", "train_loss", "cosine", "sharpness", "query_norm", "readout_norm", "bias"}
)
"""What the theories of training all parameters together have."""
_MOST_STEPS = 500


class JointModel(PoolingModel):
    """All parameters trained together, from the start that two steps give, to the minimum."""

    name = "joint"
    predicted = DESCENT_QUANTITIES
    simulated = SIMULATED | (QUERY - {"misalignment"})
    query_parameters = TWO_STEPS | {"model", "alpha", "reg"}
    chained = frozenset()
    tested_elsewhere = False

    def parameters(self, quantity: str, source: str) -> set[str]:
        """Return those of the minimum; a simulation also depends on where it starts."""
        if source == "theory":
            return {*PROBLEM, "model", "alpha", "reg", "loss", "beta", "n_points"}
        return super().parameters(quantity, source) - {"alpha1"}

    def check(self, values: Mapping[str, Any], cell: Cell) -> None:
        """Refuse losses that the simulation does not have."""
        super().check(values, cell)
        loss = cell.values["loss"]
        if cell.source == "simulation" and loss != "logistic":
            raise ValueError(f"loss must be 'logistic' for model 'joint', got {loss!r}")

    def predict(self, cell: Cell) -> Numbers:
        """Return the minimum, marked as not converged where it cannot be trusted."""
        from sparsetoken.theory import joint_risk

        values = cell.values
        arguments = {name: values[name] for name in ("alpha", "loss", "beta", "n_points")}
        ridge = values["reg"]
        minimum = joint_risk(cell.problem, reg_query=ridge, reg_readout=ridge, **arguments)
        numbers = {
            name: Estimate(value, value.uncertainty, minimum.stable)
            for name, value in vars(minimum).items()
            if isinstance(value, Estimate)
        }
        return with_sharpness(numbers, values["beta"], cell)

    def draw_training(self, cell: Cell, rng: Rng) -> TrainingSet:
        """Draw tokens and train on all of them: two steps, the readout, then all parameters."""
        values, dim = cell.values, cell.values["dim"]
        n_samples = count_samples(cell.alpha1, dim)
        X, y, truth = cell.problem.sample(n_samples, dim, random_state=rng, return_truth=True)
        tokens, sign = MemoryData(as_sequences(X)), np.where(y == 1, 1.0, -1.0)
        loss, beta = get_loss(values["loss"]), values["beta"]
        pooled = tokens.per_sample(pooled_features)
        steps, weight = two_steps(cell) | {"loss": loss}, np.full(len(y), 1.0 / len(y))
        query = two_gradient_steps(tokens, pooled, sign, weight, **steps)
        features = tokens.per_sample(attention_features, beta * query)
        readout = fit_readout(features, sign, values["reg"], loss)
        query, readout = _minimize(
            tokens.sequences, sign, query, readout, loss, beta, values["reg"]
        )
        learned = LearnedQuery(query, readout.coef, readout.intercept, truth.direction, beta)
        features = tokens.per_sample(attention_features, beta * query)
        return TrainingSet(features, sign, truth.direction, learned, readout)


def _minimize(
    sequences: Sequences,
    sign: Array,
    query: Array,
    readout: LinearReadout,
    loss: Loss,
    beta: float,
    reg: float,
) -> tuple[Array, LinearReadout]:
    """Minimize mean loss + (λ/2)(‖w‖² + ‖q‖²) by L-BFGS from this query and readout."""
    size = query.size

    def objective(point: Array) -> tuple[float, Array]:
        query, coef = point[:size], point[size:-1]
        by_query, by_readout, by_bias, value = gradient(
            sequences, sign, query, coef, point[-1], loss, beta
        )
        slopes: list[Any] = [by_query + reg * query, by_readout + reg * coef, [by_bias]]
        return value + 0.5 * reg * float(point[:-1] @ point[:-1]), np.concatenate(slopes)

    start = np.concatenate([query, readout.coef, [readout.intercept]])
    options = {"maxiter": _MOST_STEPS}
    point = minimize(objective, start, jac=True, method="L-BFGS-B", options=options).x
    return point[:size], LinearReadout(point[size:-1], float(point[-1]))


def gradient(
    sequences: Sequences,
    sign: Array,
    query: Array,
    readout: Array,
    bias: float,
    loss: Loss,
    beta: float,
) -> tuple[Array, Array, float, float]:
    """Return the gradient of the mean loss by query, readout and bias, and the mean loss."""
    tokens, lengths = sequences.tokens, sequences.lengths
    weights, along = attention_weights(sequences, beta * query), tokens @ readout
    output = np.add.reduceat(weights * along, sequences.offsets[:-1])
    slope = np.asarray(loss.derivative(output + bias, sign), dtype=float) / sign.size
    pull = np.repeat(slope, lengths) * weights
    by_query = beta * ((pull * (along - np.repeat(output, lengths))) @ tokens)
    value = float(np.mean(loss.value(output + bias, sign)))
    return by_query, pull @ tokens, float(slope.sum()), value


def with_sharpness(numbers: Numbers, beta: float, cell: Cell) -> Numbers:
    """Return the numbers that a cell asks for; the sharpness is β times the query's length."""
    norm = numbers["query_norm"]
    numbers["sharpness"] = Estimate(beta * norm, beta * norm.uncertainty, norm.converged)
    return {quantity: numbers[quantity] for quantity in cell.quantities}
