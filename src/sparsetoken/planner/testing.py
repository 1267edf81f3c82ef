"""``plan.test_size``: how many samples to test with, for an interval or for a test."""

import math
from bisect import bisect_left
from dataclasses import asdict, dataclass, replace
from statistics import NormalDist
from typing import Any

from sparsetoken._validation import check_choice, check_real
from sparsetoken.planner.words import PlanResult, Sections
from sparsetoken.vocabulary import PARAMETERS

_METRICS = {"error": "an error", "accuracy": "an accuracy", "auc": "an AUC", "recall": "a recall"}
_SOURCES = {
    "auc": "The variance of the AUC is by Newcombe (2006), as in Riley and others (2021).",
    "recall": "The threshold is a quantile of the tested negatives, with its noise; scores are "
    "taken as Gaussian, of equal spread.",
}
_FEWEST_ALARMS = 5.0  # of negatives: fewer do not place the threshold of a recall
_FEWEST_OF_A_CLASS = 10  # where an interval is a normal one
_MOST = 10**12
_INSIDE = (1e-6, 1.0 - 1e-6)
_NORMAL = NormalDist()  # without numerics: the command line answers at once


@dataclass(frozen=True, repr=False)
class TestSetPlan(PlanResult):
    """The answer of ``st.plan.test_size``."""

    _drawing = "draw_test_size"

    metric: str
    value: float
    """The performance expected."""
    null: float | None
    """The performance that the expected one is to be told from, if a test is planned."""
    target: float
    """The width of the interval, or the power of the test, that was asked for."""
    level: float
    """Of confidence; that of a test is one minus this."""
    positive_rate: float
    fpr: float
    n_positive: int
    n_negative: int

    @property
    def n_samples(self) -> int:
        """Number of test samples."""
        return self.n_positive + self.n_negative

    @property
    def width(self) -> float:
        """Width of the interval with these samples."""
        return 2.0 * self._middle_and_half[1]

    @property
    def interval(self) -> tuple[float, float]:
        """The interval if the test gives what is expected; what is beyond 0 or 1 is cut off."""
        middle, half = self._middle_and_half
        return max(middle - half, 0.0), min(middle + half, 1.0)

    @property
    def _middle_and_half(self) -> tuple[float, float]:
        """Middle of the interval, and half its width."""
        value, n, z, variance = self.value, self.n_samples, self._z, self._variance(self.value)
        if self.metric in ("auc", "recall"):
            return value, z * math.sqrt(variance)
        scale = 1.0 + z**2 / n  # Wilson (1927)
        half = z * math.sqrt(variance + (0.5 * z / n) ** 2) / scale
        return (value + 0.5 * z**2 / n) / scale, half

    @property
    def power(self) -> float | None:
        """Probability that the test tells the expected value from ``null``; None without one."""
        if self.null is None:
            return None
        of_null, of_value = (math.sqrt(self._variance(v)) for v in (self.null, self.value))
        return _NORMAL.cdf((abs(self.value - self.null) - self._z * of_null) / of_value)

    @property
    def _z(self) -> float:
        return _NORMAL.inv_cdf(0.5 + 0.5 * self.level)

    @property
    def is_enough(self) -> bool:
        """Whether these samples give what was asked for."""
        return self.width <= self.target if self.power is None else self.power >= self.target

    def _variance(self, value: float) -> float:
        n_positive, n_negative, n = self.n_positive, self.n_negative, self.n_samples
        if self.metric == "auc":  # Newcombe (2006), as used by Riley and others (2021)
            pairs = (1.0 - value) / (2.0 - value) + value / (1.0 + value)
            most = 1.0 + (0.5 * n - 1.0) * pairs
            return value * (1.0 - value) * most / (n_positive * n_negative)
        if self.metric == "recall":
            # The threshold is a quantile of the negatives; moving it moves the recall by the ratio
            # of the densities there, those of Gaussian scores of equal spread.
            quantiles = _NORMAL.inv_cdf(self.fpr), _NORMAL.inv_cdf(value)
            ratio = math.exp(0.5 * (quantiles[0] ** 2 - quantiles[1] ** 2))
            by_threshold = ratio**2 * self.fpr * (1.0 - self.fpr) / n_negative
            return value * (1.0 - value) / n_positive + by_threshold
        return value * (1.0 - value) / n

    def around(self) -> tuple[str, list[tuple[int, float]]]:
        """Return what fewer and more samples give: "width" or "power", and it for each number."""
        name, rows = "width" if self.null is None else "power", []
        for factor in (0.25, 0.5, 1.0, 2.0, 4.0):
            counts: Any = {n: factor * getattr(self, n) for n in ("n_positive", "n_negative")}
            rows.append((round(factor * self.n_samples), getattr(replace(self, **counts), name)))
        return name, rows

    @property
    def answer(self) -> str:
        """The plan in one sentence."""
        name, samples = _METRICS[self.metric], f"{self.n_samples} test samples"
        samples += f", {self.n_positive} positive and {self.n_negative} negative,"
        at = f" at {_per_cent(self.fpr)} false positives" if self.metric == "recall" else ""
        if self.null is not None:
            return (
                f"With {samples} a test at the {_per_cent(1.0 - self.level)} level tells {name} of "
                f"{self.value:g}{at} from {self.null:g} with {_per_cent(self.target)} power."
            )
        interval = f"a {_per_cent(self.level)} interval {self.target:g} wide"
        return f"With {samples} {name} of {self.value:g}{at} has {interval}."

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain data, ready for JSON."""
        name, rows = self.around()
        sizes, values = zip(*rows, strict=True)
        return {
            **{name: getattr(self, name) for name in ("answer", "n_samples", "width", "power")},
            **asdict(self),
            "interval": list(self.interval),
            "curve": {"n_samples": list(sizes), name: list(values)},
        }

    def _sections(self) -> Sections:
        low, high = self.interval
        (name, rows), title = self.around(), f"Width of the {_per_cent(self.level)} interval"
        basis = [_SOURCES.get(self.metric, "The interval is Wilson's.")]
        if self.null is not None:
            title = "Power of the test"
            basis.append("The test is two-sided and normal, with the variance of its null value.")
        sure = f"If the test gives this value, the interval is {low:.3f} to {high:.3f}."
        return {
            "Answer": [self.answer, sure],
            "Assumptions": ["The test samples are independent and were not trained on."],
            "What it rests on": basis,
            title: [("samples", name), *((str(n), f"{value:.3f}") for n, value in rows)],
        }


def _per_cent(fraction: float) -> str:
    return f"{100.0 * fraction:.3g} %"


def plan_test_size(
    metric: str = "accuracy",
    *,
    value: float,
    width: float | None = None,
    null: float | None = None,
    power: float = 0.9,
    fpr: float = PARAMETERS["fpr"].default,
    positive_rate: float = 0.5,
    level: float = 0.95,
) -> TestSetPlan:
    """Plan the number of test samples, for an interval of a given width or for a test.

    Parameters
    ----------
    metric : {"accuracy", "error", "auc", "recall"}, default="accuracy"
        What is measured.
    value : float
        The value expected, in (0, 1).
    width : float, optional
        Width of the confidence interval, from end to end. Either this or ``null``.
    null, power : float
        The value that the expected one is to be told from by a two-sided test, and the probability
        that this test succeeds (default 0.9).
    fpr : float, default=0.01
        The false-positive rate of the recall. Its threshold is taken from the same negatives.
    positive_rate : float, default=0.5
        Fraction of positives among the test samples.
    level : float, default=0.95
        Of confidence. A test has the level one minus this.

    Returns
    -------
    TestSetPlan
        With ``n_samples``, ``n_positive``, ``n_negative`` and ``interval``.

    Examples
    --------
    >>> import sparsetoken as st
    >>> st.plan.test_size("auc", value=0.8, width=0.1)
    TestSetPlan(With 302 test samples, 151 positive and 151 negative, an AUC of 0.8 has a 95 %
    interval 0.1 wide)
    >>> st.plan.test_size(metric="recall", fpr=0.01, value=0.8, width=0.1).n_negative
    1925
    >>> st.plan.test_size("auc", value=0.85, null=0.75, power=0.9).n_samples
    212
    """
    check_choice("metric", metric, _METRICS)
    if (width is None) == (null is None):
        given = "neither" if width is None else "both"
        raise ValueError(f"one of width and null must be given, got {given}")
    value = check_real("value", value, *_INSIDE)
    target = check_real("power", power, *_INSIDE)
    if width is not None:
        target = check_real("width", width, low=0.0, high=1.0, above=True)
    if null is not None and check_real("null", null, *_INSIDE) == value:
        raise ValueError(f"null must differ from value, got {null:g} for both")
    rate = check_real("positive_rate", positive_rate, *_INSIDE)
    level, fpr = check_real("level", level, *_INSIDE), check_real("fpr", fpr, *_INSIDE)

    def at(n: int) -> TestSetPlan:
        positive = min(max(round(rate * n), 1), n - 1)
        fixed = (metric, value, null, target, level, rate, fpr)
        return TestSetPlan(*fixed, positive, n - positive)

    least = 2
    if null is not None or metric == "auc":
        least = math.ceil(_FEWEST_OF_A_CLASS / min(rate, 1.0 - rate))
    if metric == "recall":
        least = max(least, math.ceil(_FEWEST_ALARMS / (fpr * (1.0 - rate))))
    n = bisect_left(range(_MOST), True, least, key=lambda n: at(n).is_enough)
    if n == _MOST:
        name, better = ("width", "larger") if null is None else ("value", "further from null")
        raise ValueError(f"{name} must be {better}: {_MOST:g} samples are not enough")
    return at(n)
