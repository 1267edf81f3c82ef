"""A readout of all tokens in a row."""

from collections.abc import Mapping
from typing import Any

from sparsetoken._types import Array
from sparsetoken.estimators.readout import LinearReadout
from sparsetoken.models.base import Draw
from sparsetoken.models.readout import ReadoutModel, ReadoutTrial
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

    def draw_training(self, draw: Draw, query: Any) -> tuple[Array, Array]:
        """Draw reduced features; the signal is spread evenly over the tokens."""
        return sample_vectorized(draw.problem, draw.n_samples(), draw.dim, draw.rng)

    def judge(self, trial: ReadoutTrial, readout: LinearReadout) -> Performance:
        """Return the readout's performance, averaged over the places of the signal."""
        draw, loss = trial.draw, trial.draw.settings["loss"]
        return vectorized_performance(draw.problem, *readout, draw.rng, loss=loss)
