"""Exact high-dimensional theory of sparse-token classification."""

import warnings
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


_FORMER = {"risk_curve": "risk", "two_step_curve": "two_step_risk", "optimal_curve": "optimal"}


def __getattr__(name: str) -> Any:
    """Return a function that had another name in 0.3 and took sequences of alphas only."""
    if name not in _FORMER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    instead = _FORMER[name]

    def curve(*arguments: Any, **options: Any) -> Any:
        message = f"{name} goes in 0.6: {instead} takes a sequence of alphas as well as a number"
        warnings.warn(message, FutureWarning, stacklevel=2)
        renamed = {key.replace("alphas", "alpha"): value for key, value in options.items()}
        return globals()[instead](*arguments, **renamed)

    return curve


def __dir__() -> list[str]:
    return sorted(__all__)
