"""Test error and training loss against the number of samples, for the three models."""

from collections.abc import Callable
from typing import Any

import numpy as np

from sparsetoken.experiments.sweep import Grid, Sweep

__all__ = ["FULL", "QUICK", "SUMMARY", "table"]

SUMMARY = "test error and training loss against samples per dimension, three models"
_PROBLEM = {"n_tokens": 10, "n_signal": 1, "signal": 5.0, "positive_rate": 0.5, "reg": 1e-5}
_MODELS = ("vectorized", "pooled", "attention")

# A vectorized readout of n samples is a dense problem of size n: its points end earlier.
FULL: dict[str, Any] = {
    "lines": np.geomspace(0.25, 8.0, 41).tolist(),
    "points": [0.25, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0],
    "vectorized_points": [0.25, 0.5, 1.0, 1.5, 2.0, 2.5],
    "dim": 1000,
    "trials": 8,
    "problem": _PROBLEM,
}
QUICK: dict[str, Any] = FULL | {
    "lines": np.geomspace(0.25, 8.0, 21).tolist(),
    "points": [0.5, 1.0, 2.0, 4.0, 8.0],
    "vectorized_points": [0.5, 1.0, 2.0],
    "dim": 500,
}


def table(
    run: Callable[[Sweep], list[dict[str, Any]]],
    *,
    lines: list[float],
    points: list[float],
    vectorized_points: list[float],
    dim: int,
    trials: int,
    problem: dict[str, Any],
) -> list[dict[str, Any]]:
    """Compute the curves; attention gives half of the samples to the query."""
    quantities = ["test_error", "train_loss"]
    fixed = problem | {"dim": dim, "trials": trials}
    grids = [Grid(quantities, {"model": _MODELS, "alpha": lines}, fixed, ["theory"])]
    for model in _MODELS:
        chosen = vectorized_points if model == "vectorized" else points
        grids.append(Grid(quantities, {"alpha": chosen}, fixed | {"model": model}))
    return run(Sweep(grids))
