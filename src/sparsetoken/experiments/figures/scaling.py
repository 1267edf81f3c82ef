"""What longer sequences cost: the signal an architecture needs, and the error at a given one."""

import math
from typing import Any

import numpy as np

from sparsetoken import plotting
from sparsetoken.experiments.figures import Rows, query_rate
from sparsetoken.experiments.sweep import Grid, Sweep
from sparsetoken.models import look
from sparsetoken.problem import SparseTokenProblem

_CLOSED = ("pooled", "vectorized", "hardmax")
_TRAINED = ("pooled", "two-step", "vectorized")
_INTEGRATED = ("attention", "elementwise", "bayes")
_LENGTHS = [*(n * 10**k for k in range(1, 6) for n in (1, 3)), 10**6]
# Some curves coincide: the wide ones lie below the thin ones.
_LINES: dict[str, dict[str, Any]] = {
    "pooled": {"dashes": "-", "lw": 3.0},
    "vectorized": {"dashes": ":", "lw": 1.4},
    "attention": {"dashes": "-", "lw": 3.0, "color": look("two-step").color},
    "hardmax": {"dashes": "--", "lw": 1.4},
    "bayes": {"dashes": ":"},
}

TITLE = "What longer sequences cost"
PANELS = (1, 2)
MINUTES = 5
QUICK = {
    "lengths": [10, 30, 100, 300, 1000, 10_000, 100_000, 1_000_000],
    "longest_integrated": 1000,
    "trained_lengths": np.geomspace(4, 300, 21).round().astype(int).tolist(),
    "trained_points": [4, 10, 30, 100],
    "dim": 200,
}


def data(
    *,
    lengths: list[int] = _LENGTHS,
    longest_integrated: int = 10_000,
    trained_lengths: list[int] = np.geomspace(4, 1000, 33).round().astype(int).tolist(),
    trained_points: list[int] = [4, 10, 30, 100, 300, 1000],
    signal: float = 6.0,
    alpha: float = 8.0,
    n_points: int = 8192,
    dim: int = 250,
    trials: int = 8,
) -> Sweep:
    """Return required signals; then oracle and trained errors at one signal.

    Where the required signal is an integral its cost grows with the length: up to
    ``longest_integrated``, with a sixteenth of the points.
    """
    integrated = sorted({n for n in lengths if n <= longest_integrated} | {longest_integrated})
    required, oracle, theory = ["required_signal"], ["oracle_error"], ["theory"]
    fixed = {"error": 0.05, "n_points": n_points // 16}
    grids = [
        Grid(required, {"model": _CLOSED, "n_tokens": lengths}, fixed, theory),
        Grid(required, {"model": _INTEGRATED, "n_tokens": integrated}, fixed, theory),
        Grid(oracle, {"model": ["bayes"], "n_tokens": trained_lengths}, {"signal": signal}, theory),
    ]
    trained = {"signal": signal, "alpha": alpha, "reg": 1e-2, "dim": dim, "trials": trials}
    for n_tokens in sorted({*trained_lengths, *trained_points}):
        rate = query_rate(SparseTokenProblem(n_tokens, 1, signal), 0.5 * alpha, 2.0)
        fixed = trained | {"n_tokens": n_tokens, "lr_query": rate, "n_points": n_points}
        grids.append(Grid(["test_error"], {"model": _TRAINED}, fixed, theory))
        if n_tokens in trained_points:
            models = _TRAINED if n_tokens <= 30 else _TRAINED[:2]
            grids.append(Grid(["test_error"], {"model": models}, fixed))
    return Sweep(grids)


def draw(rows: Rows, axes: Any) -> list[str]:
    """Draw the signal required against length, and errors at one signal."""
    left, right = axes
    plotting.panel(left, rows, "n_tokens", "required_signal", styles=_LINES)
    required = plotting.select(rows, quantity="required_signal")
    lengths = plotting.present(required, "n_tokens")
    guides = {
        r"$\sqrt{L}$": [length**0.5 for length in lengths],
        r"$\sqrt{2\,\log L}$": [math.sqrt(2 * math.log(length)) for length in lengths],
    }
    place: Any = {"xytext": (0, -4), "textcoords": "offset points", "ha": "right", "va": "top"}
    for label, needed in guides.items():  # thin lines to compare with, named at their ends
        left.plot(lengths, needed, color="0.45", lw=0.6, zorder=0)
        left.annotate(label, (lengths[-1], needed[-1]), color="0.45", fontsize=6.5, **place)
    plotting.label_axes(left, "n_tokens", "signal θ needed for 5 % error")
    plotting.panel(right, rows, "n_tokens", "test_error")
    oracle = plotting.select(rows, quantity="oracle_error")
    plotting.curve(right, oracle, "n_tokens", "black", "", "Bayes, signal known", dashes=":")
    right.set_ylim(3e-4, 0.8)
    left.legend(loc="upper left")
    right.legend(loc="lower right")
    (signal,) = plotting.present(oracle, "signal")
    longest = max(row["n_tokens"] for row in required if row["model"] in _INTEGRATED)
    return [
        "The signal needed is that of the best weights",
        f"Test errors are those after training, at θ = {signal:g}",
        f"Attention, elementwise attention and Bayes are integrals, up to L = {longest}",
    ]
