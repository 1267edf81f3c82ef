"""Pictures with maps and panels."""

from collections.abc import Sequence
from typing import Any

from matplotlib.figure import Figure

from sparsetoken.plotting.style import (
    COLOURS,
    caption,
    curve,
    lines_and_points,
    new_figure,
    select,
)

__all__ = ["attention_map", "capacity", "sensitivity"]

Rows = Sequence[dict[str, Any]]

_MARKERS = ("o", "s", "^", "D", "v")


def capacity(rows: Rows) -> Figure:
    """Separable fraction and training loss around the capacity."""
    models = list(dict.fromkeys(row["model"] for row in rows))
    dims = sorted({row["dim"] for row in rows if row.get("dim") is not None})
    figure, axes = new_figure(2, len(models), height=3.9)
    for column, model in zip(axes.T, models, strict=True):
        mine = select(rows, model=model)
        for i, dim in enumerate(dims):
            look = COLOURS[i], _MARKERS[i]
            fractions = sorted(
                select(mine, quantity="separable", dim=dim), key=lambda row: row["ratio"]
            )
            column[0].plot(
                [row["ratio"] for row in fractions],
                [row["value"] for row in fractions],
                "-",
                color=look[0],
                lw=0.5,
            )
            curve(column[0], fractions, "ratio", *look, f"d = {dim}")
            curve(column[1], select(mine, quantity="train_loss", dim=dim), "ratio", *look)
        theory = select(mine, quantity="train_loss", source="theory")
        curve(column[1], theory, "ratio", "black", label="theory, d → ∞")
        for ax in column:
            ax.axvline(1.0, color="0.6", lw=0.8, ls="--", zorder=0)
        limits = [row["value"] for row in select(mine, quantity="capacity")]
        column[0].set_title("".join(f"{model},  α* = {limit:.2f}" for limit in limits))
        column[1].set(xlabel="α / α*", yscale="log")
        column[0].sharex(column[1])
    axes[0][0].set_ylabel("separable fraction")
    axes[1][0].set_ylabel("training loss")
    axes[0][-1].legend(loc="upper right")
    axes[1][-1].legend(loc="lower right")
    caption(figure, rows, "Below the capacity α* the training samples are separable")
    return figure


def sensitivity(rows: Rows) -> Figure:
    """Cosine and test error over learning rates, rate of positives and temperature."""
    figure, axes = new_figure(2, 3, height=4.0)
    for line, quantity in zip(axes, ("cosine", "test_error"), strict=True):
        label = quantity.replace("_", " ")
        _plane(figure, line[0], select(rows, panel="rates"), quantity)
        positives = select(rows, panel="positives", quantity=quantity)
        for i, rate in enumerate(sorted({row["lr_bias"] for row in positives})):
            chosen = select(positives, lr_bias=rate)
            name = f"bias rate {rate:g}"
            curve(line[1], chosen, "positive_rate", COLOURS[i], _MARKERS[i], name)
        curve(line[2], select(rows, panel="beta", quantity=quantity), "beta", COLOURS[0])
        line[1].set_ylabel(label)
        line[2].set(ylabel=label, xscale="log")
    axes[0][1].axhline(0.0, color="0.6", lw=0.8, ls="--", zorder=0)
    axes[0][2].set_ylim(-1.05, 1.05)
    axes[0][1].legend(loc="lower right")
    lines_and_points(axes[0][2])
    axes[0][2].legend(loc="lower right")
    axes[1][1].set_xlabel("rate of positives, π")
    axes[1][2].set_xlabel("inverse temperature, β")
    rare = {row["positive_rate"] for row in select(rows, panel="rates")}
    note = f"left: π = {min(rare):g}, anti-aligned below the white line"
    caption(figure, rows, "What decides whether the query finds the signal", [note])
    return figure


def _plane(figure: Figure, ax: Any, rows: Rows, quantity: str) -> None:
    """Draw a map over the learning rates, and the boundary where the cosine changes sign."""
    x = sorted({row["lr_readout"] for row in rows})
    y = sorted({row["lr_bias"] for row in rows})

    def grid(name: str) -> list[list[float]]:
        found = {
            (row["lr_readout"], row["lr_bias"]): row["value"] for row in select(rows, quantity=name)
        }
        return [[found[across, up] for across in x] for up in y]

    limits = {"vmin": -1.0, "vmax": 1.0} if quantity == "cosine" else {}
    colours = "cividis" if quantity == "cosine" else "cividis_r"
    image = ax.pcolormesh(x, y, grid(quantity), cmap=colours, shading="gouraud", **limits)
    image.set_rasterized(True)
    if min(map(min, grid("cosine"))) < 0.0:
        ax.contour(x, y, grid("cosine"), levels=[0.0], colors="white", linewidths=1.4)
    ax.set(xscale="log", ylabel="bias learning rate")
    if quantity == "test_error":
        ax.set_xlabel("readout learning rate")
    bar = figure.colorbar(image, ax=ax)
    bar.set_label(quantity.replace("_", " "), labelpad=1)


def attention_map(rows: Rows) -> Figure:
    """Token weights before and after the two steps; a dot marks a token that carries signal."""
    figure, axes = new_figure(2, 2, height=3.4)
    top = max(row["value"] for row in rows)
    for line, label in zip(axes, (1, 0), strict=True):
        for ax, stage in zip(line, ("before", "after"), strict=True):
            chosen = select(rows, label=label, stage=stage)
            shape = [1 + max(row[name] for row in chosen) for name in ("sequence", "token")]
            weights = [[0.0] * shape[1] for _ in range(shape[0])]
            for row in chosen:
                weights[row["sequence"]][row["token"]] = row["value"]
            image = ax.pcolormesh(weights, cmap="cividis", vmin=0.0, vmax=top, lw=0)
            marked = select(chosen, carries_signal=True)
            ax.plot(
                [row["token"] + 0.5 for row in marked],
                [row["sequence"] + 0.5 for row in marked],
                "o",
                ms=2.4,
                color="#D55E00",
            )
            kind = "positive" if label else "negative"
            ax.set_title(f"{kind} sequences, {stage} the two steps")
            ax.set(xticks=[], yticks=[])
            ax.invert_yaxis()
        line[0].set_ylabel("sequence")
    for ax in axes[1]:
        ax.set_xlabel("token")
    figure.colorbar(image, ax=axes, label="attention weight", shrink=0.8)
    caption(figure, rows, "Where the query looks", ["dots: tokens that carry the signal"])
    return figure
