"""How far ways of training are from the best that any learner can do with the same samples."""

from typing import Any

import numpy as np

from sparsetoken import plotting
from sparsetoken.experiments.figures import Rows, figure
from sparsetoken.experiments.sweep import Grid, Sweep, line_and_points

_PROBLEM = {"n_tokens": 20, "n_signal": 1, "signal": 6.0, "positive_rate": 0.5}
_QUANTITIES = ("test_error", "cosine")
_SIMULATED: dict[str, dict[str, Any]] = {
    "optimal": {},
    "two-step": {"tuned": 1},
    "pooled": {"reg": 0.1},
}
_DESCENT = {"tuned": 1, "batches": "reused", "reg": 0.0}


def sweep(
    *,
    lines: list[float] = np.geomspace(0.25, 8.0, 31).tolist(),
    points: list[float] = [0.25, 0.5, 1.0, 2.0, 4.0, 8.0],
    descent_lines: list[float] = np.geomspace(0.25, 8.0, 11).tolist(),
    joint_lines: list[float] = [1.5, 2.0, 2.8, 4.0, 5.6, 8.0],
    most_steps: int = 8,
    n_points: int = 1024,
    dim: int = 1000,
    trials: int = 16,
    problem: dict[str, Any] = _PROBLEM,
) -> Sweep:
    """Return the curves; two steps and gradient descent have rates that the theory finds best."""
    fixed = problem | {"dim": dim, "trials": trials}
    grids = []
    for model, values in _SIMULATED.items():
        way = fixed | values | {"model": model}
        grids += line_and_points(_QUANTITIES, "alpha", lines, points, way)
    theory = problem | {"n_points": n_points}
    descent = theory | _DESCENT | {"model": "training", "steps": most_steps}
    joint = theory | {"model": "joint", "reg": 0.1}
    grids.append(Grid(_QUANTITIES, {"alpha": descent_lines}, descent, ["theory"]))
    grids.append(Grid(_QUANTITIES, {"alpha": joint_lines}, joint, ["theory"]))
    return Sweep(grids)


@figure(
    "test error and cosine of the best possible learner, beside those of attention and pooling",
    data=sweep,
    minutes=6,
    quick={
        "lines": np.geomspace(0.25, 8.0, 16).tolist(),
        "points": [0.5, 2.0, 8.0],
        "descent_lines": [0.5, 2.0, 8.0],
        "joint_lines": [2.0, 8.0],
        "most_steps": 5,
        "n_points": 256,
        "dim": 300,
        "trials": 6,
    },
)
def draw(rows: Rows) -> plotting.Picture:
    """Draw a panel for each quantity."""
    drawn, axes = plotting.new_figure(1, 2)
    trusted = [row for row in rows if row["converged"] or row["source"] == "simulation"]
    for ax, quantity in zip(axes[0], _QUANTITIES, strict=True):
        styles = {"optimal": {"dashes": "-", "lw": 1.4}}
        plotting.model_curves(ax, plotting.select(trusted, quantity=quantity), "alpha", styles)
        plotting.label_axes(ax, "alpha", quantity)
    axes[0][1].set_ylim(None, 1.01)
    plotting.share_legend(drawn, axes[0][0])
    notes = [
        "Best possible: theory of the optimum, and message passing",
        "Two-step attention and gradient descent on all parameters have tuned rates; joint "
        "training and pooling have the ridge 0.1, and the former is drawn where its minimum is "
        "stable",
    ]
    plotting.caption(drawn, rows, "Classifiers and the best possible learner", notes)
    return drawn
