"""What is given and what is free in a plan, and what chance does to a sample of finite size."""

import math
from typing import NamedTuple

from sparsetoken.problem import SparseTokenProblem
from sparsetoken.theory import Performance, Risk

__all__ = ["Case", "Choice", "bias_noise", "shortfall", "under_bias_noise"]


class Case(NamedTuple):
    """What is given: the problem, the samples and the dimension; both infinite for the floor."""

    problem: SparseTokenProblem
    n_samples: float
    dim: float

    @property
    def alpha(self) -> float:
        """Samples per dimension."""
        return math.inf if math.isinf(self.n_samples) else self.n_samples / self.dim


class Choice(NamedTuple):
    """What is free: the share of samples for the query and the sharpness concern attention only."""

    loss: str
    reg: float
    split: float = 0.0
    sharpness: float = 0.0


def shortfall(result: Risk, metric: str) -> float:
    """Return what should be small: the test error, or 1 − AUC."""
    return result.test_error if metric == "error" else 1.0 - result.auc


def under_bias_noise(result: Risk, metric: str, noise: float) -> float:
    """Return the shortfall averaged over a bias off by ``noise`` either way; no AUC sees it."""
    if metric == "auc":
        return shortfall(result, metric)
    moved = (
        Performance(
            result.law,
            result.readout._replace(bias=result.bias + shift),
            result.loss,
            result.moves,
        )
        for shift in (-noise, noise)
    )
    return 0.5 * sum(performance.test_error for performance in moved)


def bias_noise(case: Case, choice: Choice) -> float:
    """Return the standard deviation of the bias due to the sampled share of positives.

    That of a readout whose scores are small, where it matters most: the bias is then
    2π − 1 for the square loss and the log-odds of the share for the logistic one.
    """
    n_samples = (1.0 - choice.split) * case.n_samples
    variance = case.problem.positive_rate * (1.0 - case.problem.positive_rate)
    if choice.loss == "square":
        return 2.0 * math.sqrt(variance / n_samples)
    return 1.0 / math.sqrt(variance * n_samples)
