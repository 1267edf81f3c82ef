"""Which learning rates and how many steps make the best of a budget of samples."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from sparsetoken._validation import check_choice, check_count, check_real
from sparsetoken.losses import Loss, get_loss
from sparsetoken.population import AnyProblem, check_problem
from sparsetoken.theory.dynamics.record import Training
from sparsetoken.theory.dynamics.schedule import Schedule
from sparsetoken.theory.dynamics.train import DEFAULT_POINTS, check_smooth, follow_training
from sparsetoken.theory.protocol import two_step_risk
from sparsetoken.theory.trained import Risk

__all__ = ["BestTraining", "best_training"]

Array = NDArray[np.float64]

_SEARCH_POINTS = 512
_STARTS = ((4.0, 1.0, 1.0), (2.0, 4.0, 2.0))  # rates of query, readout and bias


@dataclass(frozen=True)
class BestTraining:
    """The best training found for a budget of samples, and the two-step protocol beside it."""

    training: Training
    """The training, up to its best step."""
    lr_query: float
    lr_readout: float
    lr_bias: float
    two_step: Risk
    """The two-step protocol with the same samples, at the best split, sharpness and ridge found."""

    @property
    def steps(self) -> int:
        """Number of steps."""
        return len(self.training.test_error)

    @property
    def test_error(self) -> float:
        """Test error after the last step."""
        return float(self.training.test_error[-1])


def best_training(
    problem: AnyProblem,
    *,
    alpha: float,
    steps: int,
    batches: str = "reused",
    loss: Any = "logistic",
    beta: float = 1.0,
    reg: float = 0.0,
    n_points: int = DEFAULT_POINTS,
) -> BestTraining:
    """Search learning rates and number of steps for the lowest test error after training.

    Parameters
    ----------
    problem : SparseTokenProblem or Population
        The model of the data.
    alpha : float
        Samples per dimension in all. Every step uses all of them if ``batches`` is "reused"; with
        "fresh" batches they are divided evenly among ``steps`` steps.
    steps : int
        The largest number of steps.
    batches : {"reused", "fresh"}, default="reused"
        Whether the steps share the samples or divide them.
    loss, beta, reg, n_points
        As in :func:`training`.

    Returns
    -------
    BestTraining
        The search is local, from a few starts: a better training may exist.

    Examples
    --------
    >>> import sparsetoken as st
    >>> problem = st.SparseTokenProblem(n_tokens=5, signal=4.0)
    >>> best = st.theory.best_training(
    ...     problem, alpha=2.0, steps=4, batches="fresh", n_points=4096
    ... )
    >>> round(best.test_error, 2), round(best.two_step.test_error, 2)
    (0.08, 0.08)
    """
    alpha = check_real("alpha", alpha, low=0.0, above=True)
    check_problem(problem)
    steps = check_count("steps", steps, minimum=2)
    check_choice("batches", batches, ("reused", "fresh"))
    smooth = check_smooth(get_loss(loss))
    each = alpha if batches == "reused" else alpha / steps

    def follow(rates: Array, n_points: int, steps: int = steps) -> Training:
        schedule = Schedule.make(steps, each, reg, beta, *np.exp(rates).tolist())
        return follow_training(problem, batches, schedule, smooth, n_points)

    def error(rates: Array) -> float:
        if np.abs(rates).max() > math.log(1e3):
            return 1.0
        found = follow(rates, _SEARCH_POINTS).test_error
        if len(found) < steps:  # it ran away
            return 1.0
        return float(found.min() if batches == "reused" else found[-1])

    options = {"xatol": 0.05, "fatol": 1e-4, "maxfev": 40}
    searched = [
        minimize(error, np.log(start), method="Nelder-Mead", options=options) for start in _STARTS
    ]
    rates = min(searched, key=lambda result: result.fun).x
    found = follow(rates, n_points)
    if batches == "reused":
        found = follow(rates, n_points, int(np.argmin(found.test_error)) + 1)
    lr_query, lr_readout, lr_bias = np.exp(rates).tolist()
    return BestTraining(
        found, lr_query, lr_readout, lr_bias, _best_two_step(problem, alpha, smooth)
    )


def _best_two_step(problem: AnyProblem, alpha: float, loss: Loss) -> Risk:
    """Search split, readout rate, query rate and ridge of the two-step protocol."""

    def risk_at(x: Array) -> Risk:
        share = 1.0 / (1.0 + math.exp(-x[0]))
        return two_step_risk(
            problem,
            alpha0=share * alpha,
            alpha1=(1.0 - share) * alpha,
            reg=math.exp(x[3]),
            loss=loss,
            lr_readout=math.exp(x[1]),
            lr_query=math.exp(x[2]),
            n_points=_SEARCH_POINTS,
        )

    def error(x: Array) -> float:
        return float(risk_at(x).test_error) if np.abs(x).max() < 10.0 else 1.0

    start = np.array([0.0, 0.0, math.log(20.0), math.log(0.01)])
    found = minimize(error, start, method="Nelder-Mead", options={"fatol": 1e-4, "maxfev": 120})
    return risk_at(found.x)
