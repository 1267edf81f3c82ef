"""What no number of samples improves, and how to say that a request cannot be met."""

import math

from sparsetoken.estimate import Estimate
from sparsetoken.planner.architectures import ARCHITECTURES, Architecture
from sparsetoken.planner.request import Case, Request
from sparsetoken.population import Population
from sparsetoken.theory import required_signal


class UnreachableError(ValueError):
    """No value of the quantity asked for meets the target; the message says why."""


def floor(architecture: Architecture, case: Case) -> Estimate:
    """Return the least shortfall of the trained classifier at any number of samples.

    It is the prediction for infinitely many samples per dimension, with the best choices there.
    """
    case = case._replace(n_samples=math.inf, dim=math.inf)
    return case.metric.shortfall(architecture.limit(case, architecture.first_choice(case)))


def why_unreachable(
    architecture: Architecture,
    request: Request,
    value: float,
    excess: float | None = None,
    limit: Estimate | None = None,
) -> str:
    """Return the reason, and what would help.

    ``excess`` is the logarithmic distance to the target at the easiest value of the unknown, and
    ``limit`` the floor if that is above the target. Without both, the target is met everywhere.
    """
    name, unknown, case = architecture.name, request.unknown, request.at(value)
    label = "" if request.metric.name == "error" else f" ({request.metric.label})"
    wanted = f"error{label}={request.target:g}"
    if limit is not None:
        reason = (
            f"{wanted} cannot be reached by {name}: its floor is {limit:.3g} at any sample size"
        )
    elif excess is None:
        return (
            f"{wanted} is met by {name} even at {unknown} {value:g}, the hardest tried: "
            "there is no boundary to solve for; ask for a smaller error"
        )
    else:
        where = f"even at {unknown} {value:g}, the easiest"
        if unknown == "positive_rate":
            where = f"at any positive_rate from {value:.3g} to 0.5"
        reached = request.target * math.exp(excess)
        reason = f"{wanted} is not reached by {name} {where} (it gets to {reached:.3g})"
        if unknown not in ("n_samples", "dim"):
            sizes = f"n_samples={case.n_samples:g} and dim={case.dim:g}"
            reason += f" with {sizes}; more samples would help"
    return f"{reason}; {', '.join(_what_would_help(architecture, case, request.target, limit))}"


def _what_would_help(
    architecture: Architecture, case: Case, target: float, limit: Estimate | None
) -> list[str]:
    floors = {} if limit is None else {architecture.name: limit}
    for name, other in ARCHITECTURES.items():
        if name not in (architecture.name, "vectorized"):
            floors[name] = floor(other, case)
    bayes = case.metric.bayes(case.problem)
    best = [name for name, reached in floors.items() if bayes is not None and _same(reached, bayes)]
    hints = [
        f"{name} {'reaches' if reached < target else 'has the floor'} {reached:.3g}"
        for name, reached in floors.items()
        if name not in (architecture.name, *best)
    ]
    if bayes is not None:
        also = f" ({' and '.join(best)} reach{'es' if len(best) == 1 else ''} it)" if best else ""
        hints.append(f"no classifier gets below the Bayes floor {bayes:.3g}{also}")
        try:
            signal = required_signal(case.problem, architecture.oracle, error=target)
        except ValueError:  # no signal does, as with wrong labels
            return hints
        several = isinstance(case.problem, Population)
        needed = "all strengths multiplied by more than" if several else "a signal above"
        hints.append(f"{architecture.name} needs {needed} {signal:.3g}")
    return hints


def _same(reached: Estimate, least: Estimate) -> bool:
    """Whether a floor is the least possible error, as far as their numerical errors can tell."""
    return reached - least <= 3.0 * math.hypot(reached.uncertainty, least.uncertainty)
