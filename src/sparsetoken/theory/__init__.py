"""Exact high-dimensional theory of sparse-token classification."""

from typing import Any

from sparsetoken.estimate import ConvergenceWarning, Estimate
from sparsetoken.performance import Performance
from sparsetoken.theory.learning.optimal import Optimal, optimal
from sparsetoken.theory.learning.thresholds import LearningThresholds, learning_thresholds
from sparsetoken.theory.open.joint import JointRisk, joint_risk
from sparsetoken.theory.open.training import Training, training
from sparsetoken.theory.oracle import oracle_error, required_signal
from sparsetoken.theory.readout.risk import risk, two_step_risk
from sparsetoken.theory.readout.trained import Risk
from sparsetoken.theory.separation import capacity
from sparsetoken.theory.two_steps import Alignment, alignment, best_bias_rate

__all__ = [
    "Alignment",
    "ConvergenceWarning",
    "Estimate",
    "JointRisk",
    "LearningThresholds",
    "Optimal",
    "Performance",
    "Risk",
    "Training",
    "alignment",
    "best_bias_rate",
    "capacity",
    "joint_risk",
    "learning_thresholds",
    "optimal",
    "oracle_error",
    "required_signal",
    "risk",
    "training",
    "two_step_risk",
]


def __getattr__(name: str) -> Any:
    """Return what had another name in an earlier version."""
    if name in ("risk_curve", "two_step_curve", "optimal_curve"):
        from sparsetoken.theory import former

        return getattr(former, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
