"""Where attention with a given query stands or falls as sequences grow without bound."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from sparsetoken import plotting
from sparsetoken.experiments.cell import SOURCES
from sparsetoken.experiments.figures import Rows, figure
from sparsetoken.experiments.sweep import Grid, Sweep


def sweep(
    *,
    signal: float,
    alpha: float,
    many: list[int],
    few: list[int],
    sharpness: list[float],
    sharpness_points: list[float],
    locked_signals: list[float],
    lengths: list[int],
    length_points: list[int],
    cosine: float,
    dim: int,
    trials: int,
) -> Sweep:
    """Return three parts, by the column ``panel``.

    "many" and "few": R = √L and R = 1 tokens with signal, against the sharpness. "lock": R = 1
    against the length.
    """
    given: dict[str, Any] = {"model": "attention", "cosine": cosine, "alpha": alpha}
    given |= {"n_points": 2048, "n_signal": 1, "reg": 1e-4, "dim": dim, "trials": trials}
    curves = "sharpness", sharpness, sharpness_points
    grids = []
    for n_tokens in many:
        fixed = given | {"n_tokens": n_tokens, "n_signal": round(math.sqrt(n_tokens))}
        fixed |= {"signal": signal, "reg": 1.0 / n_tokens}
        grids += _both("many", "test_error", *curves, fixed)
    grids += _both("many", "limit_error", "sharpness", sharpness, [], fixed)
    for n_tokens in few:
        fixed = given | {"n_tokens": n_tokens, "signal": locked_signals[-1]}
        grids += _both("few", "test_error", *curves, fixed)
    for strength in locked_signals:
        fixed = given | {"signal": strength, "sharpness": strength * cosine}
        grids += _both("lock", "test_error", "n_tokens", lengths, length_points, fixed)
    return Sweep(grids)


def _both(
    panel: str, quantity: str, x: str, lines: Sequence[float], points: Sequence[float], fixed: Any
) -> list[Grid]:
    """Return the theory on ``lines`` and ``points`` of ``x``, the simulation on ``points``."""
    return [
        Grid([quantity], {x: shown}, fixed, sources, {"panel": panel})
        for sources, shown in ((["theory"], lines), (SOURCES, points))
    ]


@figure(
    "long-limits",
    "test error of a given query on ever longer sequences, against its sharpness and their length",
    data=sweep,
    minutes=8,
    full={
        "signal": 1.5,
        "alpha": 1.5,
        "many": [25, 400, 10_000],
        "few": [100, 1000, 10_000],
        "sharpness": np.geomspace(0.2, 8.0, 33).round(3).tolist(),
        "sharpness_points": [0.25, 0.5, 1.0, 2.0, 4.0, 8.0],
        "locked_signals": [3.0, 4.0, 5.0],
        "lengths": np.geomspace(3, 10_000, 21).round().astype(int).tolist(),
        "length_points": [3, 10, 100, 1000, 10_000],
        "cosine": 0.9,
        "dim": 200,
        "trials": 8,
    },
    quick={
        "many": [25, 400],
        "few": [100, 1000],
        "sharpness": np.geomspace(0.25, 6.0, 21).round(3).tolist(),
        "sharpness_points": [0.5, 2.0],
        "lengths": np.geomspace(3, 1000, 12).round().astype(int).tolist(),
        "length_points": [10, 300],
        "dim": 100,
    },
)
def draw(rows: Rows) -> plotting.Picture:
    """Draw many signal tokens, then a single one, against sharpness and against length."""
    drawn, axes = plotting.new_figure(1, 3)
    many, few, lock = axes[0]
    _draw_many(many, plotting.select(rows, panel="many"))
    _draw_few(few, plotting.select(rows, panel="few"))
    _draw_lock(lock, plotting.select(rows, panel="lock"))
    notes = [
        "Pale: the sharpness κ = θγ",
        "Vertical lines: where the query locks on to a single signal token",
    ]
    plotting.caption(drawn, rows, "Attention with a given query on long sequences", notes)
    return drawn


def _draw_many(ax: Any, rows: Rows) -> None:
    for n_tokens, look in plotting.looks(plotting.present(rows, "n_tokens")):
        here = plotting.select(rows, n_tokens=n_tokens, quantity="test_error")
        plotting.curve(ax, here, "sharpness", *look, f"L = {n_tokens}")
    limit = plotting.select(rows, quantity="limit_error")
    plotting.curve(ax, limit, "sharpness", "black", "", "L → ∞", dashes="-")
    ax.axvline(rows[0]["signal"] * rows[0]["cosine"], color="0.8", lw=3, zorder=0)
    _label(ax, "sharpness", f"R = √L, θ = {rows[0]['signal']:g}", "upper left")


def _draw_few(ax: Any, rows: Rows) -> None:
    for n_tokens, look in plotting.looks(plotting.present(rows, "n_tokens")):
        here = plotting.select(rows, n_tokens=n_tokens)
        plotting.curve(ax, here, "sharpness", *look, f"L = {n_tokens}")
        lead = here[0]["signal"] * here[0]["cosine"]
        if lead**2 > 2.0 * math.log(n_tokens):
            least = lead - math.sqrt(lead**2 - 2.0 * math.log(n_tokens))
            ax.axvline(least, color=look[0], lw=0.5, zorder=0)
    _label(ax, "sharpness", f"R = 1, θ = {rows[0]['signal']:g}", "upper right")


def _draw_lock(ax: Any, rows: Rows) -> None:
    for signal, look in plotting.looks(plotting.present(rows, "signal")):
        here = plotting.select(rows, signal=signal)
        plotting.curve(ax, here, "n_tokens", *look, f"θ = {signal:g}")
        longest = math.exp(0.5 * (signal * here[0]["cosine"]) ** 2)
        if longest <= max(plotting.present(here, "n_tokens")):
            ax.axvline(longest, color=look[0], lw=0.5, zorder=0)
    _label(ax, "n_tokens", "R = 1, κ = θγ", "upper left")


def _label(ax: Any, x: str, title: str, legend: str) -> None:
    """Label a panel of errors, from none to a little above those of a coin."""
    plotting.label_axes(ax, x, "test_error")
    ax.set_xscale("log")
    plotting.plain_log(ax.xaxis)
    ax.set_yscale("linear")
    ax.set(ylim=(0.0, 0.56), yticks=[0.0, 0.25, 0.5], title=title)
    ax.legend(loc=legend, frameon=True, facecolor="white", edgecolor="none", framealpha=1.0)
