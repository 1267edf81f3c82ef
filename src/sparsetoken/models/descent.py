"""Query, readout and bias trained together on dense tokens: nothing is reduced."""

from collections.abc import Iterator

import numpy as np

from sparsetoken._types import Array
from sparsetoken.losses import Loss
from sparsetoken.problem import Problem
from sparsetoken.sampling import LearnedQuery
from sparsetoken.sequences.passes import attention_weights
from sparsetoken.sequences.sequences import Sequences, as_sequences


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
            yield LearnedQuery(query, readout, bias, truth.directions, beta), slopes[-1]
        for i in range(n_samples if alone else 1):
            if alone:
                one = sequences[i : i + 1]
                slopes = gradient(one, sign[i : i + 1], query, readout, bias, loss, beta)
            moves = rates / dim if alone else rates
            query = query - moves[0] * (slopes[0] + reg * query)
            readout = readout - moves[1] * (slopes[1] + reg * readout)
            bias = bias - moves[2] * slopes[2]
        if batches != "reused":
            X, y = problem.sample(n_samples, dim, random_state=rng, direction=truth.directions)


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
