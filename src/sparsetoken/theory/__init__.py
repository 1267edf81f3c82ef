"""Exact high-dimensional theory of sparse-token classification."""

from sparsetoken.theory.alignment import Alignment, alignment, best_bias_rate
from sparsetoken.theory.capacity import capacity
from sparsetoken.theory.dynamics.record import Training
from sparsetoken.theory.dynamics.train import training
from sparsetoken.theory.joint import JointRisk, joint_risk
from sparsetoken.theory.oracle import oracle_error, required_signal
from sparsetoken.theory.performance import Performance
from sparsetoken.theory.records import ConvergenceWarning, Estimate
from sparsetoken.theory.risk import Risk, risk, risk_curve
from sparsetoken.theory.two_step import two_step_curve, two_step_risk

__all__ = [
    "Alignment",
    "ConvergenceWarning",
    "Estimate",
    "JointRisk",
    "Performance",
    "Risk",
    "Training",
    "alignment",
    "best_bias_rate",
    "capacity",
    "joint_risk",
    "oracle_error",
    "required_signal",
    "risk",
    "risk_curve",
    "training",
    "two_step_curve",
    "two_step_risk",
]
