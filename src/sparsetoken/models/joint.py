"""Joint training: the same samples teach query and readout, up to the minimum."""

from typing import Any

import numpy as np
from scipy.optimize import minimize

from sparsetoken._types import Array
from sparsetoken.estimators.linear import two_gradient_steps
from sparsetoken.estimators.readout import LinearReadout, fit_readout
from sparsetoken.losses import Loss, get_loss
from sparsetoken.models.attention import Attention
from sparsetoken.models.base import QUERY, TWO_STEPS, Draw, Settings, Size, one_size
from sparsetoken.models.descent import gradient
from sparsetoken.models.readout import TrainingSet
from sparsetoken.models.training import DESCENT
from sparsetoken.problem import Problem
from sparsetoken.sampling import LearnedQuery
from sparsetoken.sequences.data import MemoryData
from sparsetoken.sequences.passes import attention_features, pooled_features
from sparsetoken.sequences.sequences import Sequences, as_sequences

_MOST_STEPS = 500


class JointTraining(Attention):
    """All parameters trained together, from the start that two steps give, to the minimum.

    There is no reduced sampler: the tokens are drawn. The ridge is on query and readout alike.
    """

    name = "joint"
    settings = (*TWO_STEPS, "reg", "n_points")
    predicted = DESCENT
    simulated = Attention.simulated | (QUERY - {"misalignment"})

    def predict(self, problem: Problem, sizes: list[Size], settings: Settings) -> list[Any]:
        """Return the minimum, marked as not converged where it cannot be trusted."""
        from sparsetoken.models.predictions import Minimum

        return [Minimum(problem, one_size(size), settings) for size in sizes]

    def draw_query(self, draw: Draw) -> None:
        """Draw no query: it is learned together with the readout."""

    def draw_training(self, draw: Draw, query: Any) -> TrainingSet:
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
        learned, readout = _minimize(tokens.sequences, sign, start, readout, loss, beta, reg)
        features = tokens.per_sample(attention_features, beta * learned)
        result = LearnedQuery(learned, readout.coef, readout.intercept, truth.directions, beta)
        return TrainingSet(features, sign, truth.directions, result, readout)


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
