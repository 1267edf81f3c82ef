"""Gradient descent on query, readout and bias together (docs/theory, section 13)."""

from types import SimpleNamespace
from typing import Any

import numpy as np

from sparsetoken._types import Array
from sparsetoken.estimate import Estimate
from sparsetoken.estimators.readout import LinearReadout
from sparsetoken.losses import Loss, get_loss
from sparsetoken.models.attention import Attention
from sparsetoken.models.base import Draw, Settings, Size, alpha_of
from sparsetoken.models.readout import ReadoutTrial
from sparsetoken.problem import Problem
from sparsetoken.sampling import LearnedQuery
from sparsetoken.sequences.data import MemoryData
from sparsetoken.sequences.passes import attention_features, attention_weights
from sparsetoken.sequences.sequences import Sequences, as_sequences
from sparsetoken.vocabulary import group

_STATE = ("test_error", "train_loss", "cosine", "query_norm", "readout_norm", "bias")


class GradientDescent(Attention):
    """All parameters move in every step; each step sees ``alpha`` samples per dimension.

    There is no reduced sampler: the tokens are drawn.
    """

    name = "training"
    settings = ("steps", "batches", "loss", "reg", *group("two steps"), "n_points")
    predicted = simulated = frozenset({*_STATE, "sharpness"})

    def predict(self, problem: Problem, sizes: list[Size], settings: Settings) -> list[Any]:
        """Return the numbers of the last step at each size, and the sharpness β‖q‖."""
        from sparsetoken.theory import training

        results, beta = [], settings["beta"]
        for size in sizes:
            path = training(problem, alpha=alpha_of(size, settings), **settings)
            if path.diverged_at is not None:
                raise ArithmeticError(f"the training runs away in step {path.diverged_at}")
            last = {n: (getattr(path, n)[-1], path.errors[n][-1]) for n in _STATE}
            last["sharpness"] = tuple(beta * number for number in last["query_norm"])
            numbers = {n: Estimate(*number, path.converged) for n, number in last.items()}
            results.append(SimpleNamespace(**numbers))
        return results

    def train(self, draw: Draw) -> Any:
        """Draw tokens and descend from zero; the last samples are those of a step that follows.

        With "online" batches a step sees one sample after the other, with the rates over the
        dimension.
        """
        problem, n_samples, dim, rng = draw.problem, draw.n_samples(), draw.dim, draw.rng
        settings, loss = draw.settings, get_loss(draw.settings["loss"])
        beta, reg, online = settings["beta"], settings["reg"], settings["batches"] == "online"
        parts = [slice(i, i + 1) for i in range(n_samples)] if online else [slice(None)]
        rates = np.array([settings[n] for n in ("lr_query", "lr_readout", "lr_bias")])
        rates = rates / dim if online else rates
        X, y, truth = problem.sample(n_samples, dim, random_state=rng, return_truth=True)
        query, readout, bias = np.zeros(dim), np.zeros(dim), 0.0
        for _ in range(settings["steps"] + 1):
            learned = LearnedQuery(query, readout, bias, truth.directions, beta)
            sequences, sign = as_sequences(X), 2.0 * y - 1.0
            for part in parts:
                now = query, readout, bias, loss, beta
                by_query, by_readout, by_bias = gradient(sequences[part], sign[part], *now)
                query = query - rates[0] * (by_query + reg * query)
                readout = readout - rates[1] * (by_readout + reg * readout)
                bias = bias - rates[2] * by_bias
            if settings["batches"] != "reused":
                X, y = problem.sample(n_samples, dim, random_state=rng, direction=truth.directions)
        features = MemoryData(sequences).per_sample(attention_features, beta * learned.query)
        drawn = {"query": learned, "training": (features, sign)}
        return ReadoutTrial(
            self, draw, **drawn, readout=LinearReadout(learned.readout, learned.bias)
        )


def gradient(
    sequences: Sequences,
    sign: Array,
    query: Array,
    readout: Array,
    bias: float,
    loss: Loss,
    beta: float,
) -> tuple[Array, Array, float]:
    """Return the gradient of the mean loss by query, readout and bias."""
    tokens, lengths = sequences.tokens, sequences.lengths
    weights, along = attention_weights(sequences, beta * query), tokens @ readout
    output = np.add.reduceat(weights * along, sequences.offsets[:-1])
    slope = np.asarray(loss.derivative(output + bias, sign), dtype=float) / sign.size
    pull = np.repeat(slope, lengths) * weights
    by_query = beta * ((pull * (along - np.repeat(output, lengths))) @ tokens)
    return by_query, pull @ tokens, float(slope.sum())
