"""A plan from measured performance: a learning curve, extrapolated."""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from sparsetoken._types import Floats
from sparsetoken.planner.curves import Measurements, Posterior, find_rise
from sparsetoken.planner.metric import Metric
from sparsetoken.planner.result import PlanResult, Sections

_REACH = 100.0  # times the pilot: the extrapolation is not asked about larger studies
_TESTED = 4.0  # times the pilot: as far as benchmarks compare predictions with what came
_LEVELS = (0.1, 0.5, 0.9)
_RARE = 0.25  # of all samples: below, the plan counts the rarest class too


class PilotCurve(NamedTuple):
    """Expected error against the number of samples."""

    n_samples: tuple[int, ...]
    lower: tuple[float, ...]
    median: tuple[float, ...]
    upper: tuple[float, ...]


@dataclass(frozen=True, repr=False)
class PilotPlan(PlanResult):
    """The answer of :meth:`sparsetoken.plan.from_pilot` and :meth:`sparsetoken.plan.from_curve`.

    An "error" is what the plan's metric lacks: the test error, 1 − AUC, or 1 − recall.
    """

    _drawing = "draw_pilot"

    target: float
    """The error asked for."""
    _metric: Metric
    _posterior: Posterior
    source: str
    """What was extrapolated: "pilot" or "curve"."""
    classifier: str
    """What the plan is about."""
    class_counts: dict[Any, int]
    """Sequences of each class in the pilot; empty for a curve."""
    method: str
    """How the errors were measured, in a sentence."""

    @property
    def _measured(self) -> Measurements:
        return self._posterior.measurements

    @property
    def metric(self) -> str:
        """What is planned for: "error", "auc" or "recall"."""
        return self._metric.name

    @property
    def pilot_size(self) -> int:
        """Number of sequences in the pilot, or the largest size of the curve."""
        return round(self._measured.unit)

    def predict(self, sizes: ArrayLike) -> Floats:
        """Return the expected error after training on each number of samples.

        Parameters
        ----------
        sizes : array-like of shape (k,)
            Numbers of labelled sequences.

        Returns
        -------
        ndarray of shape (k, 3)
            The 10 %, 50 % and 90 % points: lower, median and upper. With ``metric="auc"`` they are
            of 1 − AUC, with ``metric="recall"`` of 1 − recall.
        """
        sizes = np.atleast_1d(np.asarray(sizes, dtype=float))
        if sizes.ndim != 1 or not np.all(np.isfinite(sizes) & (sizes >= 1)):
            raise ValueError(f"sizes must be numbers of samples >= 1, got {sizes!r}")
        return self._posterior.quantiles(self._metric, sizes, _LEVELS)

    @cached_property
    def _needed(self) -> tuple[float, float, float]:
        """Samples at which the target is reached with probability 10 %, 50 % and 90 %."""
        largest = _REACH * self.pilot_size
        low, middle, high = self._posterior.sizes(self._metric, self.target, _LEVELS, largest)
        return float(low), float(middle), float(high)

    @property
    def n_samples(self) -> int | None:
        """Number of samples that reach the target, as likely too many as too few; or None."""
        middle = self._needed[1]
        return math.ceil(middle) if math.isfinite(middle) else None

    @property
    def interval(self) -> tuple[int, int] | None:
        """Between these numbers of samples the target is reached, with 80 % probability.

        None if that cannot be told: ``trust`` says why.
        """
        low, _, high = self._needed
        if not math.isfinite(high):
            return None
        return math.ceil(low), math.ceil(high)

    @property
    def more(self) -> dict[Any, int] | None:
        """How many more of each class to label, at the pilot's rates; None if not known."""
        if self.n_samples is None or not self.class_counts:
            return None
        factor = max(self.n_samples / self.pilot_size - 1.0, 0.0)
        return {name: math.ceil(factor * count) for name, count in self.class_counts.items()}

    @cached_property
    def curve(self) -> PilotCurve:
        """Expected error from a tenth of the pilot, or less, to at least ten times its size."""
        needed = [10.0 * self.pilot_size, *(1.5 * n for n in self._needed if math.isfinite(n))]
        first = max(2.0, min(0.1 * self.pilot_size, self._needed[0]))
        sizes = np.unique(np.geomspace(first, max(needed), 40).round())
        lower, median, upper = self.predict(sizes).T
        return PilotCurve(tuple(int(n) for n in sizes), tuple(lower), tuple(median), tuple(upper))

    @property
    def rises(self) -> tuple[int, int] | None:
        """Sizes between which a measured error clearly rises; None if it does not.

        Such a curve bends the wrong way: no learning curve of the family does.
        """
        return find_rise(self._measured)

    @property
    def _learns(self) -> bool:
        """Whether a metric clearly beats chance at the largest size."""
        measured = self._measured
        last = int(measured.sizes.argmax())
        chance = {"error": measured.chance}
        rows = zip(measured.metrics, measured.shortfalls, measured.bars, strict=True)
        return any(
            chance.get(metric.name, metric.chance(0.5)) - values[last] > 3.0 * bars[last]
            for metric, values, bars in rows
        )

    @property
    def trust(self) -> str:
        """How far to trust the answer, in plain words; what speaks against it comes first."""
        good = "Good: the interval should hold in 8 of 10 studies."
        return " ".join([*self._general_doubts(), *self._particular_doubts()]) or good

    def _general_doubts(self) -> list[str]:
        size, high, doubts = self.pilot_size, self._needed[2], []
        if not self._learns:
            doubts.append(
                f"Little: on the {self.source} the classifier does not clearly beat chance, so the "
                "extrapolation is mostly assumption."
            )
        if self.rises is not None:
            doubts.append(
                "With care: the measured error clearly rises between {} and {} samples, which none "
                "of the assumed curves does.".format(*self.rises)
            )
        if not math.isfinite(high):
            chance = self._posterior.reaches(self._metric, self.target, _REACH * size)
            doubts.append(
                f"The target may be out of reach: {chance:.0%} of the learning curves that agree "
                f"with the {self.source} get there with at most {_REACH * size:.0f} samples."
            )
        elif high > _TESTED * size:
            doubts.append(
                f"With care: {high:.0f} samples are {high / size:.0f} times the {self.source}, and "
                f"tests cover up to {_TESTED:.0f} times."
            )
        return doubts

    def _particular_doubts(self) -> list[str]:
        low, _, high = self._needed
        smallest, doubts = float(self._measured.sizes.min()), []
        if high < smallest:
            doubts.append(
                f"{smallest:.0f} samples reach the target already; fewer were not tried, so how "
                "many would do is a guess."
            )
        elif math.isfinite(high) and high > max(4 * low, self.pilot_size):
            doubts.append(f"The range is wide: a larger {self.source} would narrow it.")
        rarest = min(self.class_counts.values(), default=10)
        if rarest < 10:
            doubts.append(f"The rarest class has only {rarest} sequences.")
        if self._measured.row(self.metric) is None:
            doubts.append(
                f"The {self._metric.label} was not measured: it is inferred from the rest, with "
                "Gaussian scores assumed."
            )
        return doubts

    @property
    def answer(self) -> str:
        """The plan in one sentence."""
        goal = self._metric.reached(self.target)
        if self.n_samples is None:
            return (
                f"The {self.source} does not show how many samples {goal} takes, or whether any "
                "number reaches it."
            )
        if self.interval is None:
            range_ = f"no upper limit can be told; at least {math.ceil(self._needed[0])}"
        else:
            range_ = "80 % interval {} to {}".format(*self.interval)
        if self._needed[2] <= self.pilot_size:
            return (
                f"The {self.pilot_size} samples of the {self.source} are enough for {goal}: about "
                f"{self.n_samples} would do ({range_})."
            )
        return f"About {self.n_samples} samples for {goal} ({range_}){self._in_hand()}."

    def _in_hand(self) -> str:
        """Return what the pilot has already, or how many more of a rare class are needed."""
        if self.n_samples is None or self.n_samples <= self.pilot_size:
            return f"; the {self.source} has {self.pilot_size}"
        if not self.more or min(self.class_counts.values()) > _RARE * self.pilot_size:
            return ""
        rarest = min(self.class_counts, key=lambda name: self.class_counts[name])
        return (
            f": {self.n_samples - self.pilot_size} more, {self.more[rarest]} of them of the rare "
            f"class {rarest!r} at the pilot's rate"
        )

    @property
    def _shown_metric(self) -> int:
        """Place of the metric whose measurements are shown: the plan's, or else the first."""
        return self._measured.row(self.metric) or 0

    def _rows(self) -> list[tuple[float, float, float]]:
        """Return size, shortfall and standard error of what was measured."""
        measured, place = self._measured, self._shown_metric
        values = measured.sizes, measured.shortfalls[place], measured.bars[place]
        return sorted(zip(*(v.tolist() for v in values), strict=True))

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain data, ready for JSON."""
        return {
            "answer": self.answer,
            "n_samples": self.n_samples,
            "interval": None if self.interval is None else list(self.interval),
            "more": None if self.more is None else {str(k): n for k, n in self.more.items()},
            "trust": self.trust,
            "target": self.target,
            "metric": self.metric,
            "source": self.source,
            "pilot_size": self.pilot_size,
            "rises": None if self.rises is None else list(self.rises),
            "label": self._metric.label,
            "observed_label": self._measured.metrics[self._shown_metric].label,
            "observed": [
                {"n_samples": n, "error": error, "standard_error": bar}
                for n, error, bar in self._rows()
            ],
            "curve": {name: list(values) for name, values in self.curve._asdict().items()},
        }

    def _sections(self) -> Sections:
        counts = ", ".join(f"{count} of class {name}" for name, count in self.class_counts.items())
        label = self._measured.metrics[self._shown_metric].label
        rows, sizes = self._rows(), [factor * self.pilot_size for factor in (1, 2, 4, 8)]
        expected = self.predict(sizes)
        basis = [
            f"{label[:1].upper()}{label[1:]}, {self.method}{f' ({counts})' if counts else ''}.",
            "Learning curves were drawn from a prior and weighted by how well they agree; the "
            "interval holds 80 % of their weight.",
        ]
        measured = self._measured.row(self.metric) is not None
        if measured and expected[0, 1] > rows[-1][1] + 0.5 * rows[-1][2]:
            basis.append(
                "The expected error is above the last one measured: all sizes count, and a low "
                "value at one of them may be luck."
            )
        return Sections(
            f"How many labelled samples does {self.classifier} need for "
            f"{self._metric.reached(self.target)}?",
            [
                f"Further samples come from the same population as those of the {self.source} and "
                "are labelled by the same rule.",
                "The scores of the classes move apart as more samples are learned from, towards a "
                "limit that is estimated with the rest.",
            ],
            [f"Trust: {self.trust}"],
            basis,
            {
                f"Measured {label}": [
                    ("samples", "measured", "standard error"),
                    *((f"{n:.0f}", f"{error:.3f}", f"{bar:.3f}") for n, error, bar in rows),
                ],
                f"Expected {self._metric.label}": [
                    ("samples", "10 %", "expected", "90 %"),
                    *(
                        (str(n), *(f"{value:.3f}" for value in row))
                        for n, row in zip(sizes, expected, strict=True)
                    ),
                ],
            },
        )
