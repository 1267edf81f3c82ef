"""Sample-size planning: how many samples, how to use them, and when no number will do."""

from sparsetoken.planner.estimation import PilotEstimate, PilotWarning, estimate_problem
from sparsetoken.planner.floors import UnreachableError
from sparsetoken.planner.pilot import PilotPlan
from sparsetoken.planner.planner import Planner, plan
from sparsetoken.planner.record import Curve, Plan
from sparsetoken.planner.request import QUANTITIES

__all__ = [
    "QUANTITIES",
    "Curve",
    "PilotEstimate",
    "PilotPlan",
    "PilotWarning",
    "Plan",
    "Planner",
    "UnreachableError",
    "estimate_problem",
    "plan",
]
