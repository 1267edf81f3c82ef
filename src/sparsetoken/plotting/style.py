"""What all pictures share: size, layout, words, and how curves and points are drawn."""

import math
import re
import string
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
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
    "Picture",
    "caption",
    "curve",
    "finish",
    "guide",
    "label_axes",
    "lines_and_points",
    "looks",
    "new_figure",
    "plain_log",
    "present",
    "save_picture",
    "select",
    "share_legend",
    "styled",
    "with_subscripts",
]

Rows = Sequence[dict[str, Any]]

# In inches, as matplotlib has it.
COLUMN = 85 / 25.4  # the width of a column of a journal
_PANEL, _PAGE = 2.1, 8.9  # no panel is narrower, no stack of panels longer
_WIDTH: ContextVar[float | None] = ContextVar("width", default=None)
# A line style for each marker: curves differ without their colors.
_DASHES: Any = dict(
    zip(
        MARKERS,
        ("-", (0, (5, 1.5)), (0, (6, 1.5, 1, 1.5)), (0, (1, 1)), (0, (6, 1, 1, 1, 1, 1)),
         (0, (2, 1)), (0, (9, 2))),
        strict=True,
    )
)  # fmt: skip
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
    "legend.handlelength": 2.4,
    "lines.linewidth": 1.1,
    "lines.markersize": 3.2,
    "figure.dpi": 150,
    "savefig.dpi": 300,
    "pdf.fonttype": 42,
    "svg.fonttype": "none",
    "svg.hashsalt": "sparsetoken",
}
# Where each format keeps title and caption, and the date that would make equal files differ.
_METADATA = {
    ".png": ("Title", "Description", None),
    ".pdf": ("Title", "Subject", "CreationDate"),
    ".svg": ("Title", "Description", "Date"),
}
FORMATS = tuple(_METADATA)


class Picture(Figure):
    """A figure with the words that belong beside it.

    Attributes
    ----------
    title : str
        What it shows.
    caption : str
        Title, remarks and parameters, for the text below the picture.
    """

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.title = self.caption = ""
        self.gaps: list[float] = []  # between points and lines, in standard errors


@contextmanager
def styled(width: float | None = None) -> Iterator[None]:
    """Draw and save in the style of this module; new figures are ``width`` inches wide."""
    token = _WIDTH.set(width)
    try:
        with mpl.rc_context(_STYLE):
            yield
    finally:
        _WIDTH.reset(token)


def save_picture(figure: Figure, path: str | PathLike[str]) -> None:
    """Write a figure as PNG, PDF or SVG, by the ending of the path, its caption as metadata."""
    path = Path(path)
    if path.suffix not in FORMATS:
        raise ValueError(f"a picture is written as {', '.join(FORMATS)}, got {path.name!r}")
    title, description, date = _METADATA[path.suffix]
    metadata: dict[str, Any] = {date: None} if date else {}
    if isinstance(figure, Picture) and figure.caption:
        metadata |= {title: figure.title, description: figure.caption}
    with styled():
        figure.savefig(path, metadata=metadata)


