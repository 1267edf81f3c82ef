"""Training all parameters together: step by step, to the minimum, and against two tuned steps."""

from typing import Any

import numpy as np

from sparsetoken import plotting
from sparsetoken.experiments.figures import Rows, figure
from sparsetoken.experiments.sweep import Grid, Sweep, line_and_points
from sparsetoken.vocabulary import COLORS, MARKERS, look

_PROBLEM = {"n_tokens": 10, "n_signal": 1, "signal": 5.0, "positive_rate": 0.5}
_RATES = {"lr_query": 1.0, "lr_readout": 1.0, "lr_bias": 1.0}
_QUANTITIES = ("test_error", "cosine")
_CURVES = {
    "fresh": ("fresh batches", COLORS[3], MARKERS[2]),
    "reused": ("the same batch", COLORS[1], MARKERS[1]),
    "joint": ("joint minimum", COLORS[2], MARKERS[3]),
    "two-step": ("two steps, then the readout", look("two-step").color, look("two-step").marker),
}


def sweep(
    *,
    alpha: float = 2.0,
    reg: float = 0.1,
    steps: list[int] = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 14, 16, 18, 20, 24, 28, 32, 36, 40],
    step_points: list[int] = [2, 3, 4, 6, 8, 12, 16, 24, 40],
    last_points: list[int] = [80, 160, 320, 640],
    lines: list[float] = np.geomspace(1.5, 16.0, 8).round(3).tolist(),
    points: list[float] = [2.0, 4.0, 8.0, 16.0],
    budgets: list[float] = np.geomspace(0.5, 16.0, 9).round(3).tolist(),
    budget_points: list[float] = [0.5, 1.0, 2.0, 4.0, 8.0, 16.0],
    most_steps: int = 8,
    n_points: int = 1024,
    dim: int = 200,
    trials: int = 16,
) -> Sweep:
    """Return three parts, by the column ``panel``: steps, minimum and budget.

    ``last_points`` are steps of the same batch beyond those that the theory follows.
    """
    fixed = _PROBLEM | {"dim": dim, "trials": trials, "reg": reg, "n_points": n_points}
    descent = fixed | _RATES | {"model": "training", "alpha": alpha}
    joint = fixed | {"model": "joint", "refine_steps": 500}
    grids = []
    for batches in ("fresh", "reused"):
        batch, mark = descent | {"batches": batches}, {"panel": "steps", "curve": batches}
        grids += line_and_points(_QUANTITIES, "steps", steps, step_points, batch, columns=mark)
    grids.append(Grid(_QUANTITIES, {"steps": last_points}, batch, ["simulation"], mark))
    grids += _against_samples("steps", "joint", [alpha], [alpha], joint)
    grids += _against_samples("minimum", "joint", lines, points, joint)
    two_step = fixed | {"model": "two-step"}
    grids += _against_samples("minimum", "two-step", lines, points, two_step)
    tuned = fixed | {"tuned": 1, "reg": 0.0, "steps": most_steps}
    ways: dict[str, dict[str, Any]] = {
        "fresh": {"model": "training", "batches": "fresh"},
        "reused": {"model": "training", "batches": "reused"},
        "two-step": {"model": "two-step"},
    }
    for name, way in ways.items():
        grids += _against_samples("budget", name, budgets, budget_points, tuned | way)
    return Sweep(grids)


def _against_samples(
    panel: str, curve: str, lines: list[float], points: list[float], fixed: Any
) -> list[Grid]:
    mark = {"panel": panel, "curve": curve}
    return line_and_points(_QUANTITIES, "alpha", lines, points, fixed, columns=mark)


@figure(
    "training of all parameters, step by step, to the minimum, and tuned for a budget of samples",
    data=sweep,
    minutes=5,
    quick={
        "steps": [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 14, 16, 18, 20],
        "step_points": [2, 4, 8, 20],
        "last_points": [100],
        "lines": [2.0, 2.8, 4.0, 5.7, 8.0],
        "points": [2.0, 8.0],
        "budgets": [2.0, 4.0, 8.0],
        "budget_points": [2.0, 8.0],
        "dim": 100,
        "trials": 6,
    },
)
def draw(rows: Rows) -> plotting.Picture:
    """Draw error and cosine against steps, then the minimum and the budget against samples."""
    drawn, axes = plotting.new_figure(2, 2)
    for ax, quantity in zip(axes[:, 0], _QUANTITIES, strict=True):
        panel = plotting.select(rows, panel="steps", quantity=quantity)
        _curves(ax, [row for row in panel if row["curve"] != "joint"], "steps")
        last = max(row.get("steps", 1) for row in panel)
        _minimum(ax, plotting.select(panel, curve="joint"), last)
        plotting.label_axes(ax, "steps", quantity)
        ax.set_xscale("log")
        plotting.plain_log(ax.xaxis)
    minimum = [
        row
        for row in plotting.select(rows, panel="minimum", quantity="test_error")
        if row["converged"] or row["source"] == "simulation"
    ]
    _curves(axes[0][1], minimum, "alpha")
    _curves(axes[1][1], plotting.select(rows, panel="budget", quantity="test_error"), "alpha")
    for ax in axes[:, 1]:
        plotting.label_axes(ax, "alpha", "test_error")
    titles = (
        "step by step",
        "where training ends",
        "the query, step by step",
        "rates and steps tuned",
    )
    for ax, title in zip(axes.ravel(), titles, strict=True):
        ax.set_title(title)
    axes[0][1].set_yscale("linear")
    axes[0][1].set_ylim(0.0, None)
    axes[0][1].legend(loc="lower left")
    axes[1][1].legend(loc="upper right")
    plotting.lines_and_points(axes[0][0])
    axes[0][0].legend(loc="upper right")
    steps = [row for row in rows if row["panel"] != "budget"]
    (alpha,) = plotting.present(plotting.select(rows, curve="fresh", panel="steps"), "alpha")
    notes = [
        f"Against steps: all learning rates 1, α = {alpha:g}; the joint minimum is a level",
        "The theory of the same batch ends before its simulation",
        "Where rates are tuned λ = 0",
        "Fresh batches divide the samples among the steps: where few are left for each, a finite d "
        "has larger errors than the limit",
    ]
    plotting.caption(drawn, steps, "Query, readout and bias trained together", notes)
    return drawn


def _curves(ax: Any, rows: Rows, x: str) -> None:
    for way in plotting.present(rows, "curve", _CURVES):
        label, color, marker = _CURVES[way]
        plotting.curve(ax, plotting.select(rows, curve=way), x, color, marker, label)


def _minimum(ax: Any, rows: Rows, last: int) -> None:
    """Draw the minimum as a level that ends in its simulation, right of the last step."""
    label, color, marker = _CURVES["joint"]
    ends = [row | {"steps": step} for row in rows for step in (1, 2 * last)]
    points = [row for row in ends if row["source"] == "theory" or row["steps"] > last]
    plotting.curve(ax, points, "steps", color, marker, label)
