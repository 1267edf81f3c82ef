"""How many samples can be separated: a transition that sharpens with the dimension."""

from collections.abc import Callable
from typing import Any

import numpy as np

from sparsetoken.experiments.sweep import Grid, Sweep

__all__ = ["FULL", "QUICK", "SUMMARY", "table"]

SUMMARY = "separable fraction and training loss around the capacity, several dimensions"
_PROBLEM = {"n_tokens": 5, "n_signal": 1, "signal": 2.0, "positive_rate": 0.5, "reg": 1e-4}
_QUERY = {"cosine": 0.9, "sharpness": 1.0}

FULL: dict[str, Any] = {
    "ratios": np.linspace(0.6, 1.4, 17).tolist(),
    "lines": np.linspace(0.4, 1.6, 25).tolist(),
    "dims": [20, 50, 100],
    "trials": 50,
    "models": ["vectorized", "pooled", "attention"],
}
QUICK: dict[str, Any] = FULL | {
    "ratios": [0.5, 0.7, 0.85, 1.0, 1.15, 1.3, 1.5],
    "dims": [10, 20, 40],
    "trials": 20,
}


def table(
    run: Callable[[Sweep], list[dict[str, Any]]],
    *,
    ratios: list[float],
    lines: list[float],
    dims: list[int],
    trials: int,
    models: list[str],
) -> list[dict[str, Any]]:
    """Compute around each model's own capacity; the column ``ratio`` is alpha over it."""
    rows: list[dict[str, Any]] = []
    for model in models:
        fixed = _PROBLEM | {"model": model, "trials": trials}
        fixed |= _QUERY if model == "attention" else {}
        (limit,) = run(Sweep([Grid(["capacity"], {}, fixed, ["theory"])]))
        capacity = limit["value"]
        theory = Grid(["train_loss"], {"alpha": _times(lines, capacity)}, fixed, ["theory"])
        axes: dict[str, list[Any]] = {"alpha": _times(ratios, capacity), "dim": dims}
        trained = Grid(["separable", "train_loss"], axes, fixed, ["simulation"])
        found = run(Sweep([theory, trained]))
        rows += [limit, *(row | {"ratio": row["alpha"] / capacity} for row in found)]
    return rows


def _times(ratios: list[float], capacity: float) -> list[float]:
    return [round(ratio * capacity, 6) for ratio in ratios]
