"""Settings of a query that its problem decides: learning rate, sharpness, number of samples."""

import math
from typing import Any

from scipy.optimize import brentq, minimize_scalar

from sparsetoken.pooling import Pooling
from sparsetoken.population import AnyProblem
from sparsetoken.theory import alignment, risk

_MOST = 40.0  # of |log α₀|


def query_rate(problem: AnyProblem, alpha0: float, sharpness: float = 2.0, **steps: Any) -> float:
    """Return the learning rate that gives the query this sharpness, to three digits.

    With one rate for all lengths, that of the query would fall as 1/L².
    """
    return _round(sharpness / alignment(problem, alpha=alpha0, lr_query=1.0, **steps).sharpness)


def query_samples(problem: AnyProblem, cosine: float = 0.5, **steps: Any) -> float:
    """Return the samples per dimension that two steps need for this cosine; infinity if no number.

    More samples never harm, so this is the only crossing.
    """

    def gap(log_alpha: float) -> float:
        return alignment(problem, alpha=math.exp(log_alpha), **steps).cosine - cosine

    if gap(_MOST) < 0.0:
        return math.inf
    return math.exp(brentq(gap, -_MOST, _MOST, xtol=1e-6))


def best_sharpness(
    problem: AnyProblem, pooling: Pooling, *, alpha: float, reg: float, cosine: float
) -> float:
    """Return the sharpness of least test error between 0.1 and 10, to three digits."""

    def error(log_sharpness: float) -> float:
        query: Any = {"cosine": cosine, "sharpness": math.exp(log_sharpness), "n_points": 1024}
        return float(risk(problem, pooling, alpha=alpha, reg=reg, **query).test_error)

    bounds = math.log(0.1), math.log(10.0)
    options = {"xatol": 0.03, "maxiter": 12}
    least = minimize_scalar(error, bounds=bounds, method="bounded", options=options)
    return _round(math.exp(least.x))


def _round(value: float) -> float:
    return round(value, 2 - math.floor(math.log10(value)))
