"""What longer sequences cost: the signal an architecture needs, and the error at a given one."""

from collections.abc import Callable
from typing import Any

from sparsetoken.experiments.figures.rates import query_rate
from sparsetoken.experiments.sweep import Grid, Sweep

__all__ = ["FULL", "QUICK", "SUMMARY", "table"]

SUMMARY = "required signal and test error against sequence length, six architectures"
_CLOSED = ("pooled", "vectorized", "hardmax")
_INTEGRATED = ("attention", "elementwise", "bayes")

FULL: dict[str, Any] = {
    "lengths": [10, 30, 100, 300, 1000, 3000, 10_000, 30_000, 100_000, 300_000, 1_000_000],
    "longest_integrated": 3000,
    "trained_lengths": [4, 10, 30, 100, 300, 1000],
    "signal": 6.0,
    "alpha": 8.0,
    "n_points": 4096,
    "dim": 250,
    "trials": 8,
}
QUICK: dict[str, Any] = FULL | {
    "lengths": [10, 100, 1000, 10_000, 100_000, 1_000_000],
    "longest_integrated": 300,
    "trained_lengths": [4, 10, 30, 100, 300],
    "n_points": 4096,
    "dim": 100,
}


def table(
    run: Callable[[Sweep], list[dict[str, Any]]],
    *,
    lengths: list[int],
    longest_integrated: int,
    trained_lengths: list[int],
    signal: float,
    alpha: float,
    n_points: int,
    dim: int,
    trials: int,
) -> list[dict[str, Any]]:
    """Compute required signals; then oracle and trained errors at one signal."""
    integrated = sorted({n for n in lengths if n <= longest_integrated} | {longest_integrated})
    required, oracle = ["required_signal"], ["oracle_error"]
    fixed = {"error": 0.05, "n_points": n_points, "signal": signal}
    theory = ["theory"]
    grids = [
        Grid(required, {"model": _CLOSED, "n_tokens": lengths}, fixed, theory),
        Grid(required, {"model": _INTEGRATED, "n_tokens": integrated}, fixed, theory),
        Grid(oracle, {"model": ["hardmax", "bayes"], "n_tokens": trained_lengths}, fixed, theory),
    ]
    trained = {"signal": signal, "alpha": alpha, "reg": 1e-2, "dim": dim, "trials": trials}
    for n_tokens in trained_lengths:
        models = ["pooled", "attention"] + (["vectorized"] if n_tokens <= 30 else [])
        rate = query_rate(n_tokens, signal, 0.5 * alpha)
        here = trained | {"n_tokens": n_tokens, "lr_query": rate, "n_points": n_points}
        grids.append(Grid(["test_error"], {"model": models}, here))
        grids.append(Grid(["test_error"], {"model": ["vectorized"]}, here, theory))
    return run(Sweep(grids))
