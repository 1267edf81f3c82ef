"""How the learning rates, the rate of positives and the temperature decide what is learned."""

from dataclasses import replace
from typing import Any

import numpy as np

from sparsetoken import plotting
from sparsetoken.experiments.figures import Rows
from sparsetoken.experiments.sweep import Grid, Sweep
from sparsetoken.vocabulary import COLORS

_QUANTITIES = ("cosine", "test_error")

TITLE = "What decides whether the query finds the signal"
PANELS = (2, 3)
MINUTES = 1
QUICK = {"dim": 150}


def data(
    *,
    readout_rates: list[float] = np.geomspace(0.2, 20.0, 25).tolist(),
    bias_rates: list[float] = np.linspace(0.0, 6.0, 25).tolist(),
    rare: float = 0.2,
    positive_rates: list[float] = [*np.linspace(0.04, 0.46, 36), *np.linspace(0.5, 0.96, 12)],
    positive_points: list[float] = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9],
    betas: list[float] = np.geomspace(0.1, 10.0, 41).tolist(),
    beta_points: list[float] = [0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0],
    compared_bias_rates: list[float] = [0.0, 1.0, 4.0],
    alpha: float = 4.0,
    dim: int = 500,
    trials: int = 8,
) -> Sweep:
    """Return three panels; the column ``panel`` says which: rates, positives or beta."""
    fixed = {"alpha": alpha, "dim": dim, "trials": trials}
    plane = {"lr_readout": readout_rates, "lr_bias": bias_rates}
    rates: dict[str, Any] = {"lr_bias": compared_bias_rates, "positive_rate": positive_points}
    grids = {
        "rates": Grid(_QUANTITIES, plane, fixed | {"positive_rate": rare}, ["theory"]),
        "positives": Grid(_QUANTITIES, rates, fixed, lines={"positive_rate": positive_rates}),
        "beta": Grid(_QUANTITIES, {"beta": beta_points}, fixed, lines={"beta": betas}),
    }
    return Sweep([replace(grid, columns={"panel": name}) for name, grid in grids.items()])


def draw(rows: Rows, axes: Any) -> list[str]:
    """Draw cosine above, test error below: a map of the rates, then curves."""
    for name, (plane, positives, beta) in zip(_QUANTITIES, (axes[:3], axes[3:]), strict=True):
        _plane(plane, plotting.select(rows, panel="rates"), name)
        shown = plotting.select(rows, panel="positives")
        plotting.panel(positives, shown, "positive_rate", name, "lr_bias")
        shown = plotting.select(rows, panel="beta", quantity=name)
        plotting.curve(beta, shown, "beta", COLORS[0])
        plotting.label_axes(beta, "beta", name)
        for ax in (positives, beta):
            ax.set(yscale="linear", ylabel=name.replace("_", " "))
            ax.set_ylim(*((-0.25, 1.05) if name == "cosine" else (0.0, None)))
    plotting.lines_and_points(axes[2])
    for ax in axes[1:3]:
        ax.axhline(0.0, color="0.6", lw=0.8, ls=":", zorder=0)
        ax.legend(loc="center right")
    (rare,) = plotting.present(plotting.select(rows, panel="rates"), "positive_rate")
    return [
        f"The maps are at π = {rare:g}; below the white line the query points away from the signal"
    ]


def _plane(ax: Any, rows: Rows, name: str) -> None:
    """Draw a map over the learning rates, and the boundary where the cosine changes sign."""
    x, y = plotting.present(rows, "lr_readout"), plotting.present(rows, "lr_bias")

    def grid(quantity: str) -> Any:
        shown = plotting.select(rows, quantity=quantity)
        shown.sort(key=lambda row: (row["lr_bias"], row["lr_readout"]))
        return np.reshape([row["value"] for row in shown], (len(y), len(x)))

    colors = "cividis" if name == "cosine" else "cividis_r"
    image = ax.pcolormesh(x, y, grid(name), cmap=colors, shading="gouraud")
    image.set_rasterized(True)
    if grid("cosine").min() < 0.0:
        ax.contour(x, y, grid("cosine"), levels=[0.0], colors="white", linewidths=1.4)
    plotting.label_axes(ax, "lr_readout", "lr_bias")
    bar = ax.figure.colorbar(image, ax=ax)
    bar.ax.locator_params(axis="y", nbins=5)
    bar.set_label(name.replace("_", " "), labelpad=2)
