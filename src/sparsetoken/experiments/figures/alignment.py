"""How the query turns towards the signal as it sees more samples."""

from typing import Any

import numpy as np

from sparsetoken import plotting
from sparsetoken.experiments.figures import Rows
from sparsetoken.experiments.sweep import Grid, Sweep

TITLE = "Two gradient steps turn the query towards the signal"
PANELS = (1, 2)
MINUTES = 1
QUICK = {"dim": 500}


def data(
    *,
    signals: list[float] = [2.0, 3.0, 5.0, 8.0],
    lines: list[float] = np.geomspace(0.1, 1000.0, 61).tolist(),
    points: list[float] = np.geomspace(0.1, 1000.0, 13).tolist(),
    dim: int = 2000,
    trials: int = 16,
) -> Sweep:
    """Return cosines, and the constant C of |cosine| = 1 − C/alpha₀ once for each signal."""
    fixed = {"dim": dim, "trials": trials}
    constant = Grid(["misalignment"], {"signal": signals}, fixed | {"alpha0": 1.0}, ["theory"])
    axes: dict[str, Any] = {"signal": signals, "alpha0": points}
    return Sweep([Grid(["cosine"], axes, fixed, lines={"alpha0": lines}), constant])


def draw(rows: Rows, axes: Any) -> list[str]:
    """Draw the cosine, and its distance from one beside C/α₀."""
    left, right = axes
    plotting.panel(left, rows, "alpha0", "cosine", "signal")
    cosines = plotting.select(rows, quantity="cosine")
    distances = [row | {"value": 1.0 - abs(row["value"])} for row in cosines]
    alphas = plotting.present(cosines, "alpha0")
    for signal, look in plotting.looks(plotting.present(cosines, "signal")):
        plotting.curve(right, plotting.select(distances, signal=signal), "alpha0", *look)
        for row in plotting.select(rows, quantity="misalignment", signal=signal):
            right.plot(alphas, [row["value"] / a for a in alphas], color=look[0], lw=0.4)
    right.plot([], [], color="0.4", lw=0.4, label="C/α₀")
    plotting.lines_and_points(right)
    plotting.label_axes(right, "alpha0", "1 − |cosine|")
    right.set(yscale="log", ylim=(None, 1.3))
    left.legend(loc="lower right")
    right.legend(loc="lower left")
    return []
