"""Sample-size planning: how many samples, how to use them, and when no number will do."""

from sparsetoken.planner.curve_table import read_curve
from sparsetoken.planner.evaluation_size import TestSize
from sparsetoken.planner.floors import UnreachableError
from sparsetoken.planner.pilot_plan import PilotPlan
from sparsetoken.planner.planner import Planner, plan
from sparsetoken.planner.request import QUANTITIES
from sparsetoken.planner.theory_plan import Plan, PlanCurve

__all__ = [
    "QUANTITIES",
    "PilotPlan",
    "Plan",
    "PlanCurve",
    "Planner",
    "TestSize",
    "UnreachableError",
    "plan",
    "read_curve",
]
