"""The answer of ``plan.from_pilot`` and ``plan.from_curve``, and words about it."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from sparsetoken._types import Floats
from sparsetoken._validation import check_real
from sparsetoken.planner.curves import CurvePoints, Posterior
from sparsetoken.planner.measured import check_sizes
from sparsetoken.planner.metric import Metric
from sparsetoken.planner.words import PlanResult, Sections, capital

_REACH = 100  # times the pilot: the extrapolation is not asked about larger studies
_LEVELS = (0.1, 0.5, 0.9)
_TESTED = 4.0  # times the pilot: as far as benchmarks compare predictions with what came


class PilotCurve(NamedTuple):
    """Expected error against the number of samples."""

    n_samples: tuple[int, ...]
    lower: tuple[float, ...]
    median: tuple[float, ...]
    upper: tuple[float, ...]


@dataclass(frozen=True, repr=False)
class PilotPlan(PlanResult):
    """The answer of ``st.plan.from_pilot`` and ``st.plan.from_curve``.

    An "error" is what the plan's metric lacks: the test error, 1 − AUC, or 1 − recall.
    """

    _drawing = "draw_pilot"

    target: float
    """The error asked for."""
    aim: Metric
    """What is planned for."""
    posterior: Posterior
    """The learning curves that agree with what was measured."""
    source: str
    """What was extrapolated: "pilot" or "learning curve"."""
    unit: str
    """What is counted: "sequences" or "samples"."""
    classifier: str
    """What the plan is about."""
    method: str
    """How the errors were measured, in a sentence."""

    @property
    def points(self) -> CurvePoints:
        """What was measured."""
        return self.posterior.points

    @property
    def metric(self) -> str:
        """What is planned for: "error", "auc" or "recall"."""
        return self.aim.name

    @property
    def pilot_size(self) -> int:
        """Number of samples in the pilot, or the largest size of the curve."""
        return round(self.points.unit)

    @property
    def farthest(self) -> int:
        """Number of samples beyond which nothing is said."""
        return _REACH * self.pilot_size

    def predict(self, sizes: ArrayLike) -> Floats:
        """Return the expected error after training on each number of samples.

        Parameters
        ----------
        sizes : array-like of shape (k,)
            Numbers of labelled samples.

        Returns
        -------
        ndarray of shape (k, 3)
            The 10 %, 50 % and 90 % points: lower, median and upper. With ``metric="auc"`` they are
            of 1 − AUC, with ``metric="recall"`` of 1 − recall.
        """
        return self.posterior.quantiles(self.aim, check_sizes(sizes), _LEVELS)

    @cached_property
    def needed(self) -> list[float]:
        """Samples at which the target is reached with probability 10 %, 50 % and 90 %."""
        return self.posterior.sizes(self.aim, self.target, _LEVELS, self.farthest)

    @property
    def n_samples(self) -> int | None:
        """Number of samples that reach the target, as likely too many as too few; or None."""
        return _whole(self.needed[1])

    @property
    def interval(self) -> tuple[int, int] | None:
        """Between these numbers of samples the target is reached, with 80 % probability.

        None if there is no upper end: ``trust`` says why.
        """
        high = _whole(self.needed[2])
        return None if high is None else (math.ceil(self.needed[0]), high)

    def assured(self, probability: float) -> int | None:
        """Return the number of samples that reaches the target with this probability.

        Parameters
        ----------
        probability : float
            How sure to be, in (0, 1); 0.5 gives ``n_samples``.

        Returns
        -------
        int or None
            None if 100 times the pilot is not enough for that.

        Examples
        --------
        >>> import sparsetoken as st
        >>> errors = [0.35, 0.27, 0.2, 0.16]
        >>> plan = st.plan.from_curve([25, 50, 100, 200], errors, n_test=500, error=0.17)
        >>> plan.assured(0.5) == plan.n_samples < plan.assured(0.8)
        True
        """
        levels = [check_real("probability", probability, 1e-6, 1.0 - 1e-6)]
        return _whole(*self.posterior.sizes(self.aim, self.target, levels, self.farthest))

    def probability(self, n_samples: float) -> float:
        """Return the probability that the target is reached with ``n_samples``."""
        size = check_real("n_samples", n_samples, low=1.0)
        errors = self.posterior.errors(self.aim, np.array([size]))[:, 0]
        return float(self.posterior.weights @ (errors <= self.target))

    @cached_property
    def curve(self) -> PilotCurve:
        """Expected error from a tenth of the pilot, or less, to at least ten times its size."""
        last = max([10.0 * self.pilot_size, *(1.5 * n for n in self.needed if math.isfinite(n))])
        first = max(2.0, min(0.1 * self.pilot_size, self.needed[0]))
        sizes = np.unique(np.geomspace(first, last, 40).round())
        lower, median, upper = self.predict(sizes).T
        return PilotCurve(tuple(int(n) for n in sizes), tuple(lower), tuple(median), tuple(upper))

    @property
    def learns(self) -> bool:
        """Whether a metric clearly beats chance at the largest size."""
        points, last = self.points, int(self.points.sizes.argmax())
        chances = [metric.chance(points.chance) for metric in points.metrics]
        return bool(np.any(chances - points.errors[:, last] > 3.0 * points.bars[:, last]))

    def measured(self) -> tuple[str, list[tuple[float, float, float]]]:
        """Return the label, and size, error and standard error of what was measured.

        That is the plan's metric, or else the first.
        """
        points, metrics = self.points, self.points.metrics
        row = metrics.index(self.aim) if self.aim in metrics else 0
        table = np.stack([points.sizes, points.errors[row], points.bars[row]], axis=1)
        return metrics[row].label, sorted(map(tuple, table.tolist()))

    @property
    def answer(self) -> str:
        """The plan in one sentence."""
        reached, n, unit = self.aim.words(self.target), self.n_samples, self.unit
        if n is None:
            short = "small" if self.source == "pilot" else "short"
            return (
                f"This {self.source} is too {short} to tell how many {unit} {reached} needs, or "
                "whether it can be reached."
            )
        low, _, high = self.needed
        end = f"{math.ceil(high)}" if math.isfinite(high) else "unbounded"
        interval = f"(80 % interval: {math.ceil(low)} to {end})"
        if high <= self.pilot_size:
            return (
                f"The {self.pilot_size} {unit} of this {self.source} are enough for {reached}: "
                f"about {n} would do {interval}."
            )
        return f"About {n} labelled {unit} for {reached} {interval}."

    @property
    def trust(self) -> str:
        """How far to trust the answer; what speaks against it, if anything does."""
        return " ".join(self._doubts()) or "Good: the interval should hold in 8 of 10 studies."

    def _doubts(self) -> Iterator[str]:
        size, high = self.pilot_size, self.needed[2]
        if not self.learns:
            yield (
                f"Little: on this {self.source} the classifier does not clearly beat chance, so "
                "the extrapolation is mostly assumption."
            )
        if not math.isfinite(high):
            yield (
                f"Only {100.0 * self.probability(self.farthest):.0f} % of the curves compatible "
                f"with your {self.source} reach the target within {self.farthest:,} {self.unit}."
            )
        elif high > _TESTED * size:
            yield (
                f"The upper end, {high:.0f} {self.unit}, is {high / size:.0f} times your "
                f"{self.source}; tests of such predictions cover up to {_TESTED:.0f} times."
            )
        if self.aim not in self.points.metrics:
            yield (
                f"The {self.aim.label} was not measured: it is inferred from the rest, with "
                "Gaussian scores assumed."
            )

    def _sections(self) -> Sections:
        label, rows = self.measured()
        sizes = [factor * self.pilot_size for factor in (1, 2, 4, 8)]
        trust = f"Trust: {self.trust}"
        if not self.trust.startswith("Good"):
            trust = f"Caution: {self.trust[:1].lower()}{self.trust[1:]}"
        return {
            "Answer": [self.answer, trust],
            "Assumptions": [
                f"Further {self.unit} come from the same population as those of the {self.source} "
                "and are labelled by the same rule.",
                "The scores of the classes move apart as more is learned, towards a limit that is "
                "estimated with the rest.",
            ],
            "What it rests on": [
                f"The plan is for {self.classifier}.",
                f"{capital(label)}, {self.method}.",
                "Learning curves were drawn from a prior and weighted by how well they agree; the "
                "interval holds 80 % of their weight.",
            ],
            f"Measured {label}": [
                (self.unit, "measured", "standard error"),
                *((f"{n:.0f}", f"{error:.3f}", f"{bar:.3f}") for n, error, bar in rows),
            ],
            f"Expected {self.aim.label}": [
                (self.unit, "10 %", "expected", "90 %"),
                *(
                    (str(n), *(f"{value:.3f}" for value in row))
                    for n, row in zip(sizes, self.predict(sizes), strict=True)
                ),
            ],
        }

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain data, ready for JSON."""
        names = ("answer", "n_samples", "trust", "target", "metric", "source", "pilot_size")
        columns = ("n_samples", "error", "standard_error")
        return {
            **{name: getattr(self, name) for name in names},
            "interval": None if self.interval is None else list(self.interval),
            "label": self.aim.label,
            "observed": [dict(zip(columns, row, strict=True)) for row in self.measured()[1]],
            "curve": {name: list(values) for name, values in self.curve._asdict().items()},
        }


def _whole(size: float) -> int | None:
    return math.ceil(size) if math.isfinite(size) else None
