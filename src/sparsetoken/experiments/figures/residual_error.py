"""What no amount of readout data removes: the error that a misaligned query leaves."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from sparsetoken.experiments.sweep import Grid, Sweep

__all__ = ["FULL", "QUICK", "SUMMARY", "table"]

SUMMARY = "error in the limit of unlimited readout data against the query's cosine"
_PROBLEM = {"n_tokens": 10, "n_signal": 1, "signal": 5.0, "positive_rate": 0.5, "reg": 1e-3}

FULL: dict[str, Any] = {
    "sharpness": [0.5, 1.0, 2.0, 4.0],
    "lines": np.linspace(-1.0, 1.0, 41).tolist(),
    "points": [-0.8, -0.4, 0.0, 0.4, 0.8, 0.95],
    "alpha": 100.0,
    "dim": 100,
    "trials": 8,
}
QUICK: dict[str, Any] = FULL | {
    "lines": np.linspace(-1.0, 1.0, 21).tolist(),
    "points": [-0.8, 0.0, 0.4, 0.8],
    "dim": 40,
}


def table(
    run: Callable[[Sweep], list[dict[str, Any]]],
    *,
    sharpness: list[float],
    lines: list[float],
    points: list[float],
    alpha: float,
    dim: int,
    trials: int,
) -> list[dict[str, Any]]:
    """Compute the limit; simulations have many samples per dimension, ``alpha``, not infinite."""
    fixed = _PROBLEM | {"dim": dim, "trials": trials, "model": "attention"}
    quantities = ["test_error"]
    limit = fixed | {"alpha": math.inf}
    axes = {"sharpness": sharpness}
    grids = [
        Grid(quantities, axes | {"cosine": lines}, limit, ["theory"]),
        Grid(quantities, {}, limit | {"model": "pooled"}, ["theory"]),
        Grid(quantities, axes | {"cosine": points}, fixed | {"alpha": alpha}, ["simulation"]),
    ]
    return run(Sweep(grids))
