from .floors import UnreachableError
from .measured import read_curve
from .pilot import PilotPlan
from .planner import Planner, plan
from .request import QUANTITIES
from .testing import TestSetPlan
from .theory_plan import Plan, PlanCurve

__all__ = [
    "QUANTITIES",
    "PilotPlan",
    "Plan",
    "PlanCurve",
    "Planner",
    "TestSetPlan",
    "UnreachableError",
    "plan",
    "read_curve",
]
