"""Test error and training loss against the number of samples, for three models."""

from typing import Any

import numpy as np

from sparsetoken import plotting
from sparsetoken.experiments.figures import Rows, figure
from sparsetoken.experiments.sweep import Grid, Sweep
from sparsetoken.vocabulary import MODELS, look

_MODELS = ("vectorized", "pooled", "two-step", "optimal")
_QUANTITIES = ("test_error", "train_loss")
_PROBLEM = {"n_tokens": 10, "n_signal": 1, "signal": 5.0, "positive_rate": 0.5, "reg": 1e-5}


def sweep(
    *,
    lines: list[float],
    points: list[float],
    vectorized_points: list[float],
    dim: int,
    trials: int,
    problem: dict[str, Any],
) -> Sweep:
    """Return the curves; attention gives half of the samples to the query.

    A vectorized readout of n samples is a dense problem of size n: its points end earlier.
    """
    fixed = problem | {"dim": dim, "trials": trials}
    grids = [Grid(_QUANTITIES, {"model": _MODELS, "alpha": lines}, fixed, ["theory"])]
    for model in _MODELS:
        chosen = vectorized_points if model == "vectorized" else points
        grids.append(Grid(_QUANTITIES, {"alpha": chosen}, fixed | {"model": model}))
    return Sweep(grids)


@figure(
    "learning-curves",
    "test error and training loss against samples per dimension, three models and the optimum",
    data=sweep,
    minutes=2,
    full={
        "lines": [*np.geomspace(0.25, 8.0, 49), *np.linspace(2.2, 3.4, 13)],  # pooling bends
        "points": [0.25, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0],
        "vectorized_points": [0.25, 0.5, 1.0, 1.5, 2.0, 2.5],
        "dim": 1000,
        "trials": 8,
        "problem": _PROBLEM,
    },
    quick={
        "lines": [*np.geomspace(0.25, 8.0, 25), *np.linspace(2.2, 3.4, 9)],
        "points": [0.5, 1.0, 2.0, 4.0, 8.0],
        "vectorized_points": [0.5, 1.0, 2.0],
        "dim": 500,
    },
)
def draw(rows: Rows) -> plotting.Picture:
    """Draw a panel for each quantity."""
    drawn, axes = plotting.new_figure(1, 2)
    for ax, quantity in zip(axes[0], _QUANTITIES, strict=True):
        for model in plotting.present(rows, "model", MODELS):
            chosen = look(model)
            here = plotting.select(rows, quantity=quantity, model=model)
            if here:
                line: Any = {"dashes": "-", "lw": 1.4} if model == "optimal" else {}
                plotting.curve(ax, here, "alpha", *chosen[2:], chosen.label, **line)
        plotting.label_axes(ax, "alpha", quantity)
    plotting.plain_log(axes[0][0].yaxis)
    plotting.lines_and_points(axes[0][0], lines=False)
    plotting.share_legend(drawn, axes[0][0])
    notes = [
        "Two-step attention gives half of its samples to the query",
        "Best possible: no learner has a smaller error with these samples; it has no training loss",
    ]
    plotting.caption(drawn, rows, "Learning curves of three classifiers", notes)
    return drawn
