"""``plan.test_size``: how many samples to test with, for an interval of a given width."""

import math
from bisect import bisect_left
from dataclasses import asdict, dataclass
from typing import Any

from scipy.special import ndtri

from sparsetoken._validation import check_choice, check_real
from sparsetoken.planner.metric import DEFAULT_FPR
from sparsetoken.planner.result import PlanResult, Sections

_NAMES = {"error": "an error", "accuracy": "an accuracy", "auc": "an AUC", "recall": "a recall"}
_FEWEST_ALARMS = 5.0  # of negatives: fewer do not place the threshold of a recall
_FEWEST_OF_A_CLASS = 10  # where an interval is a normal one
_MOST_ALIKE = 0.99  # correlation of two classifiers: beyond, there is no difference to measure
_MOST = 10**12
_INSIDE = (1e-6, 1.0 - 1e-6)


@dataclass(frozen=True, repr=False)
class TestSize(PlanResult):
    """The answer of :meth:`sparsetoken.plan.test_size`."""

    __test__ = False  # not a test, whatever its name
    _drawing = "draw_test_size"

    metric: str
    value: float
    """The performance expected."""
    other: float | None
    """That of a second classifier on the same samples, if two are compared."""
    correlation: float
    """Between the two estimates."""
    target: float
    """The width asked for."""
    level: float
    """Of the confidence interval."""
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
        """Width of the interval with these samples; at most the one asked for."""
        return self._width(self.n_positive, self.n_negative)

    @property
    def interval(self) -> tuple[float, float]:
        """The interval if the test gives what is expected; of the difference of two if compared."""
        middle = self.value if self.other is None else self.value - self.other
        if self._is_wilson:
            pull = ndtri(0.5 + 0.5 * self.level) ** 2 / self.n_samples
            middle = (self.value + 0.5 * pull) / (1.0 + pull)
        return middle - 0.5 * self.width, middle + 0.5 * self.width

    @property
    def _is_wilson(self) -> bool:
        return self.other is None and self.metric in ("error", "accuracy")

    def _width(self, n_positive: float, n_negative: float) -> float:
        z, n = float(ndtri(0.5 + 0.5 * self.level)), n_positive + n_negative
        variance = self._variance(self.value, n_positive, n_negative)
        if self._is_wilson:  # Wilson (1927)
            return 2.0 * z * math.sqrt(variance + (0.5 * z / n) ** 2) / (1.0 + z**2 / n)
        if self.other is not None:
            second = self._variance(self.other, n_positive, n_negative)
            variance += second - 2.0 * self.correlation * math.sqrt(variance * second)
        return 2.0 * z * math.sqrt(variance)

    def _variance(self, value: float, n_positive: float, n_negative: float) -> float:
        n = n_positive + n_negative
        if self.metric == "auc":  # Newcombe (2006), as used by Riley and others (2021)
            pairs = (1.0 - value) / (2.0 - value) + value / (1.0 + value)
            most = 1.0 + (0.5 * n - 1.0) * pairs
            return value * (1.0 - value) * most / (n_positive * n_negative)
        if self.metric == "recall":
            # The threshold is a quantile of the negatives; moving it moves the recall by the ratio
            # of the densities there, those of Gaussian scores of equal spread.
            ratio = math.exp(0.5 * (float(ndtri(self.fpr)) ** 2 - float(ndtri(value)) ** 2))
            by_threshold = ratio**2 * self.fpr * (1.0 - self.fpr) / n_negative
            return value * (1.0 - value) / n_positive + by_threshold
        return value * (1.0 - value) / n

    @property
    def answer(self) -> str:
        """The plan in one sentence."""
        return (
            f"{self.n_samples} test samples, {self.n_positive} positive and {self.n_negative} "
            f"negative, give {self._subject} a {self.level:.0%} interval of width {self.target:g}."
        )

    @property
    def _subject(self) -> str:
        name, at = _NAMES[self.metric], ""
        if self.metric == "recall":
            at = f" at {self.fpr:g} false positives"
        if self.other is None:
            return f"{name} of {self.value:g}{at}"
        return (
            "the difference between two classifiers on the same samples, "
            f"{name.partition(' ')[2]} {self.value:g} and {self.other:g}{at},"
        )

    def _rows(self) -> list[tuple[int, float]]:
        """Return the width that fewer and more samples give."""
        return [
            (round(f * self.n_samples), self._width(f * self.n_positive, f * self.n_negative))
            for f in (0.25, 0.5, 1.0, 2.0, 4.0)
        ]

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain data, ready for JSON."""
        sizes, widths = zip(*self._rows(), strict=True)
        return {
            **{name: getattr(self, name) for name in ("answer", "n_samples", "width")},
            **asdict(self),
            "interval": list(self.interval),
            "curve": {"n_samples": list(sizes), "width": list(widths)},
        }

    def _sections(self) -> Sections:
        assumptions = ["The test samples are independent and were not trained on."]
        basis = "The interval is Wilson's."
        if self.other is not None:
            assumptions.append(
                f"The estimates of the two classifiers have a correlation of {self.correlation:g}."
            )
            basis = "The interval of the difference is the normal one."
        sources = {
            "auc": "The variance of the AUC is by Newcombe (2006), as in Riley and others (2021).",
            "recall": "The threshold is a quantile of the tested negatives, with its noise; "
            "scores are taken as Gaussian, of equal spread.",
        }
        rows = [(str(n), f"{width:.3f}") for n, width in self._rows()]
        return Sections(
            f"How many test samples give {self._subject} a {self.level:.0%} confidence interval of "
            f"width {self.target:g}?",
            assumptions,
            ["As expected, the interval is {:.3f} to {:.3f}.".format(*self.interval)],
            [sources.get(self.metric, basis)],
            {f"Width of the {self.level:.0%} interval": [("samples", "width"), *rows]},
        )


def plan_test_size(
    metric: str = "accuracy",
    *,
    value: float,
    width: float,
    fpr: float = DEFAULT_FPR,
    positive_rate: float = 0.5,
    other: float | None = None,
    correlation: float = 0.5,
    level: float = 0.95,
) -> TestSize:
    """Plan the number of test samples.

    Parameters
    ----------
    metric : {"accuracy", "error", "auc", "recall"}, default="accuracy"
        What is measured.
    value : float
        The value expected, in (0, 1).
    width : float
        Width of the confidence interval, from end to end.
    fpr : float, default=0.01
        The false-positive rate of the recall. Its threshold is taken from the same negatives.
    positive_rate : float, default=0.5
        Fraction of positives among the test samples.
    other : float, optional
        The value expected of a second classifier on the same samples. The interval is then that of
        the difference.
    correlation : float, default=0.5
        Between the estimates of the two classifiers, at most 0.99: 0.5 is moderate, classifiers
        that make mostly the same mistakes have more.
    level : float, default=0.95
        Of confidence.

    Returns
    -------
    TestSize
        With ``n_samples``, ``n_positive``, ``n_negative``, ``interval``, ``summary``, ``plot`` and
        ``report``.

    Examples
    --------
    >>> import sparsetoken as st
    >>> st.plan.test_size("auc", value=0.8, width=0.1)
    TestSize(302 test samples, 151 positive and 151 negative, give an AUC of 0.8 a 95% interval of
    width 0.1.)
    >>> st.plan.test_size(metric="recall", fpr=0.01, value=0.8, width=0.1).n_negative
    1925
    """
    check_choice("metric", metric, _NAMES)
    value = check_real("value", value, *_INSIDE)
    width = check_real("width", width, low=0.0, high=1.0, above=True)
    rate = check_real("positive_rate", positive_rate, *_INSIDE)
    other = None if other is None else check_real("other", other, *_INSIDE)
    correlation = check_real("correlation", correlation, low=-1.0, high=_MOST_ALIKE)
    level, fpr = check_real("level", level, *_INSIDE), check_real("fpr", fpr, *_INSIDE)

    def at(n: int) -> TestSize:
        positive = min(max(round(rate * n), 1), n - 1)
        fixed = (metric, value, other, correlation, width, level, rate, fpr)
        return TestSize(*fixed, positive, n - positive)

    least = 2
    if other is not None or metric == "auc":
        least = math.ceil(_FEWEST_OF_A_CLASS / min(rate, 1.0 - rate))
    if metric == "recall":
        least = max(least, math.ceil(_FEWEST_ALARMS / (fpr * (1.0 - rate))))
    n = bisect_left(range(_MOST), True, least, key=lambda n: at(n).width <= width)
    if n == _MOST:
        raise ValueError(f"width must be larger: {_MOST:g} samples do not give {width:g}")
    return at(n)
