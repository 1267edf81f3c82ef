"""What is asked of the planner: all quantities but one, checked."""

import math
from dataclasses import dataclass, replace
from typing import Any

from sparsetoken._validation import check_choice, check_count, check_real
from sparsetoken.planner.architectures import ARCHITECTURES
from sparsetoken.planner.case import Case
from sparsetoken.problem import SparseTokenProblem

__all__ = [
    "FEWEST_OF_A_CLASS",
    "METRICS",
    "MODELS",
    "QUANTITIES",
    "Request",
    "fewest_samples",
    "make_request",
]

QUANTITIES = (
    "n_samples",
    "dim",
    "n_tokens",
    "n_signal",
    "signal",
    "positive_rate",
    "error",
)
"""What a plan consists of; one of them is solved for."""
MODELS = (*ARCHITECTURES, "best")
METRICS = ("error", "auc")


@dataclass(frozen=True)
class Request:
    """The quantities of a plan; the one to solve for holds a value to start from."""

    n_samples: float
    dim: float
    n_tokens: int
    n_signal: int
    signal: float
    positive_rate: float
    error: float
    unknown: str
    metric: str

    @property
    def problem(self) -> SparseTokenProblem:
        """The statistical model."""
        return SparseTokenProblem(self.n_tokens, self.n_signal, self.signal, self.positive_rate)

    @property
    def case(self) -> Case:
        """What the theory needs to know."""
        return Case(self.problem, self.n_samples, self.dim)

    def at(self, value: Any) -> "Request":
        """Return the request with the unknown quantity at ``value``."""
        return self.moved(self.unknown, value)

    def moved(self, name: str, value: Any) -> "Request":
        """Return the request with some quantity at ``value``."""
        changed: dict[str, Any] = {name: value}
        return replace(self, **changed)


def make_request(metric: str, **given: Any) -> Request:
    """Check the quantities, exactly one of which is None, and fill that one provisionally."""
    check_choice("metric", metric, METRICS)
    missing = [name for name in QUANTITIES if given[name] is None]
    if len(missing) != 1:
        listed = ", ".join(missing) if missing else "none"
        raise ValueError(
            f"exactly one of {', '.join(QUANTITIES)} must be None, the one to solve for; "
            f"got {listed}"
        )
    unknown = missing[0]
    values = dict(given)
    for name in ("n_samples", "dim", "n_tokens", "n_signal"):
        if values[name] is not None:
            values[name] = check_count(name, values[name])
    if values["signal"] is not None:
        values["signal"] = check_real("signal", values["signal"], low=0.0, above=True)
    if values["positive_rate"] is not None:
        rate = check_real("positive_rate", values["positive_rate"], low=1e-4, high=1.0 - 1e-4)
        values["positive_rate"] = rate
    if unknown != "n_tokens" and unknown != "n_signal":
        check_count("n_signal", values["n_signal"], maximum=values["n_tokens"])
    _check_samples(values)
    _check_error(values, metric)
    values[unknown] = _start(unknown, values)
    return Request(**values, unknown=unknown, metric=metric)


FEWEST_OF_A_CLASS = 10


def fewest_samples(positive_rate: float) -> int:
    """Return the fewest samples planned for: ten of the rarer class, on average.

    What chance does to fewer is beyond the leading order that a plan averages over.
    """
    # One part in a million of slack: 10/0.1 is 100, whatever the rounding.
    return math.ceil((1.0 - 1e-6) * FEWEST_OF_A_CLASS / min(positive_rate, 1.0 - positive_rate))


def _check_samples(values: dict[str, Any]) -> None:
    if values["n_samples"] is None:
        return
    rate = 0.5 if values["positive_rate"] is None else values["positive_rate"]
    fewest = fewest_samples(rate)
    if values["n_samples"] < fewest:
        raise ValueError(
            f"n_samples must be at least {fewest}, ten of the rarer class at positive_rate={rate:g}"
            f", got {values['n_samples']}; with fewer, chance decides too much"
        )


def _check_error(values: dict[str, Any], metric: str) -> None:
    if values["error"] is None:
        return
    error = check_real("error", values["error"], low=0.0, above=True)
    values["error"] = error
    if metric == "auc":
        if error >= 0.5:
            raise ValueError(
                "error must be below 0.5, that of chance: with metric='auc' it is 1 − AUC, "
                f"so ask for error=0.05 to get an AUC of 0.95; got {error:g}"
            )
        return
    rate = 0.5 if values["positive_rate"] is None else values["positive_rate"]
    chance = min(rate, 1.0 - rate)
    if error >= chance:
        raise ValueError(
            f"error must be below {chance:g}, that of always predicting the commoner class, "
            f"got {error:g}; for rare positives metric='auc' may say more"
        )


def _start(unknown: str, values: dict[str, Any]) -> Any:
    """Return a plausible value to begin the search at."""
    if unknown == "n_samples":
        return max(2.0 * values["dim"], fewest_samples(values["positive_rate"]))
    if unknown == "dim":
        return max(0.5 * values["n_samples"], 1.0)
    if unknown == "n_tokens":
        return min(10 * values["n_signal"], 500)
    if unknown == "n_signal":
        return 1
    return {"signal": 4.0, "positive_rate": 0.5, "error": 0.0}[unknown]
