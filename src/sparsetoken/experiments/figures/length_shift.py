"""Trained on short sequences, served long ones: as a whole, or window by window."""

from typing import Any

import numpy as np

from sparsetoken import plotting
from sparsetoken.experiments.cell import SOURCES
from sparsetoken.experiments.figures import Rows, figure, query_rate
from sparsetoken.experiments.sweep import Grid, Sweep
from sparsetoken.problem import SparseTokenProblem
from sparsetoken.vocabulary import COLORS, look

_PROBLEM: dict[str, Any] = {"n_signal": 1, "signal": 6.0, "positive_rate": 0.5, "reg": 1e-2}
_QUANTITIES = ("test_error", "false_positives", "recall")
_LEAST_RATE = 3e-4  # rarer false positives are off the picture


def _lengths(count: int) -> list[int]:
    """Return lengths from 10 to 10,000, mostly such that windows of 10 divide them.

    They are dense where alarms cease.
    """
    spread = (10 * np.geomspace(1, 1000, count).round()).astype(int).tolist()
    return sorted({*range(10, 40, 2), *range(40, 80, 10), *spread})


def sweep(
    *,
    trained: int = 10,
    lines: list[int] = _lengths(31),
    points: list[int] = [10, 20, 30, 100, 300, 1000, 3000, 10_000],
    alpha: float = 4.0,
    sharpness: float = 0.7,
    fpr: float = 0.01,
    n_points: int = 16_384,
    short_points: int = 1_048_576,
    window_points: int = 1_048_576,
    dim: int = 500,
    trials: int = 16,
) -> Sweep:
    """Return what happens at each length, ``test_n_tokens``.

    The column ``read`` is "whole", or "windows" of the length of training where they divide it.
    Rare alarms, of sequences a little longer than in training, need ``short_points``.
    """
    rate = query_rate(SparseTokenProblem(trained, 1, _PROBLEM["signal"]), 0.5 * alpha, sharpness)
    fixed = _PROBLEM | {"alpha": alpha, "dim": dim, "trials": trials, "n_tokens": trained}
    fixed |= {"fpr": fpr, "n_points": n_points, "lr_query": rate}
    grids = []
    for lengths, sources in ((lines, ["theory"]), (points, SOURCES)):
        for length in lengths:
            whole = fixed | {"test_n_tokens": length}
            whole["n_points"] = short_points if length < 8 * trained else n_points
            axes = {"model": ("two-step", "pooled")}
            grids.append(Grid(_QUANTITIES, axes, whole, sources, {"read": "whole"}))
        for length in (n for n in lengths if n % trained == 0):
            cut = fixed | {"test_n_tokens": length, "n_windows": length // trained}
            cut |= {"model": "two-step", "n_points": window_points}
            grids.append(Grid(_QUANTITIES, {}, cut, sources, {"read": "windows"}))
    return Sweep(grids)


@figure(
    "error, false positives and recall on sequences longer than those of training",
    title="Trained on short sequences, served longer ones",
    panels=(1, len(_QUANTITIES)),
    data=sweep,
    minutes=3,
    quick={
        "lines": _lengths(19),
        "points": [10, 20, 100, 1000, 10_000],
        "n_points": 4096,
        "short_points": 524_288,
        "window_points": 262_144,
        "dim": 200,
        "trials": 8,
    },
)
def draw(rows: Rows, axes: Any) -> list[str]:
    """Draw a panel for each quantity, a curve for each way to read a sequence."""
    two_step, pooled = look("two-step"), look("pooled")
    ways: list[tuple[dict[str, Any], tuple[str, str], str]] = [
        ({"model": "two-step", "read": "whole"}, (COLORS[0], two_step.marker), "attention"),
        ({"read": "windows"}, (COLORS[2], "^"), "attention in windows"),
        ({"model": "pooled"}, (pooled.color, pooled.marker), pooled.label),
    ]
    fpr = rows[0]["fpr"]
    for ax, quantity in zip(axes, _QUANTITIES, strict=True):
        for which, style, label in ways:
            curve = plotting.select(rows, quantity=quantity, **which)
            if quantity == "false_positives":  # an empty place on a logarithmic axis
                curve = [row for row in curve if row["value"] > 1e-12]
            plotting.curve(ax, curve, "test_n_tokens", *style, label)
        plotting.label_axes(ax, "test_n_tokens", quantity)
        ax.set_xlabel("sequence length in testing")
    error, alarms, recall = axes
    alarms.set_ylim(_LEAST_RATE, 1.5)
    alarms.axhline(fpr, color="0.6", lw=0.8, ls=":", zorder=0)
    alarms.set_ylabel("false-positive rate")
    alarms.set_title(f"threshold of {100 * fpr:g} % in training")
    recall.set_ylim(0.0, 1.03)
    recall.set_title(f"threshold of {100 * fpr:g} % at each length")
    error.set_title("trained bias")
    plotting.lines_and_points(alarms)
    plotting.share_legend(alarms)
    return ["Windows have the length of training; the largest score of the windows counts"]
