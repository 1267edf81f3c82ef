"""How the query turns towards the signal as it sees more samples."""

from collections.abc import Callable
from typing import Any

import numpy as np

from sparsetoken.experiments.sweep import Grid, Sweep

__all__ = ["FULL", "QUICK", "SUMMARY", "table"]

SUMMARY = "cosine between query and signal against samples per dimension"

FULL: dict[str, Any] = {
    "signals": [2.0, 3.0, 5.0, 8.0],
    "lines": np.geomspace(0.1, 1000.0, 61).tolist(),
    "points": np.geomspace(0.1, 1000.0, 13).tolist(),
    "dim": 2000,
    "trials": 16,
}
QUICK: dict[str, Any] = FULL | {
    "lines": np.geomspace(0.1, 100.0, 31).tolist(),
    "points": np.geomspace(0.1, 100.0, 10).tolist(),
    "dim": 500,
}


def table(
    run: Callable[[Sweep], list[dict[str, Any]]],
    *,
    signals: list[float],
    lines: list[float],
    points: list[float],
    dim: int,
    trials: int,
) -> list[dict[str, Any]]:
    """Compute cosines, and the constant C of |cosine| = 1 − C/alpha₀ once for each signal."""
    fixed = {"n_tokens": 10, "n_signal": 1, "positive_rate": 0.5, "dim": dim, "trials": trials}
    axes = {"signal": signals}
    return run(
        Sweep(
            [
                Grid(["cosine"], axes | {"alpha0": lines}, fixed, ["theory"]),
                Grid(["misalignment"], axes | {"alpha0": [1.0]}, fixed, ["theory"]),
                Grid(["cosine"], axes | {"alpha0": points}, fixed, ["simulation"]),
            ]
        )
    )
