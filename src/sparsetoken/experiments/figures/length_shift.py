"""Trained on sequences of one length, tested on others."""

from collections.abc import Callable
from typing import Any

from sparsetoken.experiments.figures.rates import query_rate
from sparsetoken.experiments.sweep import Grid, Sweep

__all__ = ["FULL", "QUICK", "SUMMARY", "table"]

SUMMARY = "test error on lengths other than that of training"
_PROBLEM: dict[str, Any] = {"n_signal": 1, "signal": 5.0, "positive_rate": 0.5, "reg": 1e-2}
_MODELS = ("pooled", "attention")

FULL: dict[str, Any] = {
    "trained": [5, 10, 20],
    "lines": [1, 2, 3, 4, 5, 6, 8, 10, 13, 16, 20, 25, 32, 40, 50, 64, 80, 100],
    "points": [2, 5, 10, 20, 50, 100],
    "alpha": 4.0,
    "dim": 500,
    "trials": 16,
}
QUICK: dict[str, Any] = FULL | {
    "lines": [1, 2, 3, 5, 7, 10, 14, 20, 30, 50, 100],
    "points": [2, 10, 50],
    "dim": 200,
    "trials": 8,
}


def table(
    run: Callable[[Sweep], list[dict[str, Any]]],
    *,
    trained: list[int],
    lines: list[int],
    points: list[int],
    alpha: float,
    dim: int,
    trials: int,
) -> list[dict[str, Any]]:
    """Compute errors on each length, ``test_n_tokens``."""
    grids = []
    for n_tokens in trained:
        rate = query_rate(n_tokens, _PROBLEM["signal"], 0.5 * alpha)
        fixed = _PROBLEM | {"alpha": alpha, "dim": dim, "trials": trials, "n_tokens": n_tokens}
        fixed |= {"lr_query": rate}
        for lengths, source in ((lines, "theory"), (points, "simulation")):
            axes = {"model": _MODELS, "test_n_tokens": lengths}
            grids.append(Grid(["test_error"], axes, fixed, [source]))
    return run(Sweep(grids))
