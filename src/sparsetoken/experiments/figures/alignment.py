"""How the query turns towards the signal as it sees more samples."""

import numpy as np

from sparsetoken import plotting
from sparsetoken.experiments.figures import Rows, figure
from sparsetoken.experiments.sweep import Grid, Sweep


def sweep(
    *, signals: list[float], lines: list[float], points: list[float], dim: int, trials: int
) -> Sweep:
    """Return cosines, and the constant C of |cosine| = 1 − C/alpha₀ once for each signal."""
    fixed = {"n_tokens": 10, "n_signal": 1, "positive_rate": 0.5, "dim": dim, "trials": trials}
    axes = {"signal": signals}
    return Sweep(
        [
            Grid(["cosine"], axes | {"alpha0": lines}, fixed, ["theory"]),
            Grid(["misalignment"], axes | {"alpha0": [1.0]}, fixed, ["theory"]),
            Grid(["cosine"], axes | {"alpha0": points}, fixed),
        ]
    )


@figure(
    "alignment",
    "cosine between query and signal against samples per dimension",
    data=sweep,
    full={
        "signals": [2.0, 3.0, 5.0, 8.0],
        "lines": np.geomspace(0.1, 1000.0, 61).tolist(),
        "points": np.geomspace(0.1, 1000.0, 13).tolist(),
        "dim": 2000,
        "trials": 16,
    },
    quick={
        "lines": np.geomspace(0.1, 100.0, 31).tolist(),
        "points": np.geomspace(0.1, 100.0, 10).tolist(),
        "dim": 500,
    },
)
def draw(rows: Rows) -> plotting.Picture:
    """Draw the cosine, and its distance from one beside C/α₀."""
    drawn, axes = plotting.new_figure(1, 2)
    left, right = axes[0]
    for signal, look in plotting.looks(plotting.present(rows, "signal")):
        cosines = plotting.select(rows, quantity="cosine", signal=signal)
        plotting.curve(left, cosines, "alpha0", *look, f"θ = {signal:g}")
        plotting.curve(right, cosines, "alpha0", *look, transform=lambda value: 1.0 - abs(value))
        for row in plotting.select(rows, quantity="misalignment", signal=signal):
            ends = [min(r["alpha0"] for r in cosines), max(r["alpha0"] for r in cosines)]
            right.plot(ends, [row["value"] / end for end in ends], color=look[0], lw=0.4)
    right.plot([], [], color="0.4", lw=0.4, label="C/α₀")
    plotting.lines_and_points(right)
    plotting.label_axes(left, "alpha0", "cosine")
    plotting.label_axes(right, "alpha0", "1 − |cosine|")
    right.set(yscale="log", ylim=(None, 1.3))
    left.legend(loc="lower right")
    right.legend(loc="lower left")
    plotting.caption(drawn, rows, "Two gradient steps turn the query towards the signal")
    return drawn
