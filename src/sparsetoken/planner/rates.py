"""Learning rates of the first gradient step."""

import math

from scipy.optimize import minimize_scalar

from sparsetoken.planner.case import Case, Choice
from sparsetoken.planner.finite import possible_shares
from sparsetoken.theory import alignment

__all__ = ["best_rates", "logit"]

_LR_READOUT = 0.1  # small steps are never worse: the size of the query is set by lr_query


def best_rates(case: Case, choice: Choice) -> dict[str, float]:
    """Return the rates of the first step: the bias's aligns the query best with the signal.

    It is near the rate that makes the bias predict the share of positives, so that the mean slope
    of the loss vanishes, and the best on average over the shares that a finite sample may have. At
    equal shares any rate does in the limit; this one also cancels their chance imbalance.
    """
    alpha = choice.split * case.alpha
    calibrated = _calibrated_bias_rate(case.problem.positive_rate, choice.loss)
    if case.problem.positive_rate == 0.5 or math.isinf(alpha):
        return {"lr_readout": _LR_READOUT, "lr_bias": calibrated}

    shares = possible_shares(case.problem.positive_rate, choice.split * case.n_samples)
    problems = [case.with_share(share).problem for share in shares]

    def misalignment(factor: float) -> float:
        rates = {"lr_readout": _LR_READOUT, "lr_bias": factor * calibrated}
        return -sum(
            alignment(problem, alpha=alpha, loss=choice.loss, **rates).cosine
            for problem in problems
        )

    found = minimize_scalar(
        misalignment, bounds=(0.6, 1.8), method="bounded", options={"xatol": 0.03}
    )
    return {"lr_readout": _LR_READOUT, "lr_bias": float(found.x) * calibrated}


def _calibrated_bias_rate(rate: float, loss: str) -> float:
    """Return the rate at which one step from zero predicts the share of positives."""
    if loss == "square":  # b = 2π − 1 = −lr·(mean slope 1 − 2π)
        return 1.0
    # b = log(π/(1 − π)) = −lr·(½ − π)
    return logit(rate) / (rate - 0.5) if abs(rate - 0.5) > 1e-6 else 4.0


def logit(share: float) -> float:
    """Return the log-odds of a share."""
    return math.log(share / (1.0 - share))
