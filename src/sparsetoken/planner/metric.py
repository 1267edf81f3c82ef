"""What a plan aims at: the test error, the AUC, or the recall at a false-positive rate."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import ndtr, ndtri

from sparsetoken._types import Floats
from sparsetoken._validation import check_choice, check_real
from sparsetoken.estimate import Estimate
from sparsetoken.vocabulary import MEASURED, PARAMETERS

DEFAULT_FPR: float = PARAMETERS["fpr"].default


class Metric(ABC):
    """A measure of performance; a plan is about its ``error``, which should be small.

    That of the AUC and of the recall is what they lack to one.
    """

    name: str
    label: str
    """What the error is called on an axis."""
    pseudo_count = 0.5
    """Tested samples added on either side of a measured error: none wrong is no proof of zero."""

    @abstractmethod
    def error(self, result: Any) -> Estimate:
        """Return the error of what a theory or a trial returned, with its numerical error."""

    @abstractmethod
    def of_gaussians(self, distance: Floats, signal_free: Any, rate: float) -> Floats:
        """Return the error of Gaussian scores of unit spread.

        The rarer class, of this ``rate``, lies ``distance`` above the other, but for a fraction
        ``signal_free`` of it.
        """

    @abstractmethod
    def chance(self, constant: float) -> float:
        """Return the error of chance; ``constant`` is that of always predicting one class."""

    def check(self, target: float, constant: float) -> float:
        """Return a target error, or raise ValueError if chance meets it."""
        chance = self.chance(constant)
        target = check_real("error", target, low=0.0, high=1.0, above=True)
        if target >= chance:
            reason = "that of always predicting the commonest class"
            if self.name != "error":
                reason = f"that of chance: it is {self.label} with metric={self.name!r}"
            raise ValueError(f"error must be below {chance:.3g}, {reason}, got {target:g}")
        return target

    @abstractmethod
    def words(self, error: float) -> str:
        """Return what is reached with this error, in words."""


@dataclass(frozen=True)
class _ErrorRate(Metric):
    name, label = "error", MEASURED["test_error"].label

    def error(self, result: Any) -> Estimate:
        error: Estimate = result.test_error
        return error

    def of_gaussians(self, distance: Floats, signal_free: Any, rate: float) -> Floats:
        """Return the error with the threshold where both classes are equally likely."""
        distance = np.maximum(distance, 1e-6)
        odds = np.log((1.0 - rate - rate * signal_free) / (rate * (1.0 - signal_free)))
        threshold = 0.5 * distance + odds / distance
        missed = (1.0 - signal_free) * ndtr(threshold - distance) + signal_free * ndtr(threshold)
        return rate * missed + (1.0 - rate) * ndtr(-threshold)

    def chance(self, constant: float) -> float:
        return constant

    def words(self, error: float) -> str:
        article = "an" if f"{100.0 * error:.3g}".startswith(("8", "11", "18")) else "a"
        return f"{article} {100.0 * error:.3g} % test error"


@dataclass(frozen=True)
class _Auc(Metric):
    name, label = "auc", f"1 − {MEASURED['auc'].label}"
    pseudo_count = 0.1  # of all pairs

    def error(self, result: Any) -> Estimate:
        return _lacking(result.auc)

    def of_gaussians(self, distance: Floats, signal_free: Any, rate: float) -> Floats:
        return 1.0 - (1.0 - signal_free) * ndtr(distance / np.sqrt(2.0)) - 0.5 * signal_free

    def chance(self, constant: float) -> float:
        return 0.5

    def words(self, error: float) -> str:
        return f"an AUC of {1.0 - error:.4g}"


@dataclass(frozen=True)
class _Recall(Metric):
    fpr: float
    name, label = "recall", f"1 − {MEASURED['recall'].label}"

    def error(self, result: Any) -> Estimate:
        return _lacking(result.recall(self.fpr))

    def of_gaussians(self, distance: Floats, signal_free: Any, rate: float) -> Floats:
        found = ndtr(distance + ndtri(self.fpr))  # the negatives set the threshold
        return 1.0 - (1.0 - signal_free) * found - signal_free * self.fpr

    def chance(self, constant: float) -> float:
        return 1.0 - self.fpr  # random alarms miss the others

    def words(self, error: float) -> str:
        return f"a recall of {1.0 - error:.4g} at {100.0 * self.fpr:.3g} % false positives"


def _lacking(value: float) -> Estimate:
    """Return what a value lacks to one; a trial's has no numerical error."""
    return Estimate(1.0 - value, getattr(value, "uncertainty", 0.0))


def get_metric(name: str, fpr: float = DEFAULT_FPR) -> Metric:
    """Return the metric of this name; ``fpr`` is the false-positive rate of a recall."""
    check_choice("metric", name, ("error", "auc", "recall"))
    if name == "recall":
        return _Recall(PARAMETERS["fpr"].check(fpr))
    return _ErrorRate() if name == "error" else _Auc()
