"""What no number of samples improves, and how to say that a request cannot be met."""

import math

from sparsetoken.planner.architectures import ARCHITECTURES, Architecture
from sparsetoken.planner.case import Case
from sparsetoken.planner.finite import shortfall
from sparsetoken.planner.request import Request
from sparsetoken.theory import oracle_error, required_signal

__all__ = ["UnreachableError", "bayes_floor", "floor", "why_unreachable"]


class UnreachableError(ValueError):
    """No value of the quantity asked for meets the target; the message says why."""


def floor(architecture: Architecture, request: Request) -> float:
    """Return the least error, or 1 − AUC, of the trained classifier at any number of samples.

    It is the prediction at infinitely many samples per dimension with the best choices there.
    """
    case = Case(request.problem, math.inf, math.inf)
    choice = architecture.first_choice(case, request.metric)
    return shortfall(architecture.limit(case, choice), request.metric)


def bayes_floor(request: Request) -> float:
    """Return the least error of any classifier whatever."""
    return float(oracle_error(request.problem, "bayes"))


def why_unreachable(
    architecture: Architecture,
    request: Request,
    met: bool,
    excess: float | None,
    limit: float | None = None,
) -> str:
    """Return the reason, and what would help.

    ``met`` says that the search ended because the target is met even at the hardest value; else
    ``excess`` is the logarithmic distance to the target at the easiest value, and ``limit`` the
    floor where it is known to be above the target.
    """
    name, unknown = architecture.name, request.unknown
    wanted = _wanted(request)
    value = getattr(request, unknown)
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
        if unknown in ("signal", "n_tokens", "n_signal", "positive_rate"):
            reason += (
                f" with n_samples={request.n_samples:g} and dim={request.dim:g}; "
                "more samples would help"
            )
    return f"{reason}; {_what_would_help(architecture, request)}"


def _wanted(request: Request) -> str:
    name = "error" if request.metric == "error" else "error (1 − AUC)"
    return f"{name}={request.error:g}"


def _what_would_help(architecture: Architecture, request: Request) -> str:
    hints = []
    others = {
        name: floor(other, request)
        for name, other in ARCHITECTURES.items()
        if name != architecture.name and name != "vectorized"
    }
    for name, reached in others.items():
        verb = "reaches" if reached < request.error else "has the floor"
        hints.append(f"{name} {verb} {reached:.3g}")
    if request.metric == "error":
        bayes = bayes_floor(request)
        hints.append(f"no classifier gets below the Bayes floor {bayes:.3g}")
        signal = required_signal(request.problem, architecture.name, error=request.error)
        hints.append(f"{architecture.name} needs a signal above {signal:.3g}")
    return ", ".join(hints)
