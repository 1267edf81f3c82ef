"""Test error and training loss against the number of samples, for three models."""

from typing import Any

import numpy as np

from sparsetoken import plotting
from sparsetoken.experiments.figures import Rows
from sparsetoken.experiments.sweep import Grid, Sweep

_MODELS = ("vectorized", "pooled", "two-step", "optimal")
_QUANTITIES = ("test_error", "train_loss")

TITLE = "Learning curves of three classifiers"
PANELS = (1, 2)
MINUTES = 2
QUICK = {
    "lines": [*np.geomspace(0.25, 8.0, 25), *np.linspace(2.2, 3.4, 9)],
    "points": [0.5, 1.0, 2.0, 4.0, 8.0],
    "vectorized_points": [0.5, 1.0, 2.0],
    "dim": 500,
}


def data(
    *,
    lines: list[float] = [*np.geomspace(0.25, 8.0, 49), *np.linspace(2.2, 3.4, 13)],
    points: list[float] = [0.25, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0],
    vectorized_points: list[float] = [0.25, 0.5, 1.0, 1.5, 2.0, 2.5],
    dim: int = 1000,
    trials: int = 8,
    problem: dict[str, Any] = {"reg": 1e-5},
) -> Sweep:
    """Return the curves; attention gives half of the samples to the query.

    A vectorized readout of n samples is a dense problem of size n: its points end earlier. The
    optimum has four times as many trials: they are quick, and its error bars small. Lines are dense
    where pooling bends.
    """
    fixed = problem | {"dim": dim, "trials": trials}
    grids = [Grid(_QUANTITIES, {"model": _MODELS, "alpha": lines}, fixed, ["theory"])]
    for model in _MODELS:
        alphas = vectorized_points if model == "vectorized" else points
        repeated = {"trials": 4 * trials} if model == "optimal" else {}
        grids.append(Grid(_QUANTITIES, {"alpha": alphas}, fixed | {"model": model} | repeated))
    return Sweep(grids)


def draw(rows: Rows, axes: Any) -> list[str]:
    """Draw a panel for each quantity."""
    for ax, quantity in zip(axes, _QUANTITIES, strict=True):
        plotting.panel(ax, rows, "alpha", quantity, styles={"optimal": {"dashes": "-", "lw": 1.4}})
    plotting.lines_and_points(axes[0], lines=False)
    plotting.share_legend(axes[0])
    return [
        "Two-step attention gives half of its samples to the query",
        "Best possible: no learner has a smaller error with these samples; it has no training loss",
    ]
