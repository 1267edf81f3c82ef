"""Whether self-attention layers before the query compound its advantage."""

from typing import Any

from sparsetoken import plotting
from sparsetoken.experiments.figures import Rows, figure
from sparsetoken.experiments.query_rates import best_sharpness
from sparsetoken.experiments.sweep import Grid, Sweep
from sparsetoken.pooling import Stacked
from sparsetoken.problem import SparseTokenProblem


def sweep(
    *,
    n_tokens: int,
    signals: dict[int, float],
    cosines: list[float],
    depths: list[int],
    points: list[int],
    alpha: float,
    dim: int,
    trials: int,
) -> Sweep:
    """Return errors against depth, each at the sharpness that is best by theory.

    ``signals`` has the strength for each number of signal tokens; ``points`` are the depths that
    are simulated, with the layers' matrices on dense tokens.
    """
    reg = 1e-2
    grids = []
    for n_signal, signal in signals.items():
        problem: Any = {"n_tokens": n_tokens, "n_signal": n_signal, "signal": signal}
        for cosine in cosines:
            for depth in depths:
                best = best_sharpness(
                    SparseTokenProblem(**problem),
                    Stacked(depth),
                    alpha=alpha,
                    reg=reg,
                    cosine=cosine,
                )
                fixed = problem | {"model": "attention", "cosine": cosine, "sharpness": best}
                fixed |= {"depth": depth, "alpha": alpha, "reg": reg, "dim": dim, "trials": trials}
                sources = ["theory", "simulation"] if depth in points else ["theory"]
                grids.append(Grid(["test_error"], {}, fixed, sources))
    return Sweep(grids)


@figure(
    "depth",
    "test error against the number of self-attention layers before the query",
    data=sweep,
    minutes=2,
    full={
        "n_tokens": 20,
        "signals": {1: 4.0, 3: 2.5},
        "cosines": [0.6, 0.8, 1.0],
        "depths": [0, 1, 2, 3, 4],
        "points": [0, 1, 2, 4],
        "alpha": 4.0,
        "dim": 200,
        "trials": 16,
    },
    quick={"cosines": [0.8, 1.0], "points": [0, 2], "dim": 100, "trials": 6},
)
def draw(rows: Rows) -> plotting.Picture:
    """Draw a panel for each number of signal tokens, a curve for each cosine."""
    counts = plotting.present(rows, "n_signal")
    drawn, axes = plotting.new_figure(1, len(counts))
    values = [row["value"] for row in rows]
    for ax, n_signal in zip(axes[0], counts, strict=True):
        here = plotting.select(rows, n_signal=n_signal)
        for cosine, look in plotting.looks(plotting.present(here, "cosine")):
            plotting.curve(
                ax, plotting.select(here, cosine=cosine), "depth", *look, f"γ = {cosine:g}"
            )
        plotting.label_axes(ax, "depth", "test_error")
        ax.set_xticks(plotting.present(here, "depth"))
        (signal,) = plotting.present(here, "signal")
        ax.set_title(f"R = {n_signal}, θ = {signal:g}")
        ax.set_yscale("linear")
        ax.set_ylim(0.8 * min(values), 1.25 * max(values))
    plotting.lines_and_points(axes[0][-1])
    axes[0][-1].legend(loc="upper left", ncols=2)
    plotting.caption(
        drawn, rows, "Layers before the query help only where it points straight at the signal"
    )
    return drawn
