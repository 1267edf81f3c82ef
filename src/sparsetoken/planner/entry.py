"""``sparsetoken.plan``: how many samples, how to use them, and when no number will do."""

from collections.abc import Sequence
from typing import Any

from sparsetoken._validation import check_choice
from sparsetoken.planner.architectures import ARCHITECTURES
from sparsetoken.planner.floors import UnreachableError
from sparsetoken.planner.progress import Progress
from sparsetoken.planner.record import Plan
from sparsetoken.planner.request import MODELS, Request, make_request
from sparsetoken.planner.solve import Solution, solve

__all__ = ["make_plan"]


def make_plan(*, model: str, metric: str, **quantities: Any) -> Plan:
    """Check the arguments and solve; see :class:`sparsetoken.planner.Planner`."""
    check_choice("model", model, MODELS)
    request = make_request(metric, **quantities)
    progress = Progress()
    try:
        name, solution = _best(request, [model] if model != "best" else [*ARCHITECTURES], progress)
    finally:
        progress.close()
    return Plan(name, quantities["error"], solution)


def _best(request: Request, models: Sequence[str], progress: Progress) -> tuple[str, Solution]:
    """Return the model that does best and its solution; a failure of all names each reason."""
    found: dict[str, Solution] = {}
    failures = []
    for name in models:
        try:
            found[name] = solve(ARCHITECTURES[name], request, progress)
        except UnreachableError as failure:
            failures.append(str(failure))
    if not found:
        raise UnreachableError("; ".join(failures))
    return min(found.items(), key=lambda item: _cost(item[1]))


def _cost(solution: Solution) -> tuple[int, float]:
    """Return what the best of several models has the least of.

    A boundary below which the target is met is best far up, one above which it is met far down. Of
    two models with boundaries of either kind (possible for the positive rate), the one that meets
    the target at equal shares is better.
    """
    request = solution.request
    if request.unknown == "error":
        return (0, solution.expected.value)
    value = getattr(request, request.unknown)
    return (1, -value) if solution.met_when == "below" else (0, value)
