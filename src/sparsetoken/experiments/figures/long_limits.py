"""Where attention with a given query stands or falls as sequences grow without bound."""

import math
from typing import Any

import numpy as np

from sparsetoken import plotting
from sparsetoken.experiments.figures import Rows, figure
from sparsetoken.experiments.sweep import Grid, Sweep, line_and_points


def sweep(
    *,
    signal: float = 1.5,
    alpha: float = 1.5,
    many: list[int] = [25, 400, 10_000],
    few: list[int] = [100, 1000, 10_000],
    sharpness: list[float] = np.geomspace(0.2, 8.0, 33).round(3).tolist(),
    sharpness_points: list[float] = [0.25, 0.5, 1.0, 2.0, 4.0, 8.0],
    locked_signals: list[float] = [3.0, 4.0, 5.0],
    lengths: list[int] = np.geomspace(3, 10_000, 21).round().astype(int).tolist(),
    length_points: list[int] = [3, 10, 100, 1000, 10_000],
    cosine: float = 0.9,
    dim: int = 200,
    trials: int = 8,
) -> Sweep:
    """Return three parts, by the column ``panel``.

    "many" and "few": R = √L and R = 1 tokens with signal, against the sharpness. "lock": R = 1
    against the length.
    """
    query: dict[str, Any] = {"model": "attention", "cosine": cosine, "alpha": alpha}
    query |= {"n_points": 2048, "n_signal": 1, "reg": 1e-4, "dim": dim, "trials": trials}
    error, curve = ["test_error"], ("sharpness", sharpness, sharpness_points)
    grids = []
    for n_tokens in many:
        fixed = query | {"n_tokens": n_tokens, "n_signal": round(math.sqrt(n_tokens))}
        fixed |= {"signal": signal, "reg": 1.0 / n_tokens}
        grids += line_and_points(error, *curve, fixed, columns={"panel": "many"})
    limit = {"sharpness": sharpness}
    grids.append(Grid(["limit_error"], limit, fixed, ["theory"], {"panel": "many"}))
    for n_tokens in few:
        fixed = query | {"n_tokens": n_tokens, "signal": locked_signals[-1]}
        grids += line_and_points(error, *curve, fixed, columns={"panel": "few"})
    for strength in locked_signals:
        fixed = query | {"signal": strength, "sharpness": strength * cosine}
        locked = error, "n_tokens", lengths, length_points, fixed
        grids += line_and_points(*locked, columns={"panel": "lock"})
    return Sweep(grids)


@figure(
    "test error of a given query on ever longer sequences, against its sharpness and their length",
    data=sweep,
    minutes=8,
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
    plotting.family(ax, plotting.select(rows, quantity="test_error"), "sharpness", "n_tokens")
    limit = plotting.select(rows, quantity="limit_error")
    plotting.curve(ax, limit, "sharpness", "black", "", "L → ∞", dashes="-")
    ax.axvline(rows[0]["signal"] * rows[0]["cosine"], color="0.8", lw=3, zorder=0)
    _label(ax, "sharpness", f"R = √L, θ = {rows[0]['signal']:g}", "upper left")


def _draw_few(ax: Any, rows: Rows) -> None:
    lead = rows[0]["signal"] * rows[0]["cosine"]
    for n_tokens, _, color in plotting.family(ax, rows, "sharpness", "n_tokens"):
        if lead**2 > 2.0 * math.log(n_tokens):
            least = lead - math.sqrt(lead**2 - 2.0 * math.log(n_tokens))
            ax.axvline(least, color=color, lw=0.5, zorder=0)
    _label(ax, "sharpness", f"R = 1, θ = {rows[0]['signal']:g}", "upper right")


def _draw_lock(ax: Any, rows: Rows) -> None:
    for signal, curve, color in plotting.family(ax, rows, "n_tokens", "signal"):
        longest = math.exp(0.5 * (signal * curve[0]["cosine"]) ** 2)
        if longest <= max(plotting.present(curve, "n_tokens")):
            ax.axvline(longest, color=color, lw=0.5, zorder=0)
    _label(ax, "n_tokens", "R = 1, κ = θγ", "upper left")


def _label(ax: Any, x: str, title: str, legend: str) -> None:
    """Label a panel of errors, from none to a little above those of a coin."""
    plotting.label_axes(ax, x, "test_error")
    ax.set_xscale("log")
    plotting.plain_log(ax.xaxis)
    ax.set_yscale("linear")
    ax.set(ylim=(0.0, 0.56), yticks=[0.0, 0.25, 0.5], title=title)
    white = {"frameon": True, "facecolor": "white", "edgecolor": "none", "framealpha": 1.0}
    ax.legend(loc=legend, handlelength=1.4, borderaxespad=0.1, **white)
