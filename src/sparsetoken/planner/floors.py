"""What no number of samples improves, and how to say that a request cannot be met."""

import math

from sparsetoken.estimate import Estimate
from sparsetoken.planner.architectures import ARCHITECTURES, Architecture
from sparsetoken.planner.request import Request
from sparsetoken.population import Population
from sparsetoken.theory import required_signal


class UnreachableError(ValueError):
    """No value of the quantity asked for meets the target; the message says why."""


def floor(architecture: Architecture, request: Request) -> Estimate:
    """Return the least shortfall of the trained classifier at any number of samples.

    It is the prediction for infinitely many samples per dimension, with the best choices there.
    """
    case = request.case.unlimited
    return case.metric.shortfall(architecture.limit(case, architecture.first_choice(case)))


def why_unreachable(
    architecture: Architecture,
    request: Request,
    met: bool,
    excess: float | None,
    limit: Estimate | None = None,
) -> str:
    """Return the reason, and what would help.

    ``met`` says that the search ended because the target is met even at the hardest value; else
    ``excess`` is the logarithmic distance to the target at the easiest value, and ``limit`` the
    floor where it is known to be above the target.
    """
    name, unknown = architecture.name, request.unknown
    wanted, value = request.metric.asked(request.error), request.value
    if met:
        return (
            f"{wanted} is met by {name} even at {unknown} {value:g}, the hardest tried: "
            "there is no boundary to solve for; ask for a smaller error"
        )
    if limit is not None:
        reason = (
            f"{wanted} cannot be reached by {name}: its floor is {limit:.3g} at any sample size"
        )
    else:
        reached = "" if excess is None else f" (it gets to {request.error * math.exp(excess):.3g})"
        where = f"even at {unknown} {value:g}, the easiest"
        if unknown == "positive_rate":
            where = f"at any positive_rate from {value:.3g} to 0.5"
        reason = f"{wanted} is not reached by {name} {where}{reached}"
        if unknown not in ("n_samples", "dim"):
            reason += (
                f" with n_samples={request.n_samples:g} and dim={request.dim:g}; "
                "more samples would help"
            )
    return "; ".join([reason, ", ".join(_what_would_help(architecture, request, limit))])


def _what_would_help(
    architecture: Architecture, request: Request, limit: Estimate | None
) -> list[str]:
    floors = {} if limit is None else {architecture.name: limit}
    for name, other in ARCHITECTURES.items():
        if name not in (architecture.name, "vectorized"):
            floors[name] = floor(other, request)
    bayes = request.metric.bayes(request.problem)
    best = [name for name, reached in floors.items() if bayes is not None and _same(reached, bayes)]
    hints = [
        f"{name} {'reaches' if reached < request.error else 'has the floor'} {reached:.3g}"
        for name, reached in floors.items()
        if name != architecture.name and name not in best
    ]
    if bayes is not None:
        also = f" ({' and '.join(best)} reach{'es' if len(best) == 1 else ''} it)" if best else ""
        hints.append(f"no classifier gets below the Bayes floor {bayes:.3g}{also}")
        hints += _needed_signal(architecture, request)
    return hints


def _needed_signal(architecture: Architecture, request: Request) -> list[str]:
    """Return what signal would do; nothing if none does, as with wrong labels."""
    try:
        signal = required_signal(request.problem, architecture.oracle, error=request.error)
    except ValueError:
        return []
    if isinstance(request.problem, Population):
        return [f"{architecture.name} needs all strengths multiplied by more than {signal:.3g}"]
    return [f"{architecture.name} needs a signal above {signal:.3g}"]


def _same(reached: Estimate, least: Estimate) -> bool:
    """Whether a floor is the least possible error, as far as their numerical errors can tell."""
    return reached - least <= 3.0 * math.hypot(reached.uncertainty, least.uncertainty)
