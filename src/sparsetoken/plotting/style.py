"""What all pictures share: size, words, and how curves and points are drawn."""

import math
import re
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from sparsetoken.vocabulary import COLORS, MARKERS, MEASURED, PARAMETERS, quantity

__all__ = [
    "COLUMN",
    "FORMATS",
    "caption",
    "curve",
    "guide",
    "label_axes",
    "lines_and_points",
    "looks",
    "new_figure",
    "plain_log",
    "present",
    "save_picture",
    "select",
    "styled",
    "with_subscripts",
]

Rows = Sequence[dict[str, Any]]

COLUMN = 3.4  # inches: the width of a column of a journal
FORMATS = (".png", ".pdf", ".svg")
_NAMED = ("problem", "samples", "training", "query", "simulation")  # in captions
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


def save_picture(figure: Figure, path: str | PathLike[str]) -> None:
    """Write a figure as PNG, PDF or SVG, by the ending of the path."""
    path = Path(path)
    if path.suffix not in FORMATS:
        raise ValueError(f"a picture is written as {', '.join(FORMATS)}, got {path.name!r}")
    with styled():
        figure.savefig(path)


def new_figure(n_rows: int, n_columns: int, *, width: float = 2 * COLUMN, height: float) -> Any:
    """Return a figure and its axes in an array of two dimensions."""
    figure = Figure(figsize=(width, height), layout="constrained")
    return figure, figure.subplots(n_rows, n_columns, squeeze=False)


def select(rows: Rows, **values: Any) -> list[dict[str, Any]]:
    """Return the rows with the given values."""
    return [row for row in rows if all(row.get(name) == v for name, v in values.items())]


def present(rows: Rows, name: str, order: Iterable[Any] | None = None) -> list[Any]:
    """Return the values of a column, sorted or in the given order."""
    found = {row[name] for row in rows if row.get(name) is not None}
    return sorted(found) if order is None else [value for value in order if value in found]


def looks(values: Iterable[Any]) -> Iterator[tuple[Any, tuple[str, str]]]:
    """Yield each value with a color and a marker of its own."""
    return zip(values, zip(COLORS, MARKERS, strict=True), strict=False)


def curve(
    axes: Axes,
    rows: Rows,
    x: str,
    color: str,
    marker: str = "o",
    label: str | None = None,
    *,
    dashes: str = "-",
    transform: Any = None,
) -> None:
    """Draw the theory among the rows as a line and the simulation as points with error bars.

    The legend shows both, as far as there are both.
    """
    transform = transform or (lambda value: value)
    theory = sorted(select(rows, source="theory"), key=lambda row: row[x])
    if theory:
        axes.plot(
            [row[x] for row in theory],
            [transform(row["value"]) for row in theory],
            dashes,
            color=color,
        )
    simulation = sorted(select(rows, source="simulation"), key=lambda row: row[x])
    if simulation:
        axes.errorbar(
            [row[x] for row in simulation],
            [transform(row["value"]) for row in simulation],
            yerr=[row["uncertainty"] for row in simulation],
            fmt=marker,
            color=color,
            markerfacecolor="white",
            markeredgewidth=0.8,
            elinewidth=0.8,
            capsize=1.5,
            zorder=3,
        )
    if label is not None:
        axes.plot(
            [],
            [],
            ls=dashes if theory else "none",
            marker=marker if simulation else "",
            color=color,
            markerfacecolor="white",
            markeredgewidth=0.8,
            label=label,
        )


def caption(figure: Figure, rows: Rows, title: str, notes: Sequence[str] = ()) -> None:
    """Write what is shown, and the parameters that are the same in all rows, above the axes."""
    fixed = []
    for name, known in PARAMETERS.items():
        found = {row[name] for row in rows if row.get(name) is not None}
        named = known.group in _NAMED and (known.symbol or name == "trials")
        if named and len(found) == 1:
            fixed.append(f"{known.short} = {found.pop():g}")
    width = int(16.5 * figure.get_figwidth())  # characters that fit at this size
    whole = [item.replace(" ", "\u00a0") for item in fixed]  # no break within a parameter
    lines = textwrap.wrap(",  ".join([*whole, *notes]), width, break_long_words=False)
    lines = [line.replace("\u00a0", " ") for line in lines]
    figure.suptitle("\n".join([*textwrap.wrap(title, width), *lines]), fontsize=7.5)


def lines_and_points(axes: Axes) -> None:
    """Say once what lines and points are."""
    axes.plot([], [], "-", color="0.4", label="theory")
    axes.errorbar(
        [], [], yerr=[], fmt="o", color="0.4", markerfacecolor="white", label="simulation ± s.e."
    )


def label_axes(axes: Axes, x: str, y: str) -> None:
    """Label and scale both axes as the vocabulary has it; a name it does not know is the label."""
    for axis, name in ((axes.xaxis, x), (axes.yaxis, y)):
        known = name in PARAMETERS or name in MEASURED
        axis.set_label_text(with_subscripts(quantity(name).axis if known else name))
        if known and quantity(name).logarithmic:
            (axes.set_xscale if axis is axes.xaxis else axes.set_yscale)("log")
            plain_log(axis)


def with_subscripts(text: str) -> str:
    """Return text for a picture: the b of η_b is set lower."""
    return re.sub(r"_(\w)", r"$_{\1}$", text)


def plain_log(axis: Any) -> None:
    """Label a logarithmic axis in plain numbers: 1, 2, 5, 10, ... where it has few decades."""
    low, high = axis.get_view_interval()
    decades = math.log10(high / low) if low > 0 else math.inf
    if decades > 5:
        return
    axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if decades < 2.5 else (1.0,)))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axis.set_minor_formatter(NullFormatter())


def guide(axes: Axes, x: Sequence[float], y: Sequence[float], label: str) -> None:
    """Draw a pale line to compare with, named at its end."""
    axes.plot(x, y, color="0.75", lw=2.5, zorder=0)
    axes.annotate(
        label,
        (x[-1], y[-1]),
        xytext=(0, -5),
        textcoords="offset points",
        color="0.45",
        ha="right",
        va="top",
        fontsize=6.5,
    )
