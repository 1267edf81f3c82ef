"""How far ways of training are from the best that any learner can do with the same samples."""

from typing import Any

import numpy as np

from sparsetoken import plotting
from sparsetoken.experiments.figures import Rows, figure
from sparsetoken.experiments.sweep import Grid, Sweep, line_and_points

_PROBLEM = {"n_tokens": 20, "n_signal": 1, "signal": 6.0, "positive_rate": 0.5}
_QUANTITIES = ("test_error", "cosine")
_RIDGES = {"optimal": 0.0, "two-step": 0.01, "pooled": 0.1, "joint": 0.1}  # no value of the best


def sweep(
    *,
    lines: list[float] = np.geomspace(0.25, 8.0, 31).tolist(),
    points: list[float] = [0.25, 0.5, 1.0, 2.0, 4.0, 8.0],
    joint_lines: list[float] = [1.5, 2.0, 2.8, 4.0, 5.6, 8.0],
    n_points: int = 1024,
    dim: int = 1000,
    trials: int = 16,
    problem: dict[str, Any] = _PROBLEM,
) -> Sweep:
    """Return the curves; of joint training the theory alone."""
    grids = []
    for model, reg in _RIDGES.items():
        fixed = problem | {"model": model, "reg": reg, "dim": dim, "trials": trials}
        if model == "joint":
            fixed["n_points"] = n_points
            grids.append(Grid(_QUANTITIES, {"alpha": joint_lines}, fixed, ["theory"]))
        else:
            grids += line_and_points(_QUANTITIES, "alpha", lines, points, fixed)
    return Sweep(grids)


@figure(
    "test error and cosine of the best possible learner, beside those of attention and pooling",
    title="Classifiers and the best possible learner",
    panels=(1, 2),
    data=sweep,
    minutes=3,
    quick={
        "lines": np.geomspace(0.25, 8.0, 16).tolist(),
        "points": [0.5, 2.0, 8.0],
        "joint_lines": [2.0, 8.0],
        "n_points": 256,
        "dim": 300,
        "trials": 6,
    },
)
def draw(rows: Rows, axes: Any) -> list[str]:
    """Draw a panel for each quantity."""
    trusted = [row for row in rows if row["converged"] or row["source"] == "simulation"]
    styles = {"optimal": {"dashes": "-", "lw": 1.4}}
    for ax, quantity in zip(axes, _QUANTITIES, strict=True):
        plotting.panel(ax, trusted, "alpha", quantity, styles=styles)
    axes[1].set_ylim(None, 1.01)
    plotting.share_legend(axes[0])
    return [
        "Best possible: theory of the optimum, and message passing",
        "Two-step attention gives half of its samples to the query and has the ridge 0.01; joint "
        "training and pooling have 0.1, and the former is drawn where its minimum is stable",
    ]
