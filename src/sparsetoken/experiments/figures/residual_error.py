"""What no amount of readout data removes: the error that a misaligned query leaves."""

import math
from typing import Any

import numpy as np

from sparsetoken import plotting
from sparsetoken.experiments.figures import Rows
from sparsetoken.experiments.sweep import Grid, Sweep

TITLE = "Above the black line attention loses to pooling"
PANELS = (1, 1)
MINUTES = 1
QUICK = {"dim": 40}


def data(
    *,
    sharpness: list[float] = [0.5, 1.0, 2.0, 4.0],
    lines: list[float] = [*np.linspace(-1.0, 0.0, 11), *np.linspace(0.025, 1.0, 40)],
    points: list[float] = [-0.8, -0.4, 0.0, 0.4, 0.8, 0.95],
    alpha: float = 100.0,
    dim: int = 100,
    trials: int = 8,
) -> Sweep:
    """Return the limit, and theory and simulation at many samples per dimension, ``alpha``."""
    fixed = {"reg": 1e-3, "dim": dim, "trials": trials, "model": "attention", "alpha": alpha}
    quantities, axes, theory = ["test_error"], {"sharpness": sharpness}, ["theory"]
    limit = fixed | {"alpha": math.inf}
    return Sweep(
        [
            Grid(quantities, axes | {"cosine": lines}, limit, theory),
            Grid(quantities, {}, limit | {"model": "pooled"}, theory),
            Grid(quantities, axes | {"cosine": points}, fixed, lines={"cosine": lines}),
        ]
    )


def draw(rows: Rows, axes: Any) -> list[str]:
    """Draw the error against the cosine, and that of pooling to compare with."""
    (ax,) = axes
    attention = plotting.select(rows, model="attention")
    (alpha,) = plotting.present(plotting.select(rows, source="simulation"), "alpha")
    for sharpness, look in plotting.looks(plotting.present(attention, "sharpness")):
        limit = plotting.select(attention, sharpness=sharpness, alpha=math.inf)
        finite = plotting.select(attention, sharpness=sharpness, alpha=alpha)
        label = f"κ = {sharpness:g}"
        plotting.curve(ax, finite, "cosine", *look, label, dashes="-", lw=3.0, alpha=0.35)
        plotting.curve(ax, limit, "cosine", *look)
    for row in plotting.select(rows, model="pooled"):
        ax.axhline(row["value"], color="black", lw=0.9, label="pooled, α → ∞")
    ax.plot([], [], color="0.4", label="theory, α → ∞")
    ax.plot([], [], color="0.4", lw=3.0, alpha=0.35, label=f"theory, α = {alpha:g}")
    plotting.lines_and_points(ax, lines=False)
    plotting.label_axes(ax, "cosine", "test_error")
    ax.set_xticks([-1.0, -0.5, 0.0, 0.5, 1.0])
    ax.legend(loc="lower left", ncols=2)
    return [f"Thin lines, and that of pooling: the limit α → ∞. Wide lines, points: α = {alpha:g}"]
