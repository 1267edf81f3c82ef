from .pilot import PilotPlan
from .planner import Plan, PlanCurve, Planner, plan
from .solve import UnreachableError
from .testing import TestSetPlan

__all__ = [
    "PilotPlan",
    "Plan",
    "PlanCurve",
    "Planner",
    "TestSetPlan",
    "UnreachableError",
    "plan",
]
