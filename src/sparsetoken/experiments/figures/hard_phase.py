"""Where learning is impossible, possible but hard, and easy: length against samples."""

import math
from typing import Any

import numpy as np

from sparsetoken import plotting
from sparsetoken.experiments.figures import Rows
from sparsetoken.experiments.sweep import Grid, Sweep
from sparsetoken.vocabulary import COLORS, MARKERS

_THRESHOLDS = ("information_threshold", "iteration_threshold")

TITLE = "Where learning is hard"
PANELS = (1, 2)
MINUTES = 6
QUICK = {
    "lengths": np.geomspace(6, 10_000, 25).round().astype(int).tolist(),
    "length_points": [10, 100, 300],
    "alphas": [0.05, 0.2, 0.8],
    "lines": np.geomspace(0.03, 2.0, 41).tolist(),
    "points": [0.1, 0.4, 0.8],
    "dims": [50, 200],
    "trials": 4,
}


def data(
    *,
    lengths: list[int] = np.geomspace(6, 10_000, 61).round().astype(int).tolist(),
    length_points: list[int] = [10, 30, 100, 300, 1000],
    alphas: list[float] = [0.0125, 0.025, 0.05, 0.1, 0.2, 0.4, 0.8, 1.6],
    n_tokens: int = 300,
    lines: list[float] = np.geomspace(0.03, 2.0, 121).tolist(),
    points: list[float] = [0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.8, 1.6],
    dims: list[int] = [100, 400],
    trials: int = 8,
) -> Sweep:
    """Return two parts, by the column ``panel``: "phases", and "curve" at one length.

    ``dims`` are two sizes of the simulation, which starts from nothing.
    """
    best, phases, curve = {"model": "optimal"}, {"panel": "phases"}, {"panel": "curve"}
    started = best | {"trials": trials, "start": "nothing"}
    axes: dict[str, Any] = {"n_tokens": length_points, "alpha": alphas, "dim": dims}
    line: dict[str, Any] = {"alpha": lines}
    dots: dict[str, Any] = {"alpha": points, "dim": dims}
    length = {"n_tokens": n_tokens}
    return Sweep(
        [
            Grid(_THRESHOLDS, {"n_tokens": lengths}, best, ["theory"], columns=phases),
            Grid(["cosine"], axes, started, ["simulation"], columns=phases),
            Grid(["cosine"], line, best | length, ["theory"], columns=curve),
            Grid(["cosine"], dots, started | length, ["simulation"], line, curve),
        ]
    )


def draw(rows: Rows, axes: Any) -> list[str]:
    """Draw the phases with what message passing found, then its cosine at one length."""
    left, right = axes
    _draw_phases(left, plotting.select(rows, panel="phases"))
    _draw_curve(right, plotting.select(rows, panel="curve"))
    plotting.share_legend(right)
    small, large = plotting.present(rows, "dim")
    return [
        "Impossible: the samples tell little of the direction. Hard: they tell it, but the "
        "iteration from nothing does not find it",
        f"Circles: mean cosine of message passing, white 0 to black 1; left half d = {small}, "
        f"right half d = {large}",
    ]


def _draw_phases(ax: Any, rows: Rows) -> None:
    """Draw regions and circles with two halves, as dark as the cosine."""
    lengths = plotting.present(plotting.select(rows, quantity=_THRESHOLDS[0]), "n_tokens")
    information, iteration = (  # numbers of samples, at each length
        [plotting.select(rows, quantity=name, n_tokens=length)[0]["value"] for length in lengths]
        for name in _THRESHOLDS
    )
    simulated = plotting.select(rows, quantity="cosine")
    alphas = plotting.present(simulated, "alpha")
    low, high = 0.6 * alphas[0], 1.7 * alphas[-1]
    regions: dict[Any, Any] = {  # name, color and height of the name: from where to where
        ("impossible", "0.88", 0.85): (np.full(len(lengths), low), information),
        ("hard", "#F7D9B8", 0.85): (information, np.minimum(iteration, high)),
        ("easy", "#D6E9F5", 0.3): (iteration, np.full(len(lengths), high)),
    }
    for (name, color, height), (left, right) in regions.items():
        ax.fill_betweenx(lengths, left, right, color=color, lw=0)
        index = int(height * len(lengths))
        middle = math.sqrt(left[index] * right[index])
        words = ax.text(middle, lengths[index], name, ha="center", va="center", style="italic")
        words.set_bbox({"facecolor": color, "edgecolor": "none", "pad": 1.0})
        words.set_zorder(4)
    ax.plot(information, lengths, color=COLORS[1], lw=1.0)
    ax.plot(iteration, lengths, color=COLORS[0], lw=1.0)
    _, large = plotting.present(simulated, "dim")
    for row in simulated:
        half = "right" if row["dim"] == large else "left"
        shade = f"{1.0 - min(max(row['value'], 0.0), 1.0):.3f}"
        ax.plot(
            row["alpha"], row["n_tokens"], "o", ms=5, fillstyle=half, color=shade,
            markerfacecoloralt="none", markeredgecolor="black", markeredgewidth=0.5, zorder=3,
        )  # fmt: skip
    plotting.label_axes(ax, "alpha", "n_tokens")
    ax.set(xlim=(low, high), ylim=(lengths[0], lengths[-1]))
    plotting.plain_log(ax.xaxis)


def _draw_curve(ax: Any, rows: Rows) -> None:
    """Draw the optimum, what iteration from nothing reaches, and its simulation at two sizes."""
    best = [row for row in rows if "start" not in row]
    started = plotting.select(rows, start="nothing", source="theory")
    plotting.curve(ax, best, "alpha", "black", "", "optimum", dashes="-", lw=1.6)
    plotting.curve(ax, started, "alpha", COLORS[0], "", "iteration from nothing", dashes="--")
    simulated = plotting.select(rows, source="simulation")
    looks = zip(plotting.present(simulated, "dim"), ("white", COLORS[0]), MARKERS, strict=False)
    for dim, face, marker in looks:
        size, label = plotting.select(simulated, dim=dim), f"message passing, d = {dim}"
        plotting.curve(ax, size, "alpha", COLORS[0], marker, label, face=face)
    plotting.label_axes(ax, "alpha", "cosine")
    ax.set_title(f"L = {plotting.present(rows, 'n_tokens')[0]}")
