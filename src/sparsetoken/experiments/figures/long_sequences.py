"""What two steps learn from sequences as long as the dimension."""

import math
from typing import Any

from sparsetoken import plotting
from sparsetoken.experiments.cell import SOURCES
from sparsetoken.experiments.figures import Rows, figure, query_rate
from sparsetoken.experiments.sweep import Grid, Sweep
from sparsetoken.problem import SparseTokenProblem
from sparsetoken.vocabulary import COLORS

_QUANTITIES = ("cosine", "test_error")
_STEPS = {"published step": (COLORS[1], "white"), "centered step": (COLORS[0], COLORS[0])}


def sweep(
    *,
    ratios: list[float] = [0.5, 1.0, 2.0],
    dims: list[int] = [100, 200, 400, 800, 1600, 3200],
    signal: float = 1.5,
    alpha0: float = 1.5,
    alpha1: float = 0.5,
    trials: int = 8,
) -> Sweep:
    """Return two steps, published and centered, with L = ratio·d and R = √L signal tokens."""
    grids = []
    for ratio in ratios:
        for dim in dims:
            n_tokens = round(ratio * dim)
            problem = SparseTokenProblem(n_tokens, round(math.sqrt(n_tokens)), signal)
            fixed: dict[str, Any] = {"n_tokens": n_tokens, "n_signal": problem.n_signal}
            fixed |= {"signal": signal, "alpha0": alpha0, "alpha1": alpha1, "reg": 1.0 / n_tokens}
            fixed |= {"lr_query": query_rate(problem, alpha0, 1.0, center=True)}
            fixed |= {"n_points": 2048, "dim": dim, "trials": trials}
            for center, step in enumerate(_STEPS):
                values, sources = fixed | {"center": center}, SOURCES if center else SOURCES[1:]
                columns = {"ratio": ratio, "step": step, "dim": dim}
                grids.append(Grid(_QUANTITIES, {}, values, sources, columns))
    return Sweep(grids)


@figure(
    "cosine and test error of two steps on sequences as long as the dimension",
    title="Two steps on long sequences",
    panels=(1, 2),
    data=sweep,
    minutes=2,
    quick={"ratios": [1.0], "dims": [100, 200, 400]},
)
def draw(rows: Rows, axes: Any) -> list[str]:
    """Draw cosine and error against the dimension, a curve for each step and ratio."""
    ratios = list(plotting.looks(plotting.present(rows, "ratio")))
    for ax, quantity in zip(axes, _QUANTITIES, strict=True):
        for step, (color, face) in _STEPS.items():
            for ratio, (_, marker) in ratios:
                curve = plotting.select(rows, step=step, ratio=ratio, quantity=quantity)
                plotting.curve(ax, curve, "dim", color, marker, face=face)
            ax.plot([], [], "o", color=color, markerfacecolor=face, label=step)
        plotting.label_axes(ax, "dim", quantity)
        ax.set_yscale("linear")
    for ratio, (_, marker) in ratios if len(ratios) > 1 else []:
        axes[0].plot([], [], marker, color="0.4", markerfacecolor="white", label=f"L = {ratio:g} d")
    axes[0].set_ylim(-0.2, 1.0)
    axes[1].set_ylim(0.0, 0.5)
    plotting.lines_and_points(axes[0])
    plotting.share_legend(axes[0])
    lengths = "L = d" if [ratio for ratio, _ in ratios] == [1.0] else "L in proportion to d"
    return [f"{lengths}, R = √L; theory of the centered step"]
