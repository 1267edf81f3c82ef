"""Whether self-attention layers before the query compound its advantage."""

from itertools import product
from typing import Any

from sparsetoken import plotting
from sparsetoken.experiments.cell import SOURCES
from sparsetoken.experiments.figures import Rows, figure
from sparsetoken.experiments.query_rates import best_sharpness
from sparsetoken.experiments.sweep import Grid, Sweep
from sparsetoken.pooling import Stacked
from sparsetoken.problem import SparseTokenProblem


def sweep(
    *,
    n_tokens: int = 20,
    signals: dict[int, float] = {1: 4.0, 3: 2.5},
    cosines: list[float] = [0.6, 0.8, 1.0],
    depths: list[int] = [0, 1, 2, 3, 4],
    points: list[int] = [0, 1, 2, 4],
    alpha: float = 4.0,
    dim: int = 200,
    trials: int = 16,
) -> Sweep:
    """Return errors against depth, each at the sharpness that is best by theory.

    ``signals`` has the strength for each number of signal tokens; ``points`` are the depths that
    are simulated, with the layers' matrices on dense tokens.
    """
    grids = []
    for (n_signal, signal), cosine, depth in product(signals.items(), cosines, depths):
        problem: Any = {"n_tokens": n_tokens, "n_signal": n_signal, "signal": signal}
        training: Any = {"alpha": alpha, "reg": 1e-2, "cosine": cosine}
        best = best_sharpness(SparseTokenProblem(**problem), Stacked(depth), **training)
        fixed = problem | training | {"model": "attention", "sharpness": best, "depth": depth}
        fixed |= {"dim": dim, "trials": trials}
        grids.append(Grid(["test_error"], {}, fixed, SOURCES if depth in points else ["theory"]))
    return Sweep(grids)


@figure(
    "test error against the number of self-attention layers before the query",
    data=sweep,
    minutes=2,
    quick={"cosines": [0.8, 1.0], "points": [0, 2], "dim": 100, "trials": 6},
)
def draw(rows: Rows) -> plotting.Picture:
    """Draw a panel for each number of signal tokens, a curve for each cosine."""
    counts = plotting.present(rows, "n_signal")
    drawn, axes = plotting.new_figure(1, len(counts))
    values = [row["value"] for row in rows]
    for ax, n_signal in zip(axes[0], counts, strict=True):
        panel = plotting.select(rows, n_signal=n_signal)
        plotting.family(ax, panel, "depth", "cosine")
        plotting.label_axes(ax, "depth", "test_error")
        ax.set_xticks(plotting.present(panel, "depth"))
        (signal,) = plotting.present(panel, "signal")
        ax.set_title(f"R = {n_signal}, θ = {signal:g}")
        ax.set_yscale("linear")
        ax.set_ylim(0.8 * min(values), 1.25 * max(values))
    plotting.lines_and_points(axes[0][-1])
    axes[0][-1].legend(loc="upper left", ncols=2)
    plotting.caption(
        drawn, rows, "Layers before the query help only where it points straight at the signal"
    )
    return drawn
