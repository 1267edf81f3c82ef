"""Gradient descent on query, readout and bias together, on dense tokens: nothing is reduced."""

from collections.abc import Iterator

import numpy as np

from sparsetoken.estimate import Estimate
from sparsetoken.estimators.readout import LinearReadout
from sparsetoken.experiments.cell import Cell
from sparsetoken.experiments.models.attention import judge_attention
from sparsetoken.experiments.models.base import PROBLEM, Numbers, Rng, WayOfTraining, count_samples
from sparsetoken.experiments.models.joint import DESCENT_QUANTITIES, gradient, with_sharpness
from sparsetoken.losses import Loss, get_loss
from sparsetoken.pooling import Softmax
from sparsetoken.population import AnyProblem
from sparsetoken.sampling import LearnedQuery
from sparsetoken.sequences.sequences import as_sequences

_SETTINGS = ("steps", "batches", "beta", "reg", "lr_readout", "lr_bias", "lr_query")


class GradientDescentModel(WayOfTraining):
    """All parameters move in every step; ``alpha`` samples per dimension a step."""

    name = "training"
    predicted = simulated = DESCENT_QUANTITIES
    tested_elsewhere = False

    def parameters(self, quantity: str, source: str) -> set[str]:
        """Return samples, settings and rates."""
        names = {*PROBLEM, "model", "alpha", "loss", *_SETTINGS}
        return names | ({"n_points"} if source == "theory" else set())

    def predict(self, cell: Cell) -> Numbers:
        """Return the state after the last step."""
        from sparsetoken.theory import training

        names = self.parameters("test_error", "theory") - PROBLEM - {"model"}
        path = training(cell.problem, **{name: cell.values[name] for name in names})
        if path.diverged_at is not None:
            raise ArithmeticError(f"the training runs away in step {path.diverged_at}")
        numbers = {
            name: Estimate(getattr(path, name)[-1], bar[-1], path.converged)
            for name, bar in path.errors.items()
        }
        return with_sharpness(numbers, cell.values["beta"], cell)

    def trial(self, cell: Cell, rng: Rng) -> dict[str, float]:
        """Train on dense tokens; test as any attention is tested."""
        values, dim = cell.values, cell.values["dim"]
        settings = {name: values[name] for name in _SETTINGS}
        loss, n_samples = get_loss(values["loss"]), count_samples(values["alpha"], dim)
        *_, last = descend(cell.problem, n_samples, dim, loss=loss, rng=rng, **settings)
        query, train_loss = last
        result = {"train_loss": train_loss}
        result |= {name: getattr(query, name) for name in cell.quantities if hasattr(query, name)}
        if "test_error" in cell.quantities:
            readout = LinearReadout(query.readout, query.bias)
            judged = judge_attention(cell.problem, query, readout, Softmax(), values["loss"], rng)
            result["test_error"] = float(judged.test_error)
        return result


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
    rng: Rng,
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
