"""Pictures made of curves: theory as lines, simulation as points with error bars."""

import math
from collections.abc import Sequence
from typing import Any

from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from sparsetoken.plotting.style import (
    COLOURS,
    COLUMN,
    MODELS,
    caption,
    curve,
    lines_and_points,
    new_figure,
    select,
)

__all__ = [
    "alignment",
    "joint_training",
    "learning_curves",
    "length_shift",
    "residual_error",
    "scaling",
    "split",
]

Rows = Sequence[dict[str, Any]]

_MARKERS = ("o", "s", "^", "D", "v")


def learning_curves(rows: Rows) -> Figure:
    """Test error and training loss against samples per dimension."""
    figure, axes = new_figure(1, 2, height=2.7)
    for ax, quantity, label in zip(
        axes[0], ("test_error", "train_loss"), ("test error", "training loss"), strict=True
    ):
        for model in _present(rows, "model", MODELS):
            curve(ax, select(rows, quantity=quantity, model=model), "alpha", *MODELS[model], model)
        _log_axis(ax.xaxis)
        ax.set(xlabel="samples per dimension, α = n/d", ylabel=label, yscale="log")
    _plain_log(axes[0][0].yaxis)
    lines_and_points(axes[0][0])
    axes[0][0].legend(loc="lower left")
    note = "attention gives half of the samples to its query"
    caption(figure, rows, "Learning curves of three classifiers", [note])
    return figure


def alignment(rows: Rows) -> Figure:
    """Cosine against samples per dimension, and its distance from one."""
    figure, axes = new_figure(1, 2, height=2.6)
    left, right = axes[0]
    for i, signal in enumerate(_present(rows, "signal")):
        cosines = select(rows, quantity="cosine", signal=signal)
        look = COLOURS[i], _MARKERS[i]
        curve(left, cosines, "alpha0", *look, f"θ = {signal:g}")
        curve(right, cosines, "alpha0", *look, transform=lambda value: 1.0 - abs(value))
        for row in select(rows, quantity="misalignment", signal=signal):
            ends = [min(r["alpha0"] for r in cosines), max(r["alpha0"] for r in cosines)]
            right.plot(ends, [row["value"] / end for end in ends], ":", color=look[0], lw=0.8)
    right.plot([], [], ":", color="0.4", lw=0.8, label="C/α₀")
    lines_and_points(right)
    for ax in (left, right):
        _log_axis(ax.xaxis, plain=False)
        ax.set_xlabel("samples per dimension for the query, α₀")
    left.set_ylabel("cosine between query and signal")
    right.set(ylabel="1 − |cosine|", yscale="log", ylim=(None, 1.3))
    left.legend(loc="lower right")
    right.legend(loc="lower left")
    caption(figure, rows, "Two gradient steps turn the query towards the signal")
    return figure


def scaling(rows: Rows) -> Figure:
    """Signal required against length, and errors at one signal."""
    figure, axes = new_figure(1, 2, height=2.9)
    left, right = axes[0]
    required = select(rows, quantity="required_signal")
    dashes = {"vectorized": ":", "bayes": ":", "hardmax": "--"}  # some curves coincide
    for model in _present(required, "model", MODELS):
        chosen = select(required, model=model)
        style = dashes.get(model, "-")
        curve(left, chosen, "n_tokens", *MODELS[model], model, dashes=style)
    lengths = _present(required, "n_tokens")
    _guide(left, lengths, [length**0.5 for length in lengths], r"$\sqrt{L}$")
    slow = [math.sqrt(2 * math.log(length)) for length in lengths]
    _guide(left, lengths, slow, r"$\sqrt{2\,\log L}$")
    left.set(xscale="log", yscale="log", xlabel="sequence length, L")
    left.set_ylabel("signal θ needed for 5 % error")
    trained = select(rows, quantity="test_error")
    for model in _present(trained, "model", MODELS):
        chosen = select(trained, model=model)
        curve(right, chosen, "n_tokens", *MODELS[model], f"{model}, trained")
    for model in ("hardmax", "bayes"):
        chosen = select(rows, quantity="oracle_error", model=model)
        label = f"{model}, signal known"
        curve(right, chosen, "n_tokens", *MODELS[model], label, dashes=dashes[model])
    right.set(xscale="log", yscale="log", xlabel="sequence length, L", ylabel="error")
    left.legend(loc="upper left")
    right.set_ylim(2e-4, 0.8)
    right.legend(loc="lower right")
    fixed = [row for row in rows if row["quantity"] != "required_signal"]
    caption(figure, fixed, "What longer sequences cost", ["right: given θ"])
    return figure


