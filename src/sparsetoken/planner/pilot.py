"""A plan from pilot data: the held-out errors of a classifier, extrapolated."""

import math
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sparsetoken._validation import check_real
from sparsetoken.estimators import SparseTokenClassifier
from sparsetoken.planner.extrapolate import Posterior, extrapolate, summarise
from sparsetoken.planner.observe import Observed, observe
from sparsetoken.planner.request import Progress, silent
from sparsetoken.problem import RandomState
from sparsetoken.sequences.sequences import Sequences, as_sequences

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["PilotCurve", "PilotPlan", "plan_from_pilot"]

Array = NDArray[np.float64]

_FEWEST = 4  # samples of a class
_REPEATS = 2  # times the pilot is cut anew
_REACH = 100.0  # times the pilot: the extrapolation is not asked about larger studies
_LEVELS = (0.1, 0.5, 0.9)


class PilotCurve(NamedTuple):
    """Expected error against the number of samples."""

    n_samples: tuple[int, ...]
    lower: tuple[float, ...]
    median: tuple[float, ...]
    upper: tuple[float, ...]


@dataclass(frozen=True, repr=False)
class PilotPlan:
    """The answer of :meth:`sparsetoken.plan.from_pilot`."""

    target: float
    """The error asked for."""
    observed: Observed
    """Held-out errors on parts of the pilot."""
    posterior: Posterior
    """Learning curves that agree with them."""

    @property
    def pilot_size(self) -> int:
        """Number of sequences in the pilot."""
        return self.observed.labels.size

    def predict(self, sizes: ArrayLike) -> Array:
        """Return the expected error at some numbers of samples.

        Parameters
        ----------
        sizes : array-like of shape (k,)
            Numbers of labelled sequences.

        Returns
        -------
        ndarray of shape (k, 3)
            The 10 %, 50 % and 90 % points: lower, median and upper.
        """
        sizes = np.atleast_1d(np.asarray(sizes, dtype=float))
        if sizes.ndim != 1 or not np.all(np.isfinite(sizes) & (sizes >= 1)):
            raise ValueError(f"sizes must be numbers of samples >= 1, got {sizes!r}")
        return self.posterior.errors(sizes, _LEVELS)

    @cached_property
    def _needed(self) -> tuple[float, float, float]:
        """Samples at which the target is reached with probability 10 %, 50 % and 90 %."""
        low, middle, high = self.posterior.sizes(self.target, _LEVELS, _REACH * self.pilot_size)
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

    @cached_property
    def curve(self) -> PilotCurve:
        """Expected error from a tenth of the pilot, or less, to at least ten times its size."""
        needed = [10.0 * self.pilot_size, *(1.5 * n for n in self._needed if math.isfinite(n))]
        first = max(2.0, min(0.1 * self.pilot_size, self._needed[0]))
        sizes = np.geomspace(first, max(needed), 40)
        sizes = np.unique(sizes.round())
        lower, median, upper = self.predict(sizes).T
        return PilotCurve(tuple(int(n) for n in sizes), tuple(lower), tuple(median), tuple(upper))

    @property
    def _learns(self) -> bool:
        """Whether the classifier clearly beats chance on the pilot."""
        summary = self.posterior.summary
        bars = np.sqrt(np.diag(summary.covariance))
        last = summary.sizes.size - 1
        better = summary.chance - summary.error[last] > 3.0 * bars[last]
        ranked = summary.auc.size > 0 and summary.auc[last] - 0.5 > 3.0 * bars[-1]
        return bool(better or ranked)

    @property
    def trust(self) -> str:
        """How far to trust the answer, in plain words; what speaks against it comes first."""
        return " ".join(self._reasons())

    def _reasons(self) -> list[str]:
        size, low, high = self.pilot_size, self._needed[0], self._needed[2]
        reasons = []
        if not self._learns:
            reasons.append(
                "Little: on the pilot the classifier does not clearly beat chance, so the curve is "
                "mostly assumption."
            )
        if not math.isfinite(high):
            chance = self.posterior.reaches(self.target, _REACH * size)
            reasons.append(
                f"The target may be out of reach: {chance:.0%} of the curves that agree with the "
                f"pilot get there with at most {_REACH * size:.0f} samples."
            )
        elif high > 4 * size:
            reasons.append(
                f"With care: {high:.0f} samples are {high / size:.0f} times the pilot, and tests "
                "cover up to 4 times."
            )
        smallest = float(self.observed.sizes.min())
        if high < smallest:
            reasons.append(
                f"{smallest:.0f} samples reach the target already; fewer were not tried, so how "
                "many would do is a guess."
            )
        elif math.isfinite(high) and high > max(4 * low, size):
            reasons.append("The range is wide: a larger pilot would narrow it.")
        if self.observed.counts.min() < 10:
            reasons.append(f"The rarest class has only {self.observed.counts.min()} sequences.")
        if not reasons:
            reasons.append("As far as the interval goes: it is meant to hold in 8 of 10 studies.")
        return reasons

    @property
    def answer(self) -> str:
        """The plan in one sentence."""
        if self.n_samples is None:
            return (
                f"The pilot does not show how many samples an error of {self.target:g} takes, or "
                "whether any number reaches it."
            )
        if self.interval is None:
            range_ = f"no upper limit can be told; at least {math.ceil(self._needed[0])}"
        else:
            range_ = "80 % interval {} to {}".format(*self.interval)
        return f"About {self.n_samples} samples for an error of {self.target:g} ({range_})."

    def summary(self) -> str:
        """Return answer and interval, then trust, then what both rest on, as text."""
        lines = [self.answer, f"Trust: {self.trust}", ""]
        lines += [f"held-out error after training on parts of the pilot of {self.pilot_size}"]
        for n, error, bar in self.posterior.summary.rows():
            lines.append(f"  {n:>6.0f} samples: {error:.3f} ± {bar:.3f}")
        lines += ["expected error, with 80 % interval"]
        sizes = [factor * self.pilot_size for factor in (1, 2, 4, 8)]
        for n, (low, median, high) in zip(sizes, self.predict(sizes), strict=True):
            lines.append(f"  {n:>6} samples: {median:.3f}, {low:.3f} to {high:.3f}")
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain data, ready for JSON."""
        rows = self.posterior.summary.rows()
        return {
            "answer": self.answer,
            "n_samples": self.n_samples,
            "interval": None if self.interval is None else list(self.interval),
            "trust": self.trust,
            "target": self.target,
            "pilot_size": self.pilot_size,
            "observed": [
                {"n_samples": n, "error": error, "standard_error": bar} for n, error, bar in rows
            ],
            "curve": {name: list(values) for name, values in self.curve._asdict().items()},
        }

    def plot(self, path: str | Path | None = None) -> "Figure":
        """Draw the observed errors, the fan of curves, the target and the answer.

        Parameters
        ----------
        path : str, Path or None, default=None
            Also save the picture: a file ending in .png, .pdf or .svg.
        """
        from sparsetoken.plotting import draw_pilot, save_picture

        figure = draw_pilot(self.to_dict())
        if path is not None:
            save_picture(figure, path)
        return figure

    def __repr__(self) -> str:
        return f"PilotPlan({self.answer})"


def plan_from_pilot(
    X: Any,
    y: ArrayLike,
    *,
    error: float,
    estimator: Any = None,
    groups: ArrayLike | None = None,
    effort: float = 1.0,
    random_state: RandomState = 0,
    progress: Progress = silent,
) -> PilotPlan:
    """Observe the classifier on parts of the pilot and extrapolate; see Planner.from_pilot."""
    error = check_real("error", error, low=0.0, high=1.0, above=True)
    repeats = max(1, round(_REPEATS * check_real("effort", effort, low=0.0, above=True)))
    X, labels = _check(X, y, groups)
    chance = 1.0 - np.unique(labels, return_counts=True)[1].max() / labels.size
    if error >= chance:
        raise ValueError(
            f"error must be below {chance:.3g}, that of always predicting the commonest class, "
            f"got {error:g}"
        )
    *seeds, seed = np.random.default_rng(random_state).integers(2**31, size=repeats + 1).tolist()
    if estimator is None:
        estimator = SparseTokenClassifier(random_state=seed)
    observed = observe(
        estimator,
        X,
        labels,
        groups=groups,
        seeds=seeds,
        progress=progress,
    )
    progress("fitting learning curves")
    return PilotPlan(error, observed, extrapolate(summarise(observed)))


def _check(X: Any, y: ArrayLike, groups: ArrayLike | None) -> tuple[Sequences, NDArray[Any]]:
    sequences = as_sequences(X)
    labels = np.asarray(y)
    for name, values in (("y", labels), ("groups", labels if groups is None else groups)):
        if np.shape(values) != (len(sequences),):
            shape = np.shape(values)
            raise ValueError(f"{name} must have shape ({len(sequences)},), got {shape}")
    classes, counts = np.unique(labels, return_counts=True)
    if classes.size < 2:
        raise ValueError(f"y must have at least two labels, got {classes.size}")
    for label, count in zip(classes.tolist(), counts, strict=True):
        if count < _FEWEST:
            raise ValueError(f"y must have at least {_FEWEST} samples of {label!r}, got {count}")
    return sequences, labels
