"""A plan: the answer, how to use the samples, and what else the same budget could give."""

import math
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from sparsetoken.planner.architectures import ARCHITECTURES, Architecture
from sparsetoken.planner.finite import shortfall
from sparsetoken.planner.floors import bayes_floor
from sparsetoken.planner.progress import Progress
from sparsetoken.planner.request import FEWEST_OF_A_CLASS, fewest_samples
from sparsetoken.planner.solve import Solution, predict
from sparsetoken.problem import SparseTokenProblem
from sparsetoken.theory import Risk

__all__ = ["Curve", "Plan"]

_POINTS = 9
_FEW = 60  # samples, below which simulated errors leave the expected one behind
_GIVEN = ("n_samples", "dim", "n_tokens", "n_signal", "signal", "positive_rate")


class Curve(NamedTuple):
    """Expected error against a quantity, the settings chosen anew at each value."""

    quantity: str
    values: tuple[float, ...]
    errors: tuple[float, ...]
    uncertainties: tuple[float, ...]
    """Numerical standard errors of ``errors``."""


@dataclass(frozen=True, repr=False)
class Plan:
    """The answer of :func:`sparsetoken.plan`.

    ``n_samples``, ``dim``, ``n_tokens``, ``n_signal``, ``signal``, ``positive_rate`` and ``error``
    are the quantities planned with, the one asked for solved; ``error`` is what to expect there on
    average over samples of this size (1 − AUC with ``metric="auc"``), and ``uncertainty`` its
    numerical standard error.
    """

    model: str
    """The classifier planned for."""
    target: float | None
    """The error asked for; None if the error was the unknown."""
    solution: Solution

    @property
    def solved_for(self) -> str:
        """The quantity that was asked for."""
        return self.solution.request.unknown

    @property
    def metric(self) -> str:
        """What ``error`` is: "error" the test error, "auc" 1 − AUC."""
        return self.solution.request.metric

    @property
    def n_samples(self) -> int:
        """Number of labelled sequences."""
        return int(self.solution.request.n_samples)

    @property
    def dim(self) -> int:
        """Number of features per token."""
        return int(self.solution.request.dim)

    @property
    def problem(self) -> SparseTokenProblem:
        """The statistical model planned with."""
        return self.solution.request.problem

    @property
    def n_tokens(self) -> int:
        """Length of a sequence."""
        return self.problem.n_tokens

    @property
    def n_signal(self) -> int:
        """Number of tokens that carry the signal in a positive sequence."""
        return self.problem.n_signal

    @property
    def signal(self) -> float:
        """Strength of the signal."""
        return self.problem.signal

    @property
    def positive_rate(self) -> float:
        """Share of positive sequences."""
        return self.problem.positive_rate

    @property
    def error(self) -> float:
        """The expected error at this finite size; 1 − AUC with ``metric="auc"``.

        The theory's limit with the chance fluctuations of the bias and of the query's alignment
        averaged over, to leading order.
        """
        return self.solution.expected.value

    @property
    def uncertainty(self) -> float:
        """Numerical standard error of ``error``."""
        return self.solution.expected.uncertainty

    @property
    def limit_error(self) -> float:
        """The same in the limit of many dimensions; far below ``error`` where chance matters."""
        return shortfall(self.limit, self.metric)

    @cached_property
    def limit(self) -> Risk:
        """The theory's result at the plan's samples per dimension and settings."""
        return self._architecture.limit(self.solution.request.case, self.solution.choice)

    @cached_property
    def settings(self) -> dict[str, Any]:
        """Arguments of the planned classifier.

        That of :class:`~sparsetoken.estimators.TwoStepAttentionClassifier` for attention, else of
        :class:`~sparsetoken.estimators.PooledClassifier` or ``VectorizedClassifier``.
        """
        return self._architecture.settings(self.solution.request.case, self.solution.choice)

    @cached_property
    def curve(self) -> Curve:
        """Expected error against the quantity solved for, or the number of samples."""
        quantity = "n_samples" if self.solved_for == "error" else self.solved_for
        values = _around(quantity, self)
        centre = int(np.argmin([abs(math.log(v / getattr(self, quantity))) for v in values]))
        progress, found = Progress(), {centre: self.solution}
        for order, step in ((range(centre + 1, len(values)), -1), (range(centre)[::-1], 1)):
            for index in order:
                request = self.solution.request.moved(quantity, values[index])
                start = found[index + step].choice
                found[index] = predict(self._architecture, request, start, progress)
        progress.close()
        errors, uncertainties = zip(
            *(found[index].expected for index in range(len(values))), strict=True
        )
        return Curve(quantity, tuple(values), errors, uncertainties)

    @cached_property
    def alternatives(self) -> dict[str, float]:
        """Expected error of the other classifiers at the same budget, each at its best settings.

        With ``metric="error"`` also ``"bayes"``, the least error of any classifier that knows the
        signal's direction.
        """
        progress, request = Progress(), self.solution.request
        found = {
            name: predict(other, request, None, progress).expected.value
            for name, other in ARCHITECTURES.items()
            if name != self.model
        }
        progress.close()
        if self.metric == "error":
            found["bayes"] = bayes_floor(request)
        return found

    @property
    def answer(self) -> str:
        """The plan in one sentence."""
        what = "an error" if self.metric == "error" else "an AUC"
        error = self.error if self.target is None else self.target
        reached = error if self.metric == "error" else 1.0 - error
        if self.solved_for == "error":
            return f"{self.model} reaches {what} of {reached:.4g} with {self.n_samples} samples"
        value = getattr(self, self.solved_for)
        shown = f"{value:.4g}" if isinstance(value, float) else str(value)
        side = "at least" if self.solution.met_when == "above" else "at most"
        return f"{self.model} needs {self.solved_for} {side} {shown} for {what} of {reached:.4g}"

    @property
    def caution(self) -> str:
        """A warning if the samples are too few for the expected error to be taken at its word."""
        if self.n_samples >= _FEW:
            return ""
        return (
            f"{self.n_samples} samples are few: errors vary much from one study to the next, and "
            "their mean may be several times the expected one"
        )

    def summary(self) -> str:
        """Return the answer and what to be careful about, then the details, as text."""
        caution = f"caution: {self.caution}\n" if self.caution else ""
        return f"{self.answer}\n{caution}\n{self.details()}"

    def details(self) -> str:
        """Return the settings, the alternatives and the curve as text."""
        lines = ["planned with"]
        for name in _GIVEN:
            lines.append(f"  {name:<14} {getattr(self, name):g}")
        lines += ["settings"]
        for name, value in self.settings.items():
            lines.append(
                f"  {name:<14} {value if isinstance(value, str) else format(value, '.4g')}"
            )
        label = "error" if self.metric == "error" else "1 − AUC"
        lines += [f"expected {label} at the same budget"]
        for name, value in {self.model: self.error, **self.alternatives}.items():
            lines.append(f"  {name:<14} {value:.4g}")
        lines += [f"in the limit of many dimensions: {self.limit_error:.4g}"]
        lines += [f"expected {label} against {self.curve.quantity}"]
        for value, error, bar in zip(*self.curve[1:], strict=True):
            lines.append(f"  {value:<14.6g} {error:.4g} ± {bar:.1g}")
        return "\n".join(lines)

    def plot(self, path: str | Path) -> None:
        """Draw the curve, the target and the alternatives into a file.

        Parameters
        ----------
        path : str or Path
            The file, ending in .png, .pdf or .svg.
        """
        from sparsetoken.plotting import draw_plan, save_picture

        save_picture(draw_plan(self._table()), path)

    def _table(self) -> list[dict[str, Any]]:
        """Return what the picture shows as rows."""
        curve = self.curve
        shared = {"quantity": curve.quantity, "metric": self.metric, "title": self.answer}
        shared |= {name: getattr(self, name) for name in _GIVEN}
        here = {**shared, "model": self.model, "x": getattr(self, curve.quantity)}
        rows = [{**here, "part": "plan", "value": self.error}]
        for x, value in zip(curve.values, curve.errors, strict=True):
            rows.append({**here, "part": "curve", "x": x, "value": value})
        for name, value in self.alternatives.items():
            rows.append({**here, "part": "alternative", "model": name, "value": value})
        if self.target is not None:
            rows.append({**here, "part": "target", "value": self.target})
        return rows

    @property
    def _architecture(self) -> Architecture:
        return ARCHITECTURES[self.model]

    def __repr__(self) -> str:
        return f"Plan({self.answer})"


def _around(quantity: str, plan: Plan) -> list[float]:
    """Return values around the planned one on a logarithmic scale, it among them."""
    value = getattr(plan, quantity)
    span = 4.0 if quantity in ("n_samples", "dim", "n_tokens", "n_signal") else 2.0
    values = value * np.geomspace(1.0 / span, span, _POINTS)
    fewest = float(fewest_samples(plan.positive_rate))
    low = {"n_samples": fewest, "n_tokens": float(plan.n_signal), "n_signal": 1.0, "dim": 1.0}
    high = {"n_signal": float(plan.n_tokens), "positive_rate": 0.5}
    least = FEWEST_OF_A_CLASS / plan.n_samples if quantity == "positive_rate" else 0.0
    values = np.clip(values, low.get(quantity, least), high.get(quantity, math.inf))
    if quantity in low:
        return [int(v) for v in np.unique(values.round())]
    values[_POINTS // 2] = value
    return [float(v) for v in np.unique(values)]
