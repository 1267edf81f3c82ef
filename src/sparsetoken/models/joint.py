"""Joint training: the same samples teach query and readout, up to the minimum."""

from typing import Any

import numpy as np
from scipy.optimize import minimize

from sparsetoken._types import Array
from sparsetoken.estimate import Estimate
from sparsetoken.estimators.linear import two_gradient_steps
from sparsetoken.estimators.readout import LinearReadout, fit_readout
from sparsetoken.losses import get_loss
from sparsetoken.models.attention import Attention
from sparsetoken.models.base import QUERY, TWO_STEPS, Draw, Settings
from sparsetoken.models.readout import ReadoutTrial, check_classes
from sparsetoken.models.training import STATE, GradientDescent, gradient
from sparsetoken.problem import Problem
from sparsetoken.sampling import LearnedQuery
from sparsetoken.sequences.data import MemoryData
from sparsetoken.sequences.passes import attention_features, pooled_features
from sparsetoken.sequences.sequences import as_sequences

_MOST_STEPS = 500


class JointTraining(GradientDescent):
    """All parameters trained together, from the start that two steps give, to the minimum.

    There is no reduced sampler: the tokens are drawn. The ridge is on query and readout alike.
    """

    name = "joint"
    settings = (*TWO_STEPS, "reg", "n_points")
    simulated = Attention.simulated | (QUERY - {"misalignment"})

    def solve(self, problem: Problem, settings: Settings, alpha: float) -> dict[str, Estimate]:
        """Return the minimum, marked as not converged where it cannot be trusted."""
        from sparsetoken.theory import joint_risk

        taken: Settings = {n: settings[n] for n in ("loss", "beta", "n_points") if n in settings}
        taken |= {"reg_query": settings["reg"], "reg_readout": settings["reg"]}
        risk = joint_risk(problem, alpha=alpha, **taken)
        return {
            n: Estimate(value, value.uncertainty, risk.stable)
            for n, value in ((n, getattr(risk, n)) for n in STATE)
        }

    def train(self, draw: Draw) -> Any:
        """Draw tokens and train on all of them: two steps, the readout, then all parameters."""
        settings = draw.settings
        if settings["loss"] != "logistic":
            raise ValueError(f"loss must be 'logistic' for model 'joint', got {settings['loss']!r}")
        loss, beta, reg = get_loss(settings["loss"]), settings["beta"], settings["reg"]
        size = draw.n_samples(), draw.dim
        X, y, truth = draw.problem.sample(*size, random_state=draw.rng, return_truth=True)
        tokens, sign = MemoryData(as_sequences(X)), np.where(y == 1, 1.0, -1.0)
        check_classes(sign)
        pooled, weight = tokens.per_sample(pooled_features), np.full(len(y), 1.0 / len(y))
        steps = {name: settings[name] for name in TWO_STEPS} | {"loss": loss}
        start = two_gradient_steps(tokens, pooled, sign, weight, **steps)
        readout = fit_readout(tokens.per_sample(attention_features, beta * start), sign, reg, loss)

        def objective(point: Array) -> tuple[float, Array]:
            """Return the mean loss + (λ/2)(‖w‖² + ‖q‖²), and its gradient."""
            query, coef, bias = np.split(point, [draw.dim, 2 * draw.dim])
            parameters = query, coef, bias[0], loss, beta
            by_query, by_readout, by_bias, value = gradient(tokens.sequences, sign, *parameters)
            slopes: list[Any] = [by_query + reg * query, by_readout + reg * coef, [by_bias]]
            return value + 0.5 * reg * float(point[:-1] @ point[:-1]), np.concatenate(slopes)

        first = np.concatenate([start, readout.coef, [readout.intercept]])
        options = {"maxiter": _MOST_STEPS}
        point = minimize(objective, first, jac=True, method="L-BFGS-B", options=options).x
        learned, coef, bias = np.split(point, [draw.dim, 2 * draw.dim])
        readout = LinearReadout(coef, float(bias[0]))
        features = tokens.per_sample(attention_features, beta * learned)
        query = LearnedQuery(learned, *readout, truth.directions, beta)
        return ReadoutTrial(self, draw, query=query, training=(features, sign), readout=readout)
