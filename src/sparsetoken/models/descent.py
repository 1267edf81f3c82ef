"""Query, readout and bias trained together on dense tokens: nothing is reduced."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy.optimize import minimize

from sparsetoken._types import Array
from sparsetoken.estimators.readout import LinearReadout, fit_readout
from sparsetoken.estimators.two_step import two_gradient_steps
from sparsetoken.losses import Loss, get_loss
from sparsetoken.models.base import TWO_STEPS, Draw
from sparsetoken.models.readout import TrainingSet
from sparsetoken.problem import Problem
from sparsetoken.sampling import LearnedQuery
from sparsetoken.sequences.data import MemoryData
from sparsetoken.sequences.passes import attention_features, attention_weights, pooled_features
from sparsetoken.sequences.sequences import Sequences, as_sequences

_MOST_STEPS = 500


def descend(
    problem: Problem,
    n_samples: int,
    dim: int,
    *,
    steps: int,
    batches: str,
    loss: Loss,
    beta: float,
    lr_readout: float,
    lr_bias: float,
    lr_query: float,
    reg: float,
    rng: np.random.Generator,
) -> Iterator[tuple[LearnedQuery, float]]:
    """Yield the parameters after each step from zero; the arguments are those of the theory.

    With them comes the mean loss of the samples that the next step would use. Every step sees
    ``n_samples``: all at once, or with "online" batches one after the other, each with the rates
    over the dimension.
    """
    X, y, truth = problem.sample(n_samples, dim, random_state=rng, return_truth=True)
    query, readout, bias = np.zeros(dim), np.zeros(dim), 0.0
    rates, alone = np.array([lr_query, lr_readout, lr_bias]), batches == "online"
    for step in range(steps + 1):
        sequences, sign = as_sequences(X), 2.0 * y - 1.0
        slopes = gradient(sequences, sign, query, readout, bias, loss, beta)
        if step:
            yield LearnedQuery(query, readout, bias, truth.direction, beta), slopes[-1]
        for i in range(n_samples if alone else 1):
            if alone:
                one = sequences[i : i + 1]
                slopes = gradient(one, sign[i : i + 1], query, readout, bias, loss, beta)
            moves = rates / dim if alone else rates
            query = query - moves[0] * (slopes[0] + reg * query)
            readout = readout - moves[1] * (slopes[1] + reg * readout)
            bias = bias - moves[2] * slopes[2]
        if batches != "reused":
            X, y = problem.sample(n_samples, dim, random_state=rng, direction=truth.direction)


def minimize_jointly(
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


def train_jointly(draw: Draw) -> TrainingSet:
    """Draw tokens and train on all of them: two steps, the readout, then all parameters."""
    settings = draw.settings
    if settings["loss"] != "logistic":
        raise ValueError(f"loss must be 'logistic' for model 'joint', got {settings['loss']!r}")
    loss, beta, reg = get_loss(settings["loss"]), settings["beta"], settings["reg"]
    X, y, truth = draw.problem.sample(
        draw.n_samples, draw.dim, random_state=draw.rng, return_truth=True
    )
    tokens, sign = MemoryData(as_sequences(X)), np.where(y == 1, 1.0, -1.0)
    pooled, weight = tokens.per_sample(pooled_features), np.full(len(y), 1.0 / len(y))
    steps = {name: settings[name] for name in TWO_STEPS} | {"loss": loss}
    start = two_gradient_steps(tokens, pooled, sign, weight, **steps)
    features = tokens.per_sample(attention_features, beta * start)
    readout = fit_readout(features, sign, reg, loss)
    learned, readout = minimize_jointly(tokens.sequences, sign, start, readout, loss, beta, reg)
    features = tokens.per_sample(attention_features, beta * learned)
    result = LearnedQuery(learned, readout.coef, readout.intercept, truth.direction, beta)
    return TrainingSet(features, sign, truth.direction, result, readout)
