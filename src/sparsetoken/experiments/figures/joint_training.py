"""Training all parameters together: step by step, to the minimum, and against two tuned steps."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from sparsetoken import plotting
from sparsetoken.experiments.cell import SOURCES
from sparsetoken.experiments.figures import Rows, figure
from sparsetoken.experiments.sweep import Grid, Sweep
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
    alpha: float,
    reg: float,
    steps: list[int],
    step_points: list[int],
    last_points: list[int],
    lines: list[float],
    points: list[float],
    budgets: list[float],
    budget_points: list[float],
    most_steps: int,
    n_points: int,
    dim: int,
    trials: int,
) -> Sweep:
    """Return three parts, by the column ``panel``: steps, minimum and budget.

    ``last_points`` are steps of the same batch beyond those that the theory follows.
    """
    fixed = _PROBLEM | {"dim": dim, "trials": trials, "reg": reg, "n_points": n_points}
    descent = fixed | _RATES | {"model": "training", "alpha": alpha}
    joint = fixed | {"model": "joint", "refine_steps": 500}
    grids = []
    for batches in ("fresh", "reused"):
        here = descent | {"batches": batches}
        grids += _both("steps", batches, "steps", steps, step_points, here)
    mark = {"panel": "steps", "curve": "reused"}
    grids.append(Grid(_QUANTITIES, {"steps": last_points}, here, ["simulation"], mark))
    grids += _both("steps", "joint", "alpha", [alpha], [alpha], joint)
    grids += _both("minimum", "joint", "alpha", lines, points, joint)
    two_step = fixed | {"model": "two-step"}
    grids += _both("minimum", "two-step", "alpha", lines, points, two_step)
    tuned = fixed | {"tuned": 1, "reg": 0.0, "steps": most_steps}
    ways: dict[str, dict[str, Any]] = {
        "fresh": {"model": "training", "batches": "fresh"},
        "reused": {"model": "training", "batches": "reused"},
        "two-step": {"model": "two-step"},
    }
    for name, way in ways.items():
        grids += _both("budget", name, "alpha", budgets, budget_points, tuned | way)
    return Sweep(grids)


def _both(
    panel: str, way: str, x: str, lines: Sequence[float], points: Sequence[float], fixed: Any
) -> list[Grid]:
    """Return the theory on ``lines`` and ``points`` of ``x``, the simulation on ``points``."""
    mark = {"panel": panel, "curve": way}
    return [
        Grid(_QUANTITIES, {x: shown}, fixed, sources, mark)
        for sources, shown in ((["theory"], lines), (SOURCES, points))
    ]


@figure(
    "joint-training",
    "training of all parameters, step by step, to the minimum, and tuned for a budget of samples",
    data=sweep,
    minutes=5,
    full={
        "alpha": 2.0,
        "reg": 0.1,
        "steps": [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 14, 16, 18, 20, 24, 28, 32, 36, 40],
        "step_points": [2, 3, 4, 6, 8, 12, 16, 24, 40],
        "last_points": [80, 160, 320, 640],
        "lines": np.geomspace(1.5, 16.0, 8).round(3).tolist(),
        "points": [2.0, 4.0, 8.0, 16.0],
        "budgets": np.geomspace(0.5, 16.0, 9).round(3).tolist(),
        "budget_points": [0.5, 1.0, 2.0, 4.0, 8.0, 16.0],
        "most_steps": 8,
        "n_points": 1024,
        "dim": 200,
        "trials": 16,
    },
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
        here = plotting.select(rows, panel="steps", quantity=quantity)
        _curves(ax, [row for row in here if row["curve"] != "joint"], "steps")
        _minimum(ax, plotting.select(here, curve="joint"), max(row.get("steps", 1) for row in here))
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
    titles = "step by step", "where training ends", "the query, step by step", "rates, steps tuned"
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
    for way, (label, color, marker) in _CURVES.items():
        here = plotting.select(rows, curve=way)
        if here:
            plotting.curve(ax, here, x, color, marker, label)


def _minimum(ax: Any, rows: Rows, last: int) -> None:
    """Draw the minimum as a level that ends in its simulation, right of the last step."""
    label, color, marker = _CURVES["joint"]
    ends = [row | {"steps": step} for row in rows for step in (1, 2 * last)]
    points = [row for row in ends if row["source"] == "theory" or row["steps"] > last]
    plotting.curve(ax, points, "steps", color, marker, label)
