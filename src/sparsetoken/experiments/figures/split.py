"""How to divide the samples between query and readout."""

from collections.abc import Callable
from typing import Any

import numpy as np

from sparsetoken.experiments.sweep import Grid, Sweep

__all__ = ["FULL", "QUICK", "SUMMARY", "table"]

SUMMARY = "test error against the share of the samples given to the query"
_PROBLEM = {"n_tokens": 10, "n_signal": 1, "signal": 5.0, "positive_rate": 0.5, "reg": 1e-2}

FULL: dict[str, Any] = {
    "alphas": [1.0, 2.0, 4.0, 8.0],
    "lines": np.linspace(0.04, 0.96, 47).tolist(),
    "points": [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9],
    "dim": 500,
    "trials": 16,
}
QUICK: dict[str, Any] = FULL | {
    "alphas": [1.0, 2.0, 4.0],
    "lines": np.linspace(0.04, 0.96, 24).tolist(),
    "points": [0.1, 0.3, 0.5, 0.7, 0.9],
    "dim": 200,
}


def table(
    run: Callable[[Sweep], list[dict[str, Any]]],
    *,
    alphas: list[float],
    lines: list[float],
    points: list[float],
    dim: int,
    trials: int,
) -> list[dict[str, Any]]:
    """Compute errors, and the best split of each total as rows with quantity ``optimum``."""
    fixed = _PROBLEM | {"dim": dim, "trials": trials}
    axes = {"alpha": alphas}
    grids = [
        Grid(["test_error"], axes | {"split": lines}, fixed, ["theory"]),
        Grid(["test_error"], axes | {"split": points}, fixed, ["simulation"]),
    ]
    rows = run(Sweep(grids))
    for alpha in alphas:
        best = min(
            (row for row in rows if row["source"] == "theory" and row["alpha"] == alpha),
            key=lambda row: row["value"],
        )
        rows.append(best | {"quantity": "optimum"})
    return rows
