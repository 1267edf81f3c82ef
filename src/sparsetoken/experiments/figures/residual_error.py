"""What no amount of readout data removes: the error that a misaligned query leaves."""

import math

import numpy as np
from matplotlib.figure import Figure

from sparsetoken.experiments.figures import Rows, figure
from sparsetoken.experiments.sweep import Grid, Sweep
from sparsetoken.plotting import (
    COLUMN,
    caption,
    curve,
    label_axes,
    lines_and_points,
    looks,
    new_figure,
    present,
    select,
)

__all__ = ["draw", "sweep"]

_PROBLEM = {"n_tokens": 10, "n_signal": 1, "signal": 5.0, "positive_rate": 0.5, "reg": 1e-3}


def sweep(
    *,
    sharpness: list[float],
    lines: list[float],
    points: list[float],
    alpha: float,
    dim: int,
    trials: int,
) -> Sweep:
    """Return the limit; simulations have many samples per dimension, ``alpha``, not infinite."""
    fixed = _PROBLEM | {"dim": dim, "trials": trials, "model": "attention"}
    quantities, axes = ["test_error"], {"sharpness": sharpness}
    limit = fixed | {"alpha": math.inf}
    return Sweep(
        [
            Grid(quantities, axes | {"cosine": lines}, limit, ["theory"]),
            Grid(quantities, {}, limit | {"model": "pooled"}, ["theory"]),
            Grid(quantities, axes | {"cosine": points}, fixed | {"alpha": alpha}, ["simulation"]),
        ]
    )


@figure(
    "residual-error",
    "error in the limit of unlimited readout data against the query's cosine",
    data=sweep,
    full={
        "sharpness": [0.5, 1.0, 2.0, 4.0],
        "lines": np.linspace(-1.0, 1.0, 41).tolist(),
        "points": [-0.8, -0.4, 0.0, 0.4, 0.8, 0.95],
        "alpha": 100.0,
        "dim": 100,
        "trials": 8,
    },
    quick={
        "lines": np.linspace(-1.0, 1.0, 21).tolist(),
        "points": [-0.8, 0.0, 0.4, 0.8],
        "dim": 40,
    },
)
def draw(rows: Rows) -> Figure:
    """Draw the error against the cosine, and that of pooling to compare with."""
    drawn, axes = new_figure(1, 1, width=COLUMN * 1.25, height=2.9)
    ax = axes[0][0]
    attention = select(rows, model="attention")
    for sharpness, look in looks(present(attention, "sharpness")):
        chosen = select(attention, sharpness=sharpness)
        curve(ax, chosen, "cosine", *look, f"κ = {sharpness:g}")
    for row in select(rows, model="pooled"):
        ax.axhline(row["value"], color="black", ls="--", lw=0.9, label="pooled")
    lines_and_points(ax)
    label_axes(ax, "cosine", "test_error")
    ax.set_ylabel("test error, α₁ → ∞")
    ax.legend(loc="lower left", ncols=2)
    finite = present(select(rows, source="simulation"), "alpha")
    notes = [f"simulation at α₁ = {alpha:g}" for alpha in finite]
    caption(drawn, rows, "Above the dashed line attention loses to pooling", notes)
    return drawn
