"""What a plan aims at: the test error, the AUC, or the recall at a false-positive rate."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import ndtr, ndtri

from sparsetoken._types import Floats
from sparsetoken._validation import check_choice, check_real
from sparsetoken.estimate import Estimate
from sparsetoken.performance import Performance
from sparsetoken.problem import Problem
from sparsetoken.theory import oracle_error
from sparsetoken.theory.learning.optimal import LearningSolution
from sparsetoken.vocabulary import MEASURED, PARAMETERS

DEFAULT_FPR: float = PARAMETERS["fpr"].default


class Metric(ABC):
    """A measure of performance; a plan is about its ``shortfall``, which should be small.

    That of the AUC and of the recall is what they lack to one.
    """

    name: str
    goal: str
    """What is reached, as in "reaches an AUC of"."""
    label: str
    """What the shortfall is called on an axis."""
    unseen = 0.5
    """Samples that a measured shortfall may have missed, next to those that it counted."""

    @abstractmethod
    def shortfall(self, result: Performance | LearningSolution) -> Estimate:
        """Return what should be small, with its numerical error."""

    @abstractmethod
    def of_gaussians(self, distance: Floats, silent: Any, rate: float) -> Floats:
        """Return the shortfall of Gaussian scores of unit spread.

        The rarer class, of this ``rate``, lies ``distance`` above the other, but for a fraction
        ``silent`` of it.
        """

    @abstractmethod
    def chance(self, positive_rate: float) -> float:
        """Return the shortfall of a classifier that has learned nothing."""

    @property
    def needs_bias(self) -> bool:
        """Whether the trained bias matters: always predicting one class can then do well."""
        return self.name == "error"

    def bayes(self, problem: Problem) -> Estimate | None:
        """Return the least shortfall of any classifier whatever, if the theory knows it."""
        return oracle_error(problem, "bayes") if self.name == "error" else None

    def check(self, error: float, chance: float) -> float:
        """Return a target shortfall, or raise ValueError if ``chance`` meets it."""
        error = check_real("error", error, low=0.0, high=1.0, above=True)
        if error >= chance:
            reason = "that of always predicting the commonest class"
            if self.name != "error":
                reason = f"that of chance: it is {self.label} with metric={self.name!r}"
            raise ValueError(f"error must be below {chance:.3g}, {reason}, got {error:g}")
        return error

    def reached(self, shortfall: float) -> str:
        """Return what is reached, in words."""
        return f"{self.goal} of {shortfall if self.name == 'error' else 1.0 - shortfall:.4g}"


@dataclass(frozen=True)
class TestError(Metric):
    """The test error."""

    __test__ = False  # not a test, whatever its name
    name, goal, label = "error", "an error", MEASURED["test_error"].label

    def shortfall(self, result: Performance | LearningSolution) -> Estimate:
        """Return the test error."""
        return result.test_error

    def of_gaussians(self, distance: Floats, silent: Any, rate: float) -> Floats:
        """Return the error with the threshold where both classes are equally likely."""
        distance = np.maximum(distance, 1e-6)
        odds = np.log((1.0 - rate - rate * silent) / (rate * (1.0 - silent)))
        threshold = 0.5 * distance + odds / distance
        missed = (1.0 - silent) * ndtr(threshold - distance) + silent * ndtr(threshold)
        return rate * missed + (1.0 - rate) * ndtr(-threshold)

    def chance(self, positive_rate: float) -> float:
        """Return the error of always predicting the commoner class."""
        return min(positive_rate, 1.0 - positive_rate)


@dataclass(frozen=True)
class Auc(Metric):
    """The area under the ROC curve: how well the scores rank positives above negatives."""

    name, goal, label = "auc", "an AUC", f"1 − {MEASURED['auc'].label}"
    unseen = 0.1  # of all pairs

    def shortfall(self, result: Performance | LearningSolution) -> Estimate:
        """Return 1 − AUC."""
        return Estimate(1.0 - result.auc, result.auc.uncertainty)

    def of_gaussians(self, distance: Floats, silent: Any, rate: float) -> Floats:
        """Return the probability that a negative scores above a positive."""
        return 1.0 - (1.0 - silent) * ndtr(distance / np.sqrt(2.0)) - 0.5 * silent

    def chance(self, positive_rate: float) -> float:
        """Return one half."""
        return 0.5


@dataclass(frozen=True)
class Recall(Metric):
    """The fraction of positives found at a fixed false-positive rate."""

    fpr: float
    name, goal, label = "recall", "a recall", f"1 − {MEASURED['recall'].label}"

    def shortfall(self, result: Performance | LearningSolution) -> Estimate:
        """Return 1 − recall."""
        recall = result.recall(self.fpr)
        return Estimate(1.0 - recall, recall.uncertainty)

    def of_gaussians(self, distance: Floats, silent: Any, rate: float) -> Floats:
        """Return the fraction of positives below the threshold that the rate ``fpr`` sets."""
        heard = ndtr(distance + ndtri(self.fpr))
        return 1.0 - (1.0 - silent) * heard - silent * self.fpr

    def chance(self, positive_rate: float) -> float:
        """Return what random alarms miss."""
        return 1.0 - self.fpr

    def reached(self, shortfall: float) -> str:
        """Return what is reached, in words."""
        return f"{super().reached(shortfall)} at {self.fpr:.3g} false positives"


def get_metric(name: str, fpr: float = DEFAULT_FPR) -> Metric:
    """Return the metric of this name."""
    check_choice("metric", name, ("error", "auc", "recall"))
    if name == "recall":
        return Recall(PARAMETERS["fpr"].check(fpr))
    return TestError() if name == "error" else Auc()