def residual_error(rows: Rows) -> Figure:
    """Error of unlimited readout data against the cosine."""
    figure, axes = new_figure(1, 1, width=COLUMN * 1.25, height=2.9)
    ax = axes[0][0]
    attention = select(rows, model="attention")
    for i, sharpness in enumerate(_present(attention, "sharpness")):
        chosen = select(attention, sharpness=sharpness)
        curve(ax, chosen, "cosine", COLOURS[i], _MARKERS[i], f"κ = {sharpness:g}")
    for row in select(rows, model="pooled"):
        ax.axhline(row["value"], color="black", ls="--", lw=0.9, label="pooled")
    lines_and_points(ax)
    ax.set(xlabel="cosine between query and signal", ylabel="test error, α₁ → ∞", yscale="log")
    _plain_log(ax.yaxis)
    ax.legend(loc="lower left", ncols=2)
    finite = _present(select(rows, source="simulation"), "alpha")
    notes = [f"simulation at α₁ = {alpha:g}" for alpha in finite]
    caption(figure, rows, "Above the dashed line attention loses to pooling", notes)
    return figure


def split(rows: Rows) -> Figure:
    """Error against the share of the samples for the query."""
    figure, axes = new_figure(1, 1, width=COLUMN * 1.25, height=2.7)
    ax = axes[0][0]
    for i, alpha in enumerate(_present(rows, "alpha")):
        chosen = select(rows, quantity="test_error", alpha=alpha)
        curve(ax, chosen, "split", COLOURS[i], _MARKERS[i], f"α = {alpha:g}")
        for row in select(rows, quantity="optimum", alpha=alpha):
            ax.plot(row["split"], row["value"], "*", color=COLOURS[i], ms=8, zorder=4)
    ax.plot([], [], "*", color="0.4", ms=8, label="best split")
    lines_and_points(ax)
    ax.set(xlabel="share of the samples for the query", ylabel="test error", yscale="log")
    _plain_log(ax.yaxis)
    ax.legend(loc="upper center", ncols=2)
    caption(figure, rows, "How to divide n = αd samples between query and readout")
    return figure


def length_shift(rows: Rows) -> Figure:
    """Error on other lengths than that of training."""
    figure, axes = new_figure(1, 2, height=2.6)
    for ax, model in zip(axes[0], ("attention", "pooled"), strict=True):
        for i, trained in enumerate(_present(rows, "n_tokens")):
            chosen = select(rows, model=model, n_tokens=trained)
            label = f"trained at L = {trained}"
            curve(ax, chosen, "test_n_tokens", COLOURS[i], _MARKERS[i], label)
            ax.axvline(trained, color=COLOURS[i], lw=0.5, ls=":")
        ax.set(xlabel="length of the test sequences, L′", title=model, yscale="log")
        _log_axis(ax.xaxis)
        _plain_log(ax.yaxis)
    axes[0][0].set_ylabel("test error")
    lines_and_points(axes[0][1])
    axes[0][1].legend(loc="lower right")
    caption(figure, rows, "Trained at one length, tested at others")
    return figure


def joint_training(rows: Rows) -> Figure:
    """Protocols beyond the theory beside its prediction."""
    figure, axes = new_figure(1, 2, height=2.7)
    looks = {
        "two-step": (COLOURS[0], "o", "two steps on one half, readout on the other", "-"),
        "as if fresh": (COLOURS[4], "o", "theory taking reused samples for fresh", "--"),
        "reused": (COLOURS[4], "s", "both on all samples", "-"),
        "joint": (COLOURS[2], "^", "the same, then refined jointly", "-"),
    }
    for ax, quantity in zip(axes[0], ("test_error", "cosine"), strict=True):
        for protocol, (colour, marker, label, dashes) in looks.items():
            chosen = select(rows, quantity=quantity, protocol=protocol)
            curve(ax, chosen, "alpha", colour, marker, label, dashes=dashes)
        _log_axis(ax.xaxis)
        ax.set_xlabel("samples per dimension, α = n/d")
    axes[0][0].set(ylabel="test error", yscale="log")
    _plain_log(axes[0][0].yaxis)
    axes[0][1].set_ylabel("cosine between query and signal")
    axes[0][1].legend(loc="lower right")
    caption(figure, rows, "How far the theory of fresh samples carries")
    return figure


def _present(rows: Rows, name: str, order: Any = None) -> list[Any]:
    """Return the values of a column, sorted or in the given order."""
    found = {row[name] for row in rows if row.get(name) is not None}
    return sorted(found) if order is None else [value for value in order if value in found]


def _guide(ax: Any, x: list[float], y: list[float], label: str) -> None:
    ax.plot(x, y, color="0.75", lw=2.5, zorder=0)
    ax.annotate(
        label,
        (x[-1], y[-1]),
        xytext=(0, -5),
        textcoords="offset points",
        color="0.45",
        ha="right",
        va="top",
        fontsize=6.5,
    )


def _log_axis(axis: Any, plain: bool = True) -> None:
    axis.axes.set_xscale("log")
    if plain:
        _plain_log(axis)


def _plain_log(axis: Any) -> None:
    """Label a logarithmic axis of few decades with 1, 2, 5, 10, ... in plain numbers."""
    axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axis.set_minor_formatter(NullFormatter())