def new_figure(
    n_rows: int, n_columns: int, *, width: float | None = None, height: float | None = None
) -> tuple[Picture, Any]:
    """Return a figure and its axes in an array of two dimensions.

    Where the width is too small for the columns, they are put below one another: the axes
    are the same, in other places. One panel takes a column of a journal, several take two, unless
    ``width`` or :func:`styled` says otherwise.
    """
    width = _WIDTH.get() or width or COLUMN * min(n_columns, 2)
    columns = max(1, min(n_columns, int(width / _PANEL)))
    rows = -(-n_rows * n_columns // columns)
    panel = min(0.66 * width / columns, 3.0, _PAGE / rows) if columns < 3 else 1.9
    figure = Picture(figsize=(width, height or rows * panel), layout="constrained")
    axes = figure.subplots(rows, columns, squeeze=False)
    return figure, axes if columns == n_columns else axes.reshape(n_columns, n_rows).T


def finish(figure: Picture, *, title: bool = False, letters: bool = False) -> Picture:
    """Write the caption above the panels, or a letter beside each, if asked for."""
    if title:
        width = int(16.5 * figure.get_figwidth())  # characters that fit at this size
        words = figure.caption.removeprefix(figure.title).removeprefix(".").strip()
        whole = words.replace(" = ", "\u00a0=\u00a0")  # no break within a parameter
        lines = [*textwrap.wrap(figure.title, width), *textwrap.wrap(whole, width)]
        text = "\n".join(lines).replace("\u00a0", " ")
        figure.suptitle(with_subscripts(text), fontsize=7.5)
        _grow(figure, len(lines))
    panels = [ax for ax in figure.axes if ax.get_subplotspec()]
    for letter, ax in zip(string.ascii_lowercase, panels, strict=False):
        if letters and len(panels) > 1:
            place: Any = {"xy": (0, 1), "xycoords": "axes fraction", "textcoords": "offset points"}
            ax.annotate(letter, xytext=(-4, 5), ha="right", fontsize=9, weight="bold", **place)
    return figure


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
    dashes: str | None = None,
    transform: Any = None,
    **line: Any,
) -> None:
    """Draw the theory among the rows as a line and the simulation as points with error bars.

    The legend shows whichever of the two there are. Each marker has a line style of its own,
    unless ``dashes`` and ``line`` say otherwise.
    """
    transform = transform or (lambda value: value)
    style = dashes or _DASHES.get(marker, "-")
    theory = sorted(select(rows, source="theory"), key=lambda row: row[x])
    if theory:
        axes.plot(
            [row[x] for row in theory],
            [transform(row["value"]) for row in theory],
            ls=style,
            color=color,
            **line,
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
    expected = {row[x]: row for row in theory}
    for row in simulation:
        if row[x] in expected and isinstance(axes.figure, Picture) and row["uncertainty"]:
            gap = abs(row["value"] - expected[row[x]]["value"])
            error = math.hypot(row["uncertainty"], expected[row[x]]["uncertainty"])
            axes.figure.gaps.append(gap / error)
    if label is not None:
        axes.plot(
            [],
            [],
            ls=style if theory else "none",
            **line,
            marker=marker if simulation else "",
            color=color,
            markerfacecolor="white",
            markeredgewidth=0.8,
            label=label,
        )


def caption(figure: Picture, rows: Rows, title: str, notes: Sequence[str] = ()) -> None:
    """Compose the caption: title, notes, what is drawn, the parameters that all rows share."""
    sentences = [title, *notes]
    simulated = select(rows, source="simulation")
    if simulated and select(rows, source="theory"):
        far = sum(gap > 3.0 for gap in figure.gaps)
        off = f"; {far} of {len(figure.gaps)} are more than 3 standard errors off their line"
        points = "simulation, mean and standard error" + (off if far else "")
        sentences.append(f"Lines: theory, in the limit of large d. Points: {points}")
    fixed = []
    for name, known in PARAMETERS.items():
        found = {row[name] for row in rows if row.get(name) is not None}
        if len(found) == 1 and known.group in _NAMED and (known.symbol or name == "trials"):
            fixed.append(f"{known.short} = {found.pop():g}")
    sentences += [", ".join(fixed)] if fixed else []
    figure.title = title
    figure.caption = " ".join(f"{sentence.rstrip('.')}." for sentence in sentences if sentence)


def lines_and_points(axes: Axes) -> None:
    """Say once what lines and points are."""
    axes.plot([], [], "-", color="0.4", label="theory")
    axes.errorbar(
        [], [], yerr=[], fmt="o", color="0.4", markerfacecolor="white", label="simulation ± s.e."
    )


def share_legend(figure: Picture, axes: Axes) -> None:
    """Put the legend of one panel, which is that of all, below them."""
    columns = int(figure.get_figwidth() / 1.1)
    handles, labels = axes.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=columns)
    _grow(figure, -(-len(labels) // columns))


def _grow(figure: Picture, lines: int) -> None:
    """Make room for lines of text."""
    figure.set_figheight(figure.get_figheight() + 0.145 * lines)


def label_axes(axes: Axes, x: str, y: str) -> None:
    """Label and scale both axes as the vocabulary has it; a name it does not know is the label."""
    for axis, name in ((axes.xaxis, x), (axes.yaxis, y)):
        known = name in PARAMETERS or name in MEASURED
        label = quantity(name).axis if known else name
        label = label if axis is axes.xaxis else textwrap.fill(label, _fitting(axes))
        axis.set_label_text(with_subscripts(label))
        if known and quantity(name).logarithmic:
            (axes.set_xscale if axis is axes.xaxis else axes.set_yscale)("log")
            plain_log(axis)


def _fitting(axes: Axes) -> int:
    """Return the number of characters that fit upright beside a panel."""
    figure, grid = axes.figure, axes.get_gridspec()
    if isinstance(figure, Figure) and grid:
        return int(14 * figure.get_figheight() / grid.nrows)
    return 30


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
    """Draw a thin line to compare with, named at its end."""
    axes.plot(x, y, color="0.45", lw=0.6, zorder=0)
    axes.annotate(
        label,
        (x[-1], y[-1]),
        xytext=(0, -4),
        textcoords="offset points",
        color="0.45",
        ha="right",
        va="top",
        fontsize=6.5,
    )
