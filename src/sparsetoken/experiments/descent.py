"""Gradient descent on query, readout and bias together, on dense tokens: nothing is reduced."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sparsetoken.losses import Loss
from sparsetoken.pooling import Softmax
from sparsetoken.population import AnyProblem

__all__ = ["DescentStep", "descend", "gradient"]

Floats = NDArray[np.float64]


class DescentStep(NamedTuple):
    """The parameters after a step, and the mean loss of the samples that the next one would use."""

    query: Floats
    readout: Floats
    bias: float
    train_loss: float
    direction: Floats
    """The signal's unit vector."""


def descend(
    problem: AnyProblem,
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
) -> Iterator[DescentStep]:
    """Yield the parameters after each step from zero; the arguments are those of the theory.

    Every step sees ``n_samples``: all at once, or with "online" batches one after the other, each
    with the rates over the dimension.
    """
    X, y, truth = problem.sample(n_samples, dim, random_state=rng, return_truth=True)
    query, readout, bias = np.zeros(dim), np.zeros(dim), 0.0
    rates, alone = np.array([lr_query, lr_readout, lr_bias]), batches == "online"
    for step in range(steps + 1):
        sign = 2.0 * y - 1.0
        slopes = gradient(X, sign, query, readout, bias, loss, beta)
        if step:
            yield DescentStep(query, readout, bias, slopes[-1], truth.direction)
        for i in range(n_samples if alone else 1):
            if alone:
                slopes = gradient(X[i : i + 1], sign[i : i + 1], query, readout, bias, loss, beta)
            moves = rates / dim if alone else rates
            query = query - moves[0] * (slopes[0] + reg * query)
            readout = readout - moves[1] * (slopes[1] + reg * readout)
            bias = bias - moves[2] * slopes[2]
        if batches != "reused":
            X, y = problem.sample(n_samples, dim, random_state=rng, direction=truth.direction)


def gradient(
    X: Any, sign: Any, query: Floats, readout: Floats, bias: float, loss: Loss, beta: float
) -> tuple[Floats, Floats, float, float]:
    """Return the gradient of the mean loss by query, readout and bias, and the mean loss."""
    tokens = X.reshape(-1, X.shape[-1])
    scores, along = ((tokens @ v).reshape(sign.size, -1) for v in (query, readout))
    weights = Softmax().weights(beta * scores)
    output = np.einsum("nl,nl->n", weights, along)
    slope = np.asarray(loss.derivative(output + bias, sign), dtype=float) / sign.size
    pull = slope[:, np.newaxis] * weights
    by_query = beta * ((pull * (along - output[:, np.newaxis])).ravel() @ tokens)
    value = float(np.mean(loss.value(output + bias, sign)))
    return by_query, pull.ravel() @ tokens, float(slope.sum()), value
