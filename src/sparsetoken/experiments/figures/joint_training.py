"""Training all parameters together: step by step, and to the minimum."""

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
    n_points: int = 1024,
    dim: int = 200,
    trials: int = 16,
) -> Sweep:
    """Return two parts, by the column ``panel``: steps and minimum.

    ``last_points`` are steps of the same batch beyond those that the theory follows.
    """
    fixed = _PROBLEM | {"dim": dim, "trials": trials, "reg": reg, "n_points": n_points}
    descent = fixed | _RATES | {"model": "training", "alpha": alpha}
    joint = fixed | {"model": "joint"}
    grids = []
    for batches in ("fresh", "reused"):
        batch, mark = descent | {"batches": batches}, {"panel": "steps", "curve": batches}
        grids += line_and_points(_QUANTITIES, "steps", steps, step_points, batch, columns=mark)
    grids.append(Grid(_QUANTITIES, {"steps": last_points}, batch, ["simulation"], mark))
    mark = {"panel": "steps", "curve": "joint"}
    grids.append(Grid(_QUANTITIES, {"alpha": [alpha]}, joint, columns=mark))
    for curve, values in (("joint", joint), ("two-step", fixed | {"model": "two-step"})):
        mark = {"panel": "minimum", "curve": curve}
        grids += line_and_points(_QUANTITIES, "alpha", lines, points, values, columns=mark)
    return Sweep(grids)


@figure(
    "training of all parameters, step by step and to the minimum",
    title="Query, readout and bias trained together",
    panels=(1, 3),
    data=sweep,
    minutes=2,
    quick={
        "steps": [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 14, 16, 18, 20],
        "step_points": [2, 4, 8, 20],
        "last_points": [100],
        "lines": [2.0, 2.8, 4.0, 5.7, 8.0],
        "points": [2.0, 8.0],
        "dim": 100,
        "trials": 6,
    },
)
def draw(rows: Rows, axes: Any) -> list[str]:
    """Draw error and cosine against steps, then the minimum against samples."""
    *by_step, end = axes
    for ax, quantity in zip(by_step, _QUANTITIES, strict=True):
        panel = plotting.select(rows, panel="steps", quantity=quantity)
        last = max(row.get("steps", 1) for row in panel)
        _curves(ax, _with_level(panel, last), "steps")
        plotting.label_axes(ax, "steps", quantity)
        ax.set_xscale("log")
        plotting.plain_log(ax.xaxis)
        ax.set_title("step by step" if quantity == "test_error" else "the query, step by step")
    minimum = plotting.select(rows, panel="minimum", quantity="test_error")
    _curves(end, [r for r in minimum if r["converged"] or r["source"] == "simulation"], "alpha")
    plotting.label_axes(end, "alpha", "test_error")
    end.set_title("where training ends")
    end.set_yscale("linear")
    end.set_ylim(0.0, None)
    label, color, marker = _CURVES["two-step"]
    by_step[0].plot([], [], color=color, marker=marker, markerfacecolor="white", label=label)
    plotting.lines_and_points(by_step[0])
    plotting.share_legend(by_step[0])
    (alpha,) = plotting.present(plotting.select(rows, curve="fresh"), "alpha")
    return [
        f"Against steps: all learning rates 1, α = {alpha:g}; the joint minimum is a level",
        "The theory of the same batch ends before its simulation",
    ]


def _curves(ax: Any, rows: Rows, x: str) -> None:
    for way in plotting.present(rows, "curve", _CURVES):
        label, color, marker = _CURVES[way]
        plotting.curve(ax, plotting.select(rows, curve=way), x, color, marker, label)


def _with_level(rows: Rows, last: int) -> list[dict[str, Any]]:
    """Return the rows, the minimum as a level that ends in its simulation after the last step."""
    level = plotting.select(rows, curve="joint")
    ends = [row | {"steps": step} for row in level for step in (1, 2 * last)]
    ends = [row for row in ends if row["source"] == "theory" or row["steps"] > last]
    return [row for row in rows if row["curve"] != "joint"] + ends
