"""What is given and what is free in a plan."""

import math
from dataclasses import replace
from typing import NamedTuple

from sparsetoken.problem import SparseTokenProblem

__all__ = ["Case", "Choice"]


class Case(NamedTuple):
    """What is given: the problem, the samples and the dimension; both infinite for the floor."""

    problem: SparseTokenProblem
    n_samples: float
    dim: float

    @property
    def alpha(self) -> float:
        """Samples per dimension."""
        return math.inf if math.isinf(self.n_samples) else self.n_samples / self.dim

    def with_share(self, positives: float) -> "Case":
        """Return the case of a sample with this share of positives."""
        return self._replace(problem=replace(self.problem, positive_rate=positives))


class Choice(NamedTuple):
    """What is free: the share of samples for the query and the sharpness concern attention only."""

    loss: str
    reg: float
    split: float = 0.0
    sharpness: float = 0.0

    def n_readout(self, case: Case) -> float:
        """Return the number of samples left for the readout."""
        return (1.0 - self.split) * case.n_samples
