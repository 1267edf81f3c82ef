"""How to divide the samples between query and readout."""

import numpy as np

from sparsetoken import plotting
from sparsetoken.experiments.figures import Rows, figure
from sparsetoken.experiments.sweep import Grid, Sweep

_PROBLEM = {"n_tokens": 10, "n_signal": 1, "signal": 5.0, "positive_rate": 0.5, "reg": 1e-2}


def sweep(
    *, alphas: list[float], lines: list[float], points: list[float], dim: int, trials: int
) -> Sweep:
    """Return errors at each total number of samples, ``alphas``, and each split."""
    fixed, axes = _PROBLEM | {"dim": dim, "trials": trials}, {"alpha": alphas}
    return Sweep(
        [
            Grid(["test_error"], axes | {"split": lines}, fixed, ["theory"]),
            Grid(["test_error"], axes | {"split": points}, fixed),
        ]
    )


@figure(
    "split",
    "test error against the fraction of the samples given to the query",
    data=sweep,
    full={
        "alphas": [1.0, 2.0, 4.0, 8.0],
        "lines": (0.5 - 0.46 * np.cos(np.linspace(0.0, np.pi, 47))).tolist(),  # dense at the ends
        "points": [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9],
        "dim": 500,
        "trials": 16,
    },
    quick={
        "alphas": [1.0, 2.0, 4.0],
        "lines": (0.5 - 0.46 * np.cos(np.linspace(0.0, np.pi, 33))).tolist(),
        "points": [0.1, 0.3, 0.5, 0.7, 0.9],
        "dim": 200,
    },
)
def draw(rows: Rows) -> plotting.Picture:
    """Draw a curve for each total, with a star at its lowest point."""
    drawn, axes = plotting.new_figure(1, 1)
    ax = axes[0][0]
    for alpha, look in plotting.looks(plotting.present(rows, "alpha")):
        chosen = plotting.select(rows, alpha=alpha)
        plotting.curve(ax, chosen, "split", *look, f"α = {alpha:g}")
        best = min(plotting.select(chosen, source="theory"), key=lambda row: row["value"])
        ax.plot(best["split"], best["value"], "*", color=look[0], ms=8, zorder=4)
    ax.plot([], [], "*", color="0.4", ms=8, label="best split")
    plotting.lines_and_points(ax)
    plotting.label_axes(ax, "split", "test_error")
    ax.legend(loc="upper center", ncols=2)
    plotting.caption(drawn, rows, "How to divide n = αd samples between query and readout")
    return drawn
