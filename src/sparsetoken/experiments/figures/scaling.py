"""What longer sequences cost: the signal an architecture needs, and the error at a given one."""

import math
from typing import Any

from matplotlib.figure import Figure

from sparsetoken.experiments.figures import Rows, figure
from sparsetoken.experiments.query_rates import query_rate
from sparsetoken.experiments.sweep import Grid, Sweep
from sparsetoken.plotting import caption, curve, guide, label_axes, new_figure, present, select
from sparsetoken.problem import SparseTokenProblem
from sparsetoken.vocabulary import MODELS, look

__all__ = ["draw", "sweep"]

_CLOSED = ("pooled", "vectorized", "hardmax")
_INTEGRATED = ("attention", "elementwise", "bayes")
_DASHES = {"vectorized": ":", "bayes": ":", "hardmax": "--"}  # some curves coincide


def sweep(
    *,
    lengths: list[int],
    longest_integrated: int,
    trained_lengths: list[int],
    signal: float,
    alpha: float,
    n_points: int,
    dim: int,
    trials: int,
) -> Sweep:
    """Return required signals; then oracle and trained errors at one signal."""
    integrated = sorted({n for n in lengths if n <= longest_integrated} | {longest_integrated})
    required, oracle, theory = ["required_signal"], ["oracle_error"], ["theory"]
    fixed = {"error": 0.05, "n_points": n_points, "signal": signal}
    grids = [
        Grid(required, {"model": _CLOSED, "n_tokens": lengths}, fixed, theory),
        Grid(required, {"model": _INTEGRATED, "n_tokens": integrated}, fixed, theory),
        Grid(oracle, {"model": ["hardmax", "bayes"], "n_tokens": trained_lengths}, fixed, theory),
    ]
    trained = {"signal": signal, "alpha": alpha, "reg": 1e-2, "dim": dim, "trials": trials}
    for n_tokens in trained_lengths:
        models = ["pooled", "two-step"] + (["vectorized"] if n_tokens <= 30 else [])
        rate = query_rate(SparseTokenProblem(n_tokens, 1, signal), 0.5 * alpha)
        here = trained | {"n_tokens": n_tokens, "lr_query": rate, "n_points": n_points}
        grids.append(Grid(["test_error"], {"model": models}, here))
        grids.append(Grid(["test_error"], {"model": ["vectorized"]}, here, theory))
    return Sweep(grids)


@figure(
    "scaling",
    "required signal and test error against sequence length, six architectures",
    data=sweep,
    full={
        "lengths": [10, 30, 100, 300, 1000, 3000, 10_000, 30_000, 100_000, 300_000, 1_000_000],
        "longest_integrated": 3000,
        "trained_lengths": [4, 10, 30, 100, 300, 1000],
        "signal": 6.0,
        "alpha": 8.0,
        "n_points": 4096,
        "dim": 250,
        "trials": 8,
    },
    quick={
        "lengths": [10, 100, 1000, 10_000, 100_000, 1_000_000],
        "longest_integrated": 300,
        "trained_lengths": [4, 10, 30, 100, 300],
        "dim": 100,
    },
)
def draw(rows: Rows) -> Figure:
    """Draw the signal required against length, and errors at one signal."""
    drawn, axes = new_figure(1, 2, height=2.9)
    left, right = axes[0]
    required = select(rows, quantity="required_signal")
    _models(left, required, "{}")
    lengths = present(required, "n_tokens")
    guide(left, lengths, [length**0.5 for length in lengths], r"$\sqrt{L}$")
    slow = [math.sqrt(2 * math.log(length)) for length in lengths]
    guide(left, lengths, slow, r"$\sqrt{2\,\log L}$")
    label_axes(left, "n_tokens", "signal θ needed for 5 % error")
    left.set_yscale("log")
    _models(right, select(rows, quantity="test_error"), "{}, trained", dashes={})
    _models(right, select(rows, quantity="oracle_error"), "{}, signal known")
    label_axes(right, "n_tokens", "test_error")
    right.set_ylim(2e-4, 0.8)
    left.legend(loc="upper left")
    right.legend(loc="lower right")
    fixed = [row for row in rows if row["quantity"] != "required_signal"]
    notes = ["right: given θ"]
    integrated = [row["n_tokens"] for row in required if row["model"] in _INTEGRATED]
    if integrated:
        notes.append(
            f"attention, elementwise and Bayes are integrals, here up to L = {max(integrated)}"
        )
    caption(drawn, fixed, "What longer sequences cost", notes)
    return drawn


def _models(ax: Any, rows: Rows, label: str, dashes: dict[str, str] = _DASHES) -> None:
    for model in present(rows, "model", MODELS):
        known, style = look(model), dashes.get(model, "-")
        here = select(rows, model=model)
        called = label.format(known.label)
        curve(ax, here, "n_tokens", known.color, known.marker, called, dashes=style)
