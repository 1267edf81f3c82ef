"""Trained on sequences of one length, tested on others."""

from typing import Any

from matplotlib.figure import Figure

from sparsetoken.experiments.figures import Rows, figure
from sparsetoken.experiments.query_rates import query_rate
from sparsetoken.experiments.sweep import Grid, Sweep
from sparsetoken.plotting import (
    caption,
    curve,
    label_axes,
    lines_and_points,
    looks,
    new_figure,
    present,
    select,
)
from sparsetoken.problem import SparseTokenProblem
from sparsetoken.vocabulary import look

__all__ = ["draw", "sweep"]

_PROBLEM: dict[str, Any] = {"n_signal": 1, "signal": 5.0, "positive_rate": 0.5, "reg": 1e-2}
_MODELS = ("two-step", "pooled")


def sweep(
    *,
    trained: list[int],
    lines: list[int],
    points: list[int],
    alpha: float,
    dim: int,
    trials: int,
) -> Sweep:
    """Return errors on each length, ``test_n_tokens``."""
    grids = []
    for n_tokens in trained:
        rate = query_rate(SparseTokenProblem(n_tokens, 1, _PROBLEM["signal"]), 0.5 * alpha)
        fixed = _PROBLEM | {"alpha": alpha, "dim": dim, "trials": trials, "n_tokens": n_tokens}
        fixed |= {"lr_query": rate}
        for lengths, source in ((lines, "theory"), (points, "simulation")):
            axes = {"model": _MODELS, "test_n_tokens": lengths}
            grids.append(Grid(["test_error"], axes, fixed, [source]))
    return Sweep(grids)


@figure(
    "length-shift",
    "test error on lengths other than that of training",
    data=sweep,
    full={
        "trained": [5, 10, 20],
        "lines": [1, 2, 3, 4, 5, 6, 8, 10, 13, 16, 20, 25, 32, 40, 50, 64, 80, 100],
        "points": [2, 5, 10, 20, 50, 100],
        "alpha": 4.0,
        "dim": 500,
        "trials": 16,
    },
    quick={
        "lines": [1, 2, 3, 5, 7, 10, 14, 20, 30, 50, 100],
        "points": [2, 10, 50],
        "dim": 200,
        "trials": 8,
    },
)
def draw(rows: Rows) -> Figure:
    """Draw a panel for each model, a curve for each length of training."""
    drawn, axes = new_figure(1, 2, height=2.6)
    for ax, model in zip(axes[0], _MODELS, strict=True):
        for n_tokens, chosen in looks(present(rows, "n_tokens")):
            here = select(rows, model=model, n_tokens=n_tokens)
            curve(ax, here, "test_n_tokens", *chosen, f"trained at L = {n_tokens}")
            ax.axvline(n_tokens, color=chosen[0], lw=0.5, ls=":")
        label_axes(ax, "test_n_tokens", "test_error")
        ax.set_title(look(model).label)
    axes[0][1].set_ylabel("")
    lines_and_points(axes[0][1])
    axes[0][1].legend(loc="lower right")
    caption(drawn, rows, "Trained at one length, tested at others")
    return drawn
