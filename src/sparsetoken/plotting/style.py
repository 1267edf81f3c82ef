"""What all pictures share: size, colours, words, and how curves and points are drawn."""

import textwrap
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

__all__ = [
    "COLOURS",
    "COLUMN",
    "MODELS",
    "caption",
    "curve",
    "lines_and_points",
    "new_figure",
    "select",
    "styled",
]

Rows = Sequence[dict[str, Any]]

COLUMN = 3.4  # inches: the width of a column of a journal
# Okabe and Ito's colours, told apart by every kind of colour vision, the darkest first.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
_MARKERS = ("o", "s", "^", "D", "v", "P", "X")
_ORDER = ("attention", "pooled", "vectorized", "hardmax", "elementwise", "bayes")
MODELS = {name: (COLOURS[i], _MARKERS[i]) for i, name in enumerate(_ORDER)}
MODELS["bayes"] = (COLOURS[6], _MARKERS[5])
MODELS["elementwise"] = (COLOURS[4], _MARKERS[4])

_SYMBOLS = {
    "n_tokens": "L",
    "n_signal": "R",
    "signal": "θ",
    "positive_rate": "π",
    "reg": "λ",
    "alpha": "α",
    "alpha0": "α₀",
    "alpha1": "α₁",
    "cosine": "cosine",
    "sharpness": "κ",
    "beta": "β",
    "dim": "d",
    "trials": "trials",
}
_STYLE: Any = {
    "font.family": "sans-serif",
    "font.size": 7.5,
    "axes.titlesize": 7.5,
    "axes.labelsize": 7.5,
    "axes.linewidth": 0.6,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "xtick.labelsize": 6.5,
    "ytick.labelsize": 6.5,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "xtick.minor.width": 0.4,
    "ytick.minor.width": 0.4,
    "legend.fontsize": 6.5,
    "legend.frameon": False,
    "legend.handlelength": 1.6,
    "lines.linewidth": 1.1,
    "lines.markersize": 3.2,
    "figure.dpi": 150,
    "savefig.dpi": 300,
    "pdf.fonttype": 42,
    "svg.hashsalt": "sparsetoken",
}


@contextmanager
def styled() -> Iterator[None]:
    """Draw and save in the style of this module."""
    with mpl.rc_context(_STYLE):
        yield


def new_figure(n_rows: int, n_columns: int, *, width: float = 2 * COLUMN, height: float) -> Any:
    """Return a figure and its axes in an array of two dimensions."""
    figure = Figure(figsize=(width, height), layout="constrained")
    return figure, figure.subplots(n_rows, n_columns, squeeze=False)


def select(rows: Rows, **values: Any) -> list[dict[str, Any]]:
    """Return the rows with the given values."""
    return [row for row in rows if all(row.get(name) == v for name, v in values.items())]


def curve(
    axes: Axes,
    rows: Rows,
    x: str,
    colour: str,
    marker: str = "o",
    label: str | None = None,
    *,
    dashes: str = "-",
    transform: Any = None,
) -> None:
    """Draw the theory among the rows as a line and the simulation as points with error bars."""
    transform = transform or (lambda value: value)
    theory = sorted(select(rows, source="theory"), key=lambda row: row[x])
    if theory:
        axes.plot(
            [row[x] for row in theory],
            [transform(row["value"]) for row in theory],
            dashes,
            color=colour,
            label=label,
        )
    simulation = sorted(select(rows, source="simulation"), key=lambda row: row[x])
    if simulation:
        axes.errorbar(
            [row[x] for row in simulation],
            [transform(row["value"]) for row in simulation],
            yerr=[row["standard_error"] for row in simulation],
            fmt=marker,
            color=colour,
            markerfacecolor="white",
            markeredgewidth=0.8,
            elinewidth=0.8,
            capsize=1.5,
            label=None if theory else label,
            zorder=3,
        )


def caption(figure: Figure, rows: Rows, title: str, notes: Sequence[str] = ()) -> None:
    """Write what is shown, and the parameters that are the same in all rows, above the axes."""
    fixed = []
    for name, symbol in _SYMBOLS.items():
        found = {row[name] for row in rows if row.get(name) is not None}
        if len(found) == 1:
            fixed.append(f"{symbol} = {found.pop():g}")
    width = int(16.5 * figure.get_figwidth())  # characters that fit at this size
    whole = [item.replace(" ", "\u00a0") for item in fixed]  # no break within a parameter
    lines = textwrap.wrap(",  ".join([*whole, *notes]), width, break_long_words=False)
    lines = [line.replace("\u00a0", " ") for line in lines]
    figure.suptitle("\n".join([title, *lines]), fontsize=7.5)


def lines_and_points(axes: Axes) -> None:
    """Say once what lines and points are."""
    axes.plot([], [], "-", color="0.4", label="theory")
    axes.errorbar(
        [], [], yerr=[], fmt="o", color="0.4", markerfacecolor="white", label="simulation ± s.e."
    )
