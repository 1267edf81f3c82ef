"""Sample-size planning: how many samples, how to use them, and when no number will do."""

from sparsetoken.planner.callable import Planner, plan
from sparsetoken.planner.floors import Unreachable
from sparsetoken.planner.record import Curve, Plan

__all__ = ["Curve", "Plan", "Planner", "Unreachable", "plan"]
