"""A readout of all tokens in a row."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from sparsetoken.models.base import Draw
from sparsetoken.models.readout import ReadoutModel, TrainingSet
from sparsetoken.performance import Performance
from sparsetoken.problem import Problem
from sparsetoken.sampling.vectorized import sample_vectorized, vectorized_performance


class Vectorized(ReadoutModel):
    """A linear readout of all tokens in a row: a weight for each place and feature."""

    name = architecture = "vectorized"
    estimator = "VectorizedClassifier"

    def check(
        self, problem: Problem, values: Mapping[str, Any], quantities: frozenset[str]
    ) -> None:
        """Refuse sequences of several lengths, and runs, which are rare at the ends."""
        if any(kind.contiguous for kind in problem.kinds):
            raise ValueError("contiguous: model 'vectorized' knows signals at any places only")
        problem.only_length("model 'vectorized' needs")

    def draw_training(self, draw: Draw, query: Any) -> TrainingSet:
        """Draw reduced features; the signal is spread evenly over the tokens."""
        (n_tokens,) = draw.problem.lengths
        features, y = sample_vectorized(draw.problem, draw.n_samples, draw.dim, draw.rng)
        along = np.arange(features.shape[1]) // n_tokens == np.arange(draw.problem.n_kinds)[:, None]
        return TrainingSet(features, 2.0 * y - 1.0, along / math.sqrt(n_tokens))

    def judge(self, draw: Draw, training: TrainingSet) -> Performance:
        """Return the readout's performance, averaged over the places of the signal."""
        coef, intercept = training.readout
        loss = draw.settings["loss"]
        return vectorized_performance(draw.problem, coef, intercept, draw.rng, loss=loss)
