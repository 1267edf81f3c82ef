"""What a plan aims at: the test error, the AUC, or the recall at a false-positive rate."""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from sparsetoken._validation import check_choice, check_real
from sparsetoken.problem import SparseTokenProblem
from sparsetoken.theory import Estimate, Performance, oracle_error
from sparsetoken.theory.saddle import score_mean

__all__ = ["METRICS", "Auc", "Error", "Metric", "get_metric"]


@dataclass(frozen=True)
class Metric(ABC):
    """A measure of performance; a plan is about its ``shortfall``, which should be small."""

    name = ""
    label = ""
    """What the shortfall is called on an axis."""
    goal = ""
    """What is reached, as in "reaches an AUC of"."""
    needs_bias = False
    """Whether the trained bias matters: always predicting one class can then do well."""

    @abstractmethod
    def shortfall(self, result: Performance) -> float:
        """Return what should be small."""

    @abstractmethod
    def uncertainty(self, result: Performance) -> float:
        """Return the numerical error of the shortfall."""

    def estimate(self, result: Performance) -> Estimate:
        """Return the shortfall with its numerical error."""
        return Estimate(self.shortfall(result), self.uncertainty(result))

    def bayes(self, problem: SparseTokenProblem) -> Estimate | None:
        """Return the least shortfall of any classifier whatever, if the theory knows it."""
        return None

    @abstractmethod
    def chance(self, positive_rate: float) -> float:
        """Return the shortfall of a classifier that has learned nothing."""

    def check(self, error: float, positive_rate: float) -> float:
        """Return a target shortfall, or raise ValueError if chance meets it."""
        error = check_real("error", error, low=0.0, above=True)
        chance = self.chance(positive_rate)
        if error >= chance:
            raise ValueError(f"error must be below {chance:g}, {self._why(error)}")
        return error

    @abstractmethod
    def _why(self, error: float) -> str:
        """Return why chance meets a target."""

    def asked(self, error: float) -> str:
        """Return a target as the arguments of a plan name it."""
        return f"error ({self.label})={error:g}"

    def reached(self, shortfall: float) -> str:
        """Return what is reached: "an AUC of 0.95"."""
        return f"{self.goal} of {1.0 - shortfall:.4g}"


class Error(Metric):
    """The test error."""

    name, label, goal, needs_bias = "error", "test error", "an error", True

    def shortfall(self, result: Performance) -> float:
        """Return the test error."""
        return result.test_error

    def uncertainty(self, result: Performance) -> float:
        """Return the numerical error of the test error."""
        return result.uncertainty

    def bayes(self, problem: SparseTokenProblem) -> Estimate:
        """Return the error of the best classifier that knows the signal."""
        return oracle_error(problem, "bayes")

    def chance(self, positive_rate: float) -> float:
        """Return the error of always predicting the commoner class."""
        return min(positive_rate, 1.0 - positive_rate)

    def asked(self, error: float) -> str:
        """Return a target as the arguments of a plan name it."""
        return f"error={error:g}"

    def reached(self, shortfall: float) -> str:
        """Return what is reached."""
        return f"{self.goal} of {shortfall:.4g}"

    def _why(self, error: float) -> str:
        return (
            f"that of always predicting the commoner class, got {error:g}; "
            "for rare positives metric='auc' may say more"
        )


class Auc(Metric):
    """The area under the ROC curve: how well the scores rank positives above negatives."""

    name, label, goal = "auc", "1 − AUC", "an AUC"

    def shortfall(self, result: Performance) -> float:
        """Return 1 − AUC."""
        return 1.0 - result.auc

    def uncertainty(self, result: Performance) -> float:
        """Return the numerical error of the AUC."""
        return _auc_error(result)

    def chance(self, positive_rate: float) -> float:
        """Return one half."""
        return 0.5

    def _why(self, error: float) -> str:
        return (
            "that of chance: with metric='auc' it is 1 − AUC, so ask for error=0.05 to get an AUC "
            f"of 0.95; got {error:g}"
        )


def _auc_error(result: Performance) -> float:
    # The batches of points are independent: how their AUCs scatter says how far the mean is off.
    points, batches = result.law.points, result.law.batches
    if batches == 1:
        return result.uncertainty
    mean = score_mean(points, result.readout).reshape(2, batches, -1)
    deviation = (points.scale * result.readout.norm_rest).reshape(2, batches, -1)
    noise = np.random.default_rng(0).standard_normal((8, *mean.shape))
    scores = (mean + deviation * noise).transpose(1, 2, 0, 3).reshape(2, batches, -1)
    areas = []
    for positive, negative in zip(*scores, strict=True):
        below = np.searchsorted(np.sort(negative), positive)
        areas.append(float(below.mean()) / negative.size)
    return float(np.std(areas, ddof=1)) / math.sqrt(batches)


METRICS: dict[str, type[Metric]] = {metric.name: metric for metric in (Error, Auc)}


def get_metric(name: str) -> Metric:
    """Return the metric of this name."""
    return METRICS[check_choice("metric", name, METRICS)]()
