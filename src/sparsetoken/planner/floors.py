"""What no number of samples improves, what no learner reaches, and how to say so."""

import contextlib
import math
from typing import Any

from scipy.optimize import brentq

from sparsetoken.estimate import Estimate
from sparsetoken.planner.architectures import ARCHITECTURES, Architecture
from sparsetoken.planner.metric import Metric
from sparsetoken.planner.request import Case, Request
from sparsetoken.population import Population
from sparsetoken.problem import Problem
from sparsetoken.theory import optimal, oracle_error, required_signal

_ENDS = 1e-9, 1e9  # samples per dimension
_HINT_POINTS = 2048  # enough for the two digits of a hint


class UnreachableError(ValueError):
    """No value of the quantity asked for meets the target; the message says why."""

    def to_dict(self) -> dict[str, Any]:
        """Return the answer as plain data, ready for JSON."""
        return {"reachable": False, "answer": str(self)}


def floor(architecture: Architecture, case: Case) -> Estimate:
    """Return the least error of the trained classifier at any number of samples.

    It is the prediction for infinitely many samples per dimension, with the best choices there.
    """
    case = case._replace(n_samples=math.inf, dim=math.inf)
    return case.metric.error(architecture.limit(case, architecture.first_choice(case)))


def least_possible(problem: Problem, metric: Metric) -> Estimate | None:
    """Return the least error of any classifier whatever, if the theory knows it."""
    return oracle_error(problem, "bayes") if metric.name == "error" else None


def least_error(problem: Problem, alpha: float, metric: Metric) -> Estimate:
    """Return the least error of any learner with these samples per dimension, quick or not."""
    return metric.error(optimal(problem, alpha))


def least_alpha(
    problem: Problem, metric: Metric, error: float, ends: tuple[float, float] = _ENDS
) -> float:
    """Return the samples per dimension below which no learner reaches the error.

    It is infinite if the upper end does not suffice, and zero if the lower end does.
    """

    def excess(log_alpha: float) -> float:
        return least_error(problem, math.exp(log_alpha), metric) - error

    low, high = map(math.log, ends)
    if excess(low) <= 0.0:
        return 0.0
    return math.inf if excess(high) > 0.0 else math.exp(brentq(excess, low, high, xtol=1e-6))


def wanted(request: Request) -> str:
    """Return the target in words."""
    label = "" if request.metric.name == "error" else f" ({request.metric.label})"
    return f"error{label}={request.values['error']:g}"


def what_would_help(
    architecture: Architecture, case: Case, target: float, limit: Estimate | None = None
) -> str:
    """Return the floors of the classifiers, and the signal needed; ``limit`` is its own floor."""
    floors = {} if limit is None else {architecture.name: limit}
    for name, other in ARCHITECTURES.items():
        if name not in (architecture.name, "vectorized"):
            floors[name] = floor(other, case)
    bayes = least_possible(case.problem, case.metric)
    best = [name for name, least in floors.items() if bayes is not None and _same(least, bayes)]
    hints = [
        f"{name} {'reaches' if least < target else 'has the floor'} {least:.3g}"
        for name, least in floors.items()
        if name not in (architecture.name, *best)
    ]
    if bayes is not None:
        also = f" ({' and '.join(best)} reach{'es' if len(best) == 1 else ''} it)" if best else ""
        hints.append(f"no classifier gets below the Bayes floor {bayes:.3g}{also}")
        several = isinstance(case.problem, Population)
        needs = "all strengths multiplied by more than" if several else "a signal above"
        with contextlib.suppress(ValueError):  # no signal does, as with wrong labels
            signal = required_signal(
                case.problem, architecture.oracle, error=target, n_points=_HINT_POINTS
            )
            digits = 3 if signal.uncertainty < 1e-3 * signal else 2
            hints.append(f"{architecture.name} needs {needs} {signal:.{digits}g}")
    return ", ".join(hints)


def _same(reached: Estimate, least: Estimate) -> bool:
    """Whether a floor is the least possible error, as far as their numerical errors can tell."""
    return reached - least <= 3.0 * math.hypot(reached.uncertainty, least.uncertainty)
