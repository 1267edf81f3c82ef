from .answer import Plan, PlanCurve
from .pilot import PilotPlan
from .planner import Planner, plan
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
