"""A plan from measured performance: a learning curve, extrapolated."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from sparsetoken._types import Floats
from sparsetoken.planner.curves import Measurements, Posterior
from sparsetoken.planner.metric import Metric
from sparsetoken.planner.result import PlanResult, Sections

_REACH = 100.0  # times the pilot: the extrapolation is not asked about larger studies
_TESTED = 4.0  # times the pilot: as far as benchmarks compare predictions with what came
_LEVELS = (0.1, 0.5, 0.9)
_CLEARLY = 4.0  # standard errors that an error must rise by: many sizes are compared
_RECENT = 0.1  # of the largest size: a rise is not sought among smaller ones
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
        return (math.ceil(low), math.ceil(high)) if math.isfinite(high) else None

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
        return _find_rise(self._measured)

    @property
    def _learns(self) -> bool:
        """Whether a metric clearly beats chance at the largest size."""
        measured, last = self._measured, int(self._measured.sizes.argmax())
        chances = [
            measured.chance if metric.name == "error" else metric.chance(0.5)
            for metric in measured.metrics
        ]
        return bool(np.any(chances - measured.shortfalls[:, last] > 3.0 * measured.bars[:, last]))

    @property
    def trust(self) -> str:
        """How far to trust the answer, in plain words; what speaks against it comes first."""
        return " ".join(self._doubts()) or "Good: the interval should hold in 8 of 10 studies."

    def _doubts(self) -> Iterator[str]:
        size, source, (low, _, high) = self.pilot_size, self.source, self._needed
        smallest = float(self._measured.sizes.min())
        if not self._learns:
            yield (
                f"Little: on the {source} the classifier does not clearly beat chance, so the "
                "extrapolation is mostly assumption."
            )
        if self.rises is not None:
            yield (
                "With care: the measured error clearly rises between {} and {} samples, which none "
                "of the assumed curves does.".format(*self.rises)
            )
        if not math.isfinite(high):
            chance = self._posterior.reaches(self._metric, self.target, _REACH * size)
            yield (
                f"The target may be out of reach: {chance:.0%} of the learning curves that agree "
                f"with the {source} get there with at most {_REACH * size:.0f} samples."
            )
        elif high > _TESTED * size:
            yield (
                f"With care: {high:.0f} samples are {high / size:.0f} times the {source}, and "
                f"tests cover up to {_TESTED:.0f} times."
            )
        if high < smallest:
            yield (
                f"{smallest:.0f} samples reach the target already; fewer were not tried, so how "
                "many would do is a guess."
            )
        elif math.isfinite(high) and high > max(4 * low, size):
            yield f"The range is wide: a larger {source} would narrow it."
        rarest = min(self.class_counts.values(), default=10)
        if rarest < 10:
            yield f"The rarest class has only {rarest} sequences."
        if self._measured.row(self.metric) is None:
            yield (
                f"The {self._metric.label} was not measured: it is inferred from the rest, with "
                "Gaussian scores assumed."
            )

    @property
    def answer(self) -> str:
        """The plan in one sentence."""
        goal, n, pilot = self._metric.reached(self.target), self.n_samples, self.pilot_size
        if n is None:
            return (
                f"The {self.source} does not show how many samples {goal} takes, or whether any "
                "number reaches it."
            )
        likely = f"no upper limit can be told; at least {math.ceil(self._needed[0])}"
        if self.interval is not None:
            likely = "80 % interval {} to {}".format(*self.interval)
        if self._needed[2] <= pilot:
            return (
                f"The {pilot} samples of the {self.source} are enough for {goal}: about {n} would "
                f"do ({likely})."
            )
        more = f"; the {self.source} has {pilot}" if n <= pilot else ""
        rarest = min(self.class_counts, key=lambda name: self.class_counts[name], default=None)
        if self.more and n > pilot and self.class_counts[rarest] <= _RARE * pilot:
            more = (
                f": {n - pilot} more, {self.more[rarest]} of them of the rare class {rarest!r} at "
                "the pilot's rate"
            )
        return f"About {n} samples for {goal} ({likely}){more}."

    def _observed(self) -> tuple[str, list[tuple[float, float, float]]]:
        """Return the label, and size, shortfall and standard error of what was measured.

        That is the plan's metric, or else the first.
        """
        measured, row = self._measured, self._measured.row(self.metric) or 0
        columns = measured.sizes, measured.shortfalls[row], measured.bars[row]
        rows = sorted(zip(*(column.tolist() for column in columns), strict=True))
        return measured.metrics[row].label, rows

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain data, ready for JSON."""
        names = ("answer", "n_samples", "trust", "target", "metric", "source", "pilot_size")
        columns = ("n_samples", "error", "standard_error")
        return {
            **{name: getattr(self, name) for name in names},
            "interval": None if self.interval is None else list(self.interval),
            "more": None if self.more is None else {str(k): n for k, n in self.more.items()},
            "rises": None if self.rises is None else list(self.rises),
            "label": self._metric.label,
            "observed": [dict(zip(columns, row, strict=True)) for row in self._observed()[1]],
            "curve": {name: list(values) for name, values in self.curve._asdict().items()},
        }

    def _sections(self) -> Sections:
        counts = ", ".join(f"{count} of class {name}" for name, count in self.class_counts.items())
        (label, rows), sizes = (
            self._observed(),
            [factor * self.pilot_size for factor in (1, 2, 4, 8)],
        )
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


def _find_rise(measured: Measurements) -> tuple[int, int] | None:
    """Return the sizes between which the first metric rises most clearly, if it does.

    Means of one to three neighboring sizes are compared with those of later ones, as angles, in
    units of the noise of the tests or of the curve's own roughness, whichever is larger. Roughness
    is that of draws of training samples: its variance shrinks as one over the size.
    """
    sizes, place = np.unique(measured.sizes, return_inverse=True)
    rates = np.bincount(place, weights=measured.shortfalls[0]) / np.bincount(place)
    angle = np.arcsin(np.sqrt(np.clip(rates, 0.0, 1.0)))
    roughness = 0.0
    if sizes.size >= 6:  # third differences see no smooth curve
        roughness = float(np.median(np.abs(np.diff(angle, 3)))) / (0.6745 * math.sqrt(20.0))
    drawn = roughness**2 * np.median(sizes) / sizes
    variance = np.maximum(drawn, 0.25 / measured.n_tested)
    early = int(np.searchsorted(sizes, _RECENT * sizes[-1]))  # old dips have no say any more
    clearest, where = _CLEARLY, None
    for width in (1, 2, 3):
        window = np.full(width, 1.0 / width)
        mean, bar = (np.convolve(x, window, mode="valid") for x in (angle, variance / width))
        for before, after in early + np.transpose(np.triu_indices(mean.size - early, width)):
            rise = (mean[after] - mean[before]) / math.sqrt(bar[before] + bar[after])
            if rise > clearest:
                clearest, where = rise, (round(sizes[before]), round(sizes[after + width - 1]))
    return where
