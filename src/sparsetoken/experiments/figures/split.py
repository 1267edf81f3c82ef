"""How to divide the samples between query and readout."""

from typing import Any

import numpy as np

from sparsetoken import plotting
from sparsetoken.experiments.figures import Rows
from sparsetoken.experiments.sweep import Grid, Sweep

TITLE = "How to divide n = αd samples between query and readout"
PANELS = (1, 1)
MINUTES = 1
QUICK = {"dim": 200}


def data(
    *,
    alphas: list[float] = [1.0, 2.0, 4.0, 8.0],
    lines: list[float] = (0.5 - 0.46 * np.cos(np.linspace(0.0, np.pi, 47))).tolist(),
    points: list[float] = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9],
    dim: int = 500,
    trials: int = 16,
) -> Sweep:
    """Return errors at each total number of samples, ``alphas``, and each split."""
    fixed = {"dim": dim, "trials": trials}
    axes = {"alpha": alphas, "split": points}
    return Sweep([Grid(["test_error"], axes, fixed, lines={"split": lines})])


def draw(rows: Rows, axes: Any) -> list[str]:
    """Draw a curve for each total, with a star at its lowest point."""
    (ax,) = axes
    plotting.panel(ax, rows, "split", "test_error", "alpha")
    for alpha, (color, _) in plotting.looks(plotting.present(rows, "alpha")):
        theory = plotting.select(rows, source="theory", alpha=alpha)
        best = min(theory, key=lambda row: row["value"])
        ax.plot(best["split"], best["value"], "*", color=color, ms=8, zorder=4)
    ax.plot([], [], "*", color="0.4", ms=8, label="best split")
    plotting.lines_and_points(ax)
    ax.legend(loc="upper center", ncols=2)
    return []
