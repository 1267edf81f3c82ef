"""A readout of the mean token."""

import math
from typing import Any

import numpy as np

from sparsetoken._types import Array
from sparsetoken.estimators.readout import LinearReadout
from sparsetoken.models.base import Draw
from sparsetoken.models.readout import ReadoutModel, ReadoutTrial
from sparsetoken.performance import Performance
from sparsetoken.pooling import Mean
from sparsetoken.problem import Problem
from sparsetoken.sampling import pooled_performance, sample_features


class Pooled(ReadoutModel):
    """A linear readout of the mean token."""

    name = architecture = "pooled"
    estimator = "PooledClassifier"
    drawn_up_to = 60

    def feature_variance(self, problem: Problem) -> float:
        """Return that of a mean token."""
        return math.fsum(group.probability / group.kind.n_tokens for group in problem.groups)

    def draw_training(self, draw: Draw, query: Any) -> tuple[Array, Array]:
        """Draw mean tokens; every direction of the signal is as good as another."""
        zero, directions = np.zeros(draw.dim), np.eye(draw.problem.n_kinds, draw.dim)
        how: Any = {"pooling": Mean(), "random_state": draw.rng}
        return sample_features(draw.problem, draw.n_samples(), zero, directions, **how)

    def judge(self, trial: ReadoutTrial, readout: LinearReadout) -> Performance:
        """Return the readout's performance: its scores are Gaussian."""
        problem, loss = trial.draw.problem, trial.draw.settings["loss"]
        directions = np.eye(problem.n_kinds, trial.draw.dim)
        return pooled_performance(problem, *readout, directions, loss=loss)
