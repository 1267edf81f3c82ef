"""The picture as a whole: its size, layout, title, caption and file."""

import math
import re
import string
import textwrap
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from os import PathLike
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

# In inches, as matplotlib has it.
COLUMN = 85 / 25.4  # the width of a column of a journal
_PANEL, _PAGE = 2.1, 8.9  # no panel is narrower, no stack of panels longer
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


def styled() -> AbstractContextManager[None]:
    """Draw and save in the style of this module."""
    return mpl.rc_context(_STYLE)


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

    Where the width is too small for the columns, the panels are put below one another in their
    order, so that letters mark the same panels at any width. One panel takes a column of a journal,
    several take two, unless ``width`` says otherwise.
    """
    width = width or COLUMN * min(n_columns, 2)
    n_panels, most = n_rows * n_columns, max(1, min(n_columns, int(width / _PANEL)))
    columns = max(n for n in range(1, most + 1) if n_panels % n == 0)
    rows = n_panels // columns
    panel = min(0.66 * width / columns, 3.0, _PAGE / rows) if columns < 3 else 1.9
    figure = Picture(figsize=(width, height or rows * panel), layout="constrained")
    axes = figure.subplots(rows, columns, squeeze=False)
    return figure, axes.reshape(n_rows, n_columns)


@contextmanager
def one_panel() -> Iterator[tuple[Picture, Axes]]:
    """Provide a picture of one panel, in style; its title and caption are written at the end."""
    with styled():
        figure, axes = new_figure(1, 1, width=1.25 * COLUMN)
        yield figure, axes[0][0]
        finish(figure, title=True)


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


def share_legend(axes: Axes) -> None:
    """Put the legend of one panel, which is that of all, below them."""
    figure: Any = axes.figure
    handles, labels = axes.get_legend_handles_labels()
    entry = 0.45 + 0.048 * max(map(len, labels))  # line, gap and letters, in inches
    rows = math.ceil(len(labels) / max(1, int(figure.get_figwidth() / entry)))
    columns = math.ceil(len(labels) / rows)
    figure.legend(handles, labels, loc="outside lower center", ncols=columns)
    _grow(figure, rows)


def _grow(figure: Picture, lines: int) -> None:
    """Make room for lines of text."""
    figure.set_figheight(figure.get_figheight() + 0.145 * lines)


def with_subscripts(text: str) -> str:
    """Return text for a picture: the b of η_b is set lower."""
    return re.sub(r"_(\w)\b", r"$_{\1}$", text)
