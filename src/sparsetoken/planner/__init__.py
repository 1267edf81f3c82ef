"""Sample-size planning: how many samples, how to use them, and when no number will do."""

from sparsetoken.planner.callable import Planner, plan
from sparsetoken.planner.floors import Unreachable
from sparsetoken.planner.pilot import PilotEstimate, PilotPlan, PilotWarning, estimate_problem
from sparsetoken.planner.record import Curve, Plan

__all__ = [
    "Curve",
    "PilotEstimate",
    "PilotPlan",
    "PilotWarning",
    "Plan",
    "Planner",
    "Unreachable",
    "estimate_problem",
    "plan",
]
