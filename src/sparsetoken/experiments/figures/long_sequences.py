"""What happens when the length of the sequences grows with the dimension, or without bound."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from sparsetoken.experiments.cell import SOURCES
from sparsetoken.experiments.figures import Rows, figure
from sparsetoken.experiments.query_rates import query_rate
from sparsetoken.experiments.sweep import Grid, Sweep
from sparsetoken.plotting import (
    Picture,
    caption,
    curve,
    label_axes,
    lines_and_points,
    looks,
    new_figure,
    plain_log,
    present,
    select,
    share_legend,
)
from sparsetoken.problem import SparseTokenProblem
from sparsetoken.vocabulary import COLORS, PARAMETERS

__all__ = ["draw", "sweep"]

_STEPS = ("published step", "centred step")
_LAW = 2.5  # samples per dimension for a cosine of ½, in units of L/(θ³R²)


def sweep(
    *,
    ratios: list[float],
    dims: list[int],
    signal: float,
    alpha0: float,
    alpha1: float,
    alpha: float,
    budget_lengths: list[int],
    budget_points: list[int],
    budget_signals: dict[int, float],
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
    """Return five parts, by the column ``panel``.

    "proportional": two steps with L = ratio·d and R = √L tokens with signal. "budget": samples for
    a cosine of ½. "many" and "few": a given query, R = √L and R = 1, against its sharpness.
    "lock": R = 1 against the length.
    """
    grids = _proportional(ratios, dims, signal, alpha0, alpha1, trials)
    size = {"dim": dim, "trials": trials}
    for n_signal, strength in budget_signals.items():
        fixed: dict[str, Any] = {"n_signal": n_signal, "signal": strength, "centre": 1} | size
        long, drawn = ([n for n in shown if n >= 4 * n_signal]
                       for shown in (budget_lengths, budget_points))  # fmt: skip
        grids += _both("budget", "required_samples", "n_tokens", long, drawn, fixed)
    given: dict[str, Any] = size | {"model": "attention", "cosine": cosine, "alpha": alpha}
    given |= {"n_points": 2048, "n_signal": 1, "reg": 1e-4}
    curves = "sharpness", sharpness, sharpness_points
    for n_tokens in few:
        fixed = given | {"n_tokens": n_tokens, "signal": locked_signals[-1]}
        grids += _both("few", "test_error", *curves, fixed)
    for n_tokens in many:
        fixed = given | {"n_tokens": n_tokens, "n_signal": round(math.sqrt(n_tokens))}
        fixed |= {"signal": signal, "reg": 1.0 / n_tokens}
        grids += _both("many", "test_error", *curves, fixed)
    grids += _both("many", "limit_error", "sharpness", sharpness, [], fixed)
    for strength in locked_signals:
        fixed = given | {"signal": strength, "sharpness": strength * cosine}
        grids += _both("lock", "test_error", "n_tokens", lengths, length_points, fixed)
    return Sweep(grids)


def _both(
    panel: str, quantity: str, x: str, lines: Sequence[float], points: Sequence[float], fixed: Any
) -> list[Grid]:
    """Return the theory on ``lines`` and ``points`` of ``x``, the simulation on ``points``."""
    mark = {"panel": panel}
    return [
        Grid([quantity], {x: shown}, fixed, sources, mark)
        for sources, shown in ((["theory"], lines), (SOURCES, points))
    ]


def _proportional(
    ratios: list[float],
    dims: list[int],
    signal: float,
    alpha0: float,
    alpha1: float,
    trials: int,
) -> list[Grid]:
    """Return two steps on sequences as long as the dimension, published and centred."""
    grids = []
    for ratio in ratios:
        for dim in dims:
            n_tokens = round(ratio * dim)
            problem = SparseTokenProblem(n_tokens, round(math.sqrt(n_tokens)), signal)
            fixed: dict[str, Any] = {
                "n_tokens": n_tokens,
                "n_signal": problem.n_signal,
                "signal": signal,
                "alpha0": alpha0,
                "alpha1": alpha1,
                "reg": 1.0 / n_tokens,
                "lr_query": query_rate(problem, alpha0, sharpness=1.0, center=True),
                "dim": dim,
                "trials": trials,
            }
            for centre, step in enumerate(_STEPS):
                sources = ["theory", "simulation"] if centre else ["simulation"]
                mark = {"panel": "proportional", "ratio": ratio, "step": step, "dim": dim}
                values = fixed | {"centre": centre, "n_points": 2048}
                grids.append(Grid(["cosine", "test_error"], {}, values, sources, mark))
    return grids


@figure(
    "long-sequences",
    "lengths in proportion to the dimension, the samples that long sequences need, and two limits",
    data=sweep,
    full={
        "ratios": [0.5, 1.0, 2.0],
        "dims": [100, 200, 400, 800, 1600, 3200],
        "signal": 1.5,
        "alpha0": 1.5,
        "alpha1": 0.5,
        "alpha": 1.5,
        "budget_lengths": np.geomspace(10, 100_000, 13).round().astype(int).tolist(),
        "budget_points": [10, 100, 1000, 10_000, 100_000],
        "budget_signals": {1: 3.0, 10: 2.0},
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
        "ratios": [1.0],
        "dims": [100, 200, 400],
        "budget_points": [10, 100, 1000],
        "many": [25, 400],
        "few": [100, 1000],
        "sharpness": np.geomspace(0.25, 6.0, 21).round(3).tolist(),
        "sharpness_points": [0.5, 2.0],
        "lengths": np.geomspace(3, 1000, 12).round().astype(int).tolist(),
        "length_points": [10, 300],
        "dim": 100,
        "trials": 8,
    },
)
def draw(rows: Rows) -> Picture:
    """Draw the proportional regime, then what grows with the length, then two limits."""
    drawn, axes = new_figure(2, 3)
    proportional = select(rows, panel="proportional")
    for ax, quantity in zip(axes[:, 0], ("cosine", "test_error"), strict=True):
        _draw_proportional(ax, select(proportional, quantity=quantity), quantity)
    share_legend(drawn, axes[0][0])
    _draw_budget(axes[0][1], select(rows, panel="budget"))
    _draw_lock(axes[1][1], select(rows, panel="lock"))
    _draw_many(axes[0][2], select(rows, panel="many"))
    _draw_few(axes[1][2], select(rows, panel="few"))
    given = [row for row in rows if row["panel"] in ("many", "few", "lock")]
    two_steps = ", ".join(
        f"{PARAMETERS[name].short} = {present(proportional, name)[0]:g}"
        for name in ("signal", "alpha0", "alpha1")
    )
    notes = [
        f"Against d: L in proportion, R = √L, {two_steps}; theory of the centred step",
        f"Pale: {_LAW:g} L/(θ³R²), and the sharpness κ = θγ",
        "Vertical lines: where the query locks on to a single signal token",
    ]
    caption(drawn, given, "Long sequences", notes)
    return drawn


def _draw_proportional(ax: Any, rows: Rows, quantity: str) -> None:
    looks_of = [(_STEPS[0], COLORS[1], "white"), (_STEPS[1], COLORS[0], COLORS[0])]
    for step, color, face in looks_of:
        for ratio, (_, marker) in looks(present(rows, "ratio")):
            curve(ax, select(rows, step=step, ratio=ratio), "dim", color, marker, face=face)
    label_axes(ax, "dim", quantity)
    if quantity == "cosine":
        for step, color, face in looks_of:
            ax.plot([], [], "o", color=color, markerfacecolor=face, label=step)
        lines_and_points(ax)
        ax.set_ylim(-0.2, 1.0)
    else:
        for ratio, (_, marker) in looks(present(rows, "ratio")):
            ax.plot([], [], marker, color="0.4", markerfacecolor="white", label=f"L/d = {ratio:g}")
        ax.set_yscale("linear")
        ax.set_ylim(0.0, 0.5)
        ax.legend(loc="lower right")


def _draw_budget(ax: Any, rows: Rows) -> None:
    for n_signal, look in looks(present(rows, "n_signal")):
        here = select(rows, n_signal=n_signal)
        (signal,) = present(here, "signal")
        curve(ax, here, "n_tokens", *look, f"R = {n_signal}, θ = {signal:g}")
        lengths = present(here, "n_tokens")
        law = [_LAW * n / (signal**3 * n_signal**2) for n in lengths]
        ax.plot(lengths, law, color="0.8", lw=3, zorder=0)
    label_axes(ax, "n_tokens", "required_samples")
    ax.set_ylabel("α₀ for a cosine of ½")
    ax.legend(loc="upper left")


def _draw_many(ax: Any, rows: Rows) -> None:
    for n_tokens, look in looks(present(rows, "n_tokens")):
        here = select(rows, n_tokens=n_tokens, quantity="test_error")
        curve(ax, here, "sharpness", *look, f"L = {n_tokens}")
    limit = select(rows, quantity="limit_error")
    curve(ax, limit, "sharpness", "black", "", "L → ∞", dashes="-")
    ax.axvline(rows[0]["signal"] * rows[0]["cosine"], color="0.8", lw=3, ymax=0.68, zorder=0)
    _against(ax, "sharpness")
    ax.set_title(f"R = √L, θ = {rows[0]['signal']:g}")


def _draw_few(ax: Any, rows: Rows) -> None:
    for n_tokens, look in looks(present(rows, "n_tokens")):
        here = select(rows, n_tokens=n_tokens)
        curve(ax, here, "sharpness", *look, f"L = {n_tokens}")
        lead = here[0]["signal"] * here[0]["cosine"]
        if lead**2 > 2.0 * math.log(n_tokens):
            least = lead - math.sqrt(lead**2 - 2.0 * math.log(n_tokens))
            ax.axvline(least, color=look[0], lw=0.5, ymax=0.68, zorder=0)
    _against(ax, "sharpness")
    ax.set_title(f"R = 1, θ = {rows[0]['signal']:g}")


def _draw_lock(ax: Any, rows: Rows) -> None:
    for signal, look in looks(present(rows, "signal")):
        here = select(rows, signal=signal)
        curve(ax, here, "n_tokens", *look, f"θ = {signal:g}")
        longest = math.exp(0.5 * (signal * here[0]["cosine"]) ** 2)
        if longest <= max(present(here, "n_tokens")):
            ax.axvline(longest, color=look[0], lw=0.5, ymax=0.68, zorder=0)
    _against(ax, "n_tokens")
    ax.set_title("R = 1, κ = θγ")


def _against(ax: Any, x: str) -> None:
    """Label a panel of errors, from none to those of a coin."""
    label_axes(ax, x, "test_error")
    ax.set_xscale("log")
    plain_log(ax.xaxis)
    ax.set_yscale("linear")
    ax.set(ylim=(0.0, 0.72), yticks=[0.0, 0.25, 0.5])
    ax.legend(loc="upper center", ncols=2)
