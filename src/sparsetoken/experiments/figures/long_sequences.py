"""What two steps learn from long sequences: as long as the dimension, and the samples they need."""

import math
from typing import Any

import numpy as np

from sparsetoken import plotting
from sparsetoken.experiments.cell import SOURCES
from sparsetoken.experiments.figures import Rows, figure
from sparsetoken.experiments.query_rates import query_rate
from sparsetoken.experiments.sweep import Grid, Sweep, line_and_points
from sparsetoken.problem import SparseTokenProblem
from sparsetoken.vocabulary import COLORS

_STEPS = ("published step", "centered step")
_LAW = 2.5  # samples per dimension for a cosine of ½, in units of L/(θ³R²)


def sweep(
    *,
    ratios: list[float] = [0.5, 1.0, 2.0],
    dims: list[int] = [100, 200, 400, 800, 1600, 3200],
    signal: float = 1.5,
    alpha0: float = 1.5,
    alpha1: float = 0.5,
    budget_lengths: list[int] = np.geomspace(10, 100_000, 13).round().astype(int).tolist(),
    budget_points: list[int] = [10, 100, 1000, 10_000, 100_000],
    budget_signals: dict[int, float] = {1: 3.0, 10: 2.0},
    dim: int = 200,
    trials: int = 8,
) -> Sweep:
    """Return two parts, by the column ``panel``.

    "proportional": two steps with L = ratio·d and R = √L tokens with signal. "budget": samples for
    a cosine of ½.
    """
    grids = []
    for ratio in ratios:
        for size in dims:
            grids += _proportional(ratio, size, signal, alpha0, alpha1, trials)
    for n_signal, strength in budget_signals.items():
        fixed: dict[str, Any] = {"n_signal": n_signal, "signal": strength, "center": 1}
        fixed |= {"dim": dim, "trials": trials}
        lines, points = (
            [n for n in lengths if n >= 4 * n_signal] for lengths in (budget_lengths, budget_points)
        )
        curve = ["required_samples"], "n_tokens", lines, points, fixed
        grids += line_and_points(*curve, columns={"panel": "budget"})
    return Sweep(grids)


def _proportional(
    ratio: float, dim: int, signal: float, alpha0: float, alpha1: float, trials: int
) -> list[Grid]:
    """Return two steps on sequences as long as the dimension, published and centered."""
    n_tokens = round(ratio * dim)
    problem = SparseTokenProblem(n_tokens, round(math.sqrt(n_tokens)), signal)
    fixed: dict[str, Any] = {"n_tokens": n_tokens, "n_signal": problem.n_signal, "signal": signal}
    fixed |= {"alpha0": alpha0, "alpha1": alpha1, "reg": 1.0 / n_tokens, "n_points": 2048}
    fixed |= {"lr_query": query_rate(problem, alpha0, sharpness=1.0, center=True)}
    fixed |= {"dim": dim, "trials": trials}
    return [
        Grid(
            ["cosine", "test_error"],
            {},
            fixed | {"center": center},
            SOURCES if center else ["simulation"],
            {"panel": "proportional", "ratio": ratio, "step": step, "dim": dim},
        )
        for center, step in enumerate(_STEPS)
    ]


@figure(
    "two steps on sequences as long as the dimension, and the samples that long sequences need",
    data=sweep,
    minutes=2,
    quick={"ratios": [1.0], "dims": [100, 200, 400], "budget_points": [10, 100, 1000], "dim": 100},
)
def draw(rows: Rows) -> plotting.Picture:
    """Draw the proportional regime, then the samples for a cosine of one half."""
    drawn, axes = plotting.new_figure(1, 3)
    proportional = plotting.select(rows, panel="proportional")
    for ax, quantity in zip(axes[0], ("cosine", "test_error"), strict=False):
        _draw_proportional(ax, plotting.select(proportional, quantity=quantity), quantity)
    _draw_budget(axes[0][2], plotting.select(rows, panel="budget"))
    plotting.share_legend(drawn, axes[0][0])
    (signal,) = plotting.present(proportional, "signal")
    notes = [
        f"Against d: L in proportion, R = √L, θ = {signal:g}; theory of the centered step",
        f"Samples for a cosine of ½: the pale lines are {_LAW:g} L/(θ³R²)",
    ]
    plotting.caption(drawn, rows, "Two steps on long sequences", notes)
    return drawn


def _draw_proportional(ax: Any, rows: Rows, quantity: str) -> None:
    looks_of = [(_STEPS[0], COLORS[1], "white"), (_STEPS[1], COLORS[0], COLORS[0])]
    ratios = list(plotting.looks(plotting.present(rows, "ratio")))
    for step, color, face in looks_of:
        for ratio, (_, marker) in ratios:
            curve = plotting.select(rows, step=step, ratio=ratio)
            plotting.curve(ax, curve, "dim", color, marker, face=face)
        ax.plot([], [], "o", color=color, markerfacecolor=face, label=step)
    for ratio, (_, marker) in ratios if len(ratios) > 1 else []:
        ax.plot([], [], marker, color="0.4", markerfacecolor="white", label=f"L = {ratio:g} d")
    plotting.lines_and_points(ax)
    plotting.label_axes(ax, "dim", quantity)
    lengths = "L = d" if ratios[0][0] == 1.0 else "L in proportion to d"
    if quantity == "cosine":
        ax.set(ylim=(-0.2, 1.0), title=f"the query, {lengths}")
    else:
        ax.set_yscale("linear")
        ax.set(ylim=(0.0, 0.5), title=f"the error, {lengths}")


def _draw_budget(ax: Any, rows: Rows) -> None:
    for n_signal, look in plotting.looks(plotting.present(rows, "n_signal")):
        curve = plotting.select(rows, n_signal=n_signal)
        (signal,) = plotting.present(curve, "signal")
        plotting.curve(ax, curve, "n_tokens", *look, f"R = {n_signal}, θ = {signal:g}")
        lengths = plotting.present(curve, "n_tokens")
        law = [_LAW * n / (signal**3 * n_signal**2) for n in lengths]
        ax.plot(lengths, law, color="0.8", lw=3, zorder=0)
    plotting.label_axes(ax, "n_tokens", "required_samples")
    ax.set_title("samples for a cosine of ½")
    ax.legend(loc="upper left")
