"""Which learning rates and how many steps make the best of a budget of samples."""

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import minimize

from sparsetoken._types import Floats
from sparsetoken._validation import check_choice, check_count, check_real
from sparsetoken.estimate import ConvergenceWarning
from sparsetoken.losses import Loss, get_loss
from sparsetoken.population import AnyProblem, check_problem
from sparsetoken.theory.dynamics.record import Training
from sparsetoken.theory.dynamics.schedule import Schedule
from sparsetoken.theory.dynamics.train import check_smooth, follow_training
from sparsetoken.theory.models import DEFAULT_POINTS
from sparsetoken.theory.protocol import two_step_risk
from sparsetoken.theory.trained import Risk

_SEARCH_POINTS = 512  # per class, in as few scramblings as tell an error
_STARTS = ((4.0, 1.0), (2.0, 4.0))  # rates of query and readout
_SMALLER = (1.0, 0.1, 0.01, 1e-3)  # times these, as strong signals need
# In the limit, larger rates of the bias and larger ridges are a little better. At a finite size
# they fail: the chance imbalance of a batch then decides the bias, while the readout is small.
_BIAS_RATE = 3.0  # in units of the readout's
_LARGEST_RIDGE = 0.3  # of two steps


@dataclass(frozen=True)
class BestTraining:
    """The best training found for a budget of samples, and the two-step protocol beside it."""

    training: Training
    """The training, up to its best step."""
    lr_query: float
    lr_readout: float
    lr_bias: float
    two_step: Risk
    """The two-step protocol with the same samples, at the best settings found."""
    two_step_settings: dict[str, float]
    """These settings, as arguments of :func:`two_step_risk`."""

    @property
    def steps(self) -> int:
        """Number of steps."""
        return len(self.training.test_error)

    @property
    def test_error(self) -> float:
        """Test error after the last step."""
        return float(self.training.test_error[-1])

    @property
    def helped(self) -> bool:
        """Whether the steps after the first, which is as good at any rate, lower the test error."""
        return self.training.converged and self.test_error < float(self.training.test_error[0])


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
        The search is local, from a few starts: a better training may exist. The bias learns three
        times as fast as the readout: faster ones look better in the limit of many dimensions and
        fail at a few hundred, where the chance imbalance of a batch decides the bias. Where no
        rates help, a warning says so, and ``helped`` is False.

    Examples
    --------
    >>> import sparsetoken as st
    >>> problem = st.SparseTokenProblem(n_tokens=5, signal=4.0)
    >>> best = st.theory.best_training(
    ...     problem, alpha=2.0, steps=4, batches="fresh", n_points=4096
    ... )
    >>> round(best.test_error, 2), round(best.two_step.test_error, 2)
    (0.1, 0.08)
    """
    check_problem(problem)
    n_points = check_count("n_points", n_points, minimum=256)
    smooth = check_smooth(get_loss(loss))
    rates = best_rates(
        problem, alpha=alpha, steps=steps, batches=batches, loss=smooth, beta=beta, reg=reg
    )
    each = alpha if batches == "reused" else alpha / steps
    schedule = Schedule.make(
        rates.steps, each, reg, beta, rates.lr_query, rates.lr_readout, rates.lr_bias
    )
    trained = follow_training(problem, batches, schedule, smooth, n_points)
    settings = best_protocol(problem, alpha=alpha, loss=smooth)
    protocol = two_step_risk(problem, loss=smooth, n_points=n_points, **settings)
    best = BestTraining(trained, *rates[:3], protocol, settings)
    if not best.helped:
        message = (
            "no learning rates were found at which more than one step lowers the test error "
            "(helped=False); the two-step protocol may be better"
        )
        warnings.warn(message, ConvergenceWarning, stacklevel=2)
    return best


class TunedRates(NamedTuple):
    """Learning rates, and after how many steps to stop."""

    lr_query: float
    lr_readout: float
    lr_bias: float
    steps: int


def best_rates(
    problem: AnyProblem,
    *,
    alpha: float,
    steps: int,
    batches: str,
    loss: Loss,
    beta: float,
    reg: float,
) -> TunedRates:
    """Search the rates and the number of steps of :func:`best_training`."""
    alpha = check_real("alpha", alpha, low=0.0, above=True)
    steps = check_count("steps", steps, minimum=2)
    check_choice("batches", batches, ("reused", "fresh"))
    each = alpha if batches == "reused" else alpha / steps

    def errors(rates: Floats) -> Floats:
        """Return the test error after each step, 1 for a training that runs away."""
        if np.abs(rates).max() > math.log(1e4):
            return np.ones(steps)
        query, readout = np.exp(rates).tolist()
        schedule = Schedule.make(steps, each, reg, beta, query, readout, _BIAS_RATE * readout)
        tried = follow_training(problem, batches, schedule, loss, _SEARCH_POINTS * 4, 2).test_error
        return tried if len(tried) == steps else np.ones(steps)

    # The first step is as good at any rate; "fresh" samples are used up only by the last one.
    counted = slice(1, None) if batches == "reused" else slice(-1, None)
    for smaller in _SMALLER:
        starts = np.log(smaller * np.array(_STARTS))
        searched = [_descend(lambda x: float(errors(x)[counted].min()), at, 40) for at in starts]
        best = min(searched, key=lambda result: result.fun)
        by_step = errors(best.x)
        if best.fun < by_step[0]:
            break
    last = int(np.argmin(by_step)) + 1 if batches == "reused" else steps
    query, readout = np.exp(best.x).tolist()
    return TunedRates(query, readout, _BIAS_RATE * readout, last)


def best_protocol(problem: AnyProblem, *, alpha: float, loss: Loss) -> dict[str, float]:
    """Search samples, readout rate, query rate and ridge of the two-step protocol."""

    def settings(x: Floats) -> dict[str, float]:
        share = 1.0 / (1.0 + math.exp(-x[0]))
        return {
            "alpha0": share * alpha,
            "alpha1": (1.0 - share) * alpha,
            "lr_readout": math.exp(x[1]),
            "lr_query": math.exp(x[2]),
            "reg": math.exp(x[3]),
        }

    def error(x: Floats) -> float:
        if np.abs(x).max() >= 10.0 or math.exp(x[3]) > _LARGEST_RIDGE:
            return 1.0
        tried = two_step_risk(problem, loss=loss, n_points=_SEARCH_POINTS, **settings(x))
        return float(tried.test_error)

    start = np.array([0.0, 0.0, math.log(20.0), math.log(0.01)])
    return settings(_descend(error, start, 120).x)


def _descend(error: Callable[[Floats], float], start: Floats, evaluations: int) -> Any:
    """Minimize over logarithms from a simplex that spans a factor of two in each."""
    simplex = start + np.vstack([np.zeros_like(start), math.log(2.0) * np.eye(start.size)])
    options = {"initial_simplex": simplex, "xatol": 0.05, "fatol": 1e-4, "maxfev": evaluations}
    return minimize(error, start, method="Nelder-Mead", options=options)
