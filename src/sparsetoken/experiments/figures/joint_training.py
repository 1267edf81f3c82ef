"""How far the theory of fresh samples carries when samples are reused, or training goes on."""

from collections.abc import Callable
from typing import Any

import numpy as np

from sparsetoken.experiments.sweep import Grid, Sweep

__all__ = ["FULL", "QUICK", "SUMMARY", "table"]

SUMMARY = "two-step protocol, the same with samples reused, and joint refinement"
_PROBLEM = {"n_tokens": 10, "n_signal": 1, "signal": 5.0, "positive_rate": 0.5, "reg": 1e-2}
_PROTOCOLS = ("two-step", "reused", "joint")

FULL: dict[str, Any] = {
    "lines": np.geomspace(0.5, 16.0, 31).tolist(),
    "points": [0.5, 1.0, 2.0, 4.0, 8.0, 16.0],
    "dim": 200,
    "trials": 16,
}
QUICK: dict[str, Any] = FULL | {
    "lines": np.geomspace(0.5, 8.0, 16).tolist(),
    "points": [0.5, 1.0, 2.0, 4.0, 8.0],
    "dim": 80,
    "trials": 8,
}


def table(
    run: Callable[[Sweep], list[dict[str, Any]]],
    *,
    lines: list[float],
    points: list[float],
    dim: int,
    trials: int,
) -> list[dict[str, Any]]:
    """Compute the theory of fresh halves, and of fresh samples as many as are reused.

    The column ``protocol`` tells the curves apart; for the theory of reused samples, which takes
    them for fresh ones, it is "as if fresh", and ``alpha`` is the number that is reused.
    """
    quantities = ["test_error", "cosine"]
    fixed = _PROBLEM | {"dim": dim, "trials": trials}
    halves = run(Sweep([Grid(quantities, {"alpha": lines}, fixed, ["theory"])]))
    rows = [row | {"protocol": "two-step"} for row in halves]
    for alpha in lines:
        fresh = fixed | {"alpha0": alpha, "alpha1": alpha}
        found = run(Sweep([Grid(quantities, {}, fresh, ["theory"])]))
        rows += [row | {"protocol": "as if fresh", "alpha": alpha} for row in found]
    axes = {"protocol": _PROTOCOLS, "alpha": points}
    return rows + run(Sweep([Grid(quantities, axes, fixed, ["simulation"])]))
