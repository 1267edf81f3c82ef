"""Figures as Plotly's JSON; the page adds its fonts, and its colors for ``var(--…)``."""

import math
import re
from collections.abc import Iterable, Sequence
from typing import Any

from sparsetoken.models import look
from sparsetoken.vocabulary import MEASURED, PARAMETERS

Figure = dict[str, Any]
Trace = dict[str, Any]

SOFT, INK = "var(--soft)", "var(--ink)"
_FEW = 3.0  # decades up to which 1 2 5 are labelled


def axis(
    title: str, ends: tuple[float, float] | None = None, *, logarithmic: bool = False
) -> dict[str, Any]:
    """Return an axis whose every label is a number that can be read."""
    settings: dict[str, Any] = {"title": {"text": re.sub(r"_(\w)", r"<sub>\1</sub>", title)}}
    if not logarithmic:
        return settings | ({"range": ends} if ends else {})
    settings |= {"type": "log", "tickformat": "~g"}  # the page fits it, if it has no ends
    if ends:
        low, high = map(math.log10, ends)
        settings |= {"range": [low, high], "dtick": "D2" if high - low < _FEW else 1}
    return settings


def quantity_axis(
    name: str, ends: tuple[float, float] | None = None, dim: int | None = None
) -> dict[str, Any]:
    """Return the axis of a quantity; with ``dim`` it tells the number of samples n beside α."""
    shown = (PARAMETERS | MEASURED)[name]
    counted = f" (n = {dim} α)" if dim and name == "alpha" else ""
    return axis(shown.axis + counted, ends, logarithmic=shown.logarithmic)


def figure(
    x: dict[str, Any], y: dict[str, Any], traces: Iterable[Trace], marks: Iterable[Any] = ()
) -> Figure:
    """Return a figure."""
    return {"data": list(traces), "layout": {"xaxis": x, "yaxis": y, "shapes": list(marks)}}


def curve(
    name: str,
    x: Iterable[float],
    y: Iterable[float],
    color: str,
    dash: str = "solid",
    shape: str = "spline",
    **looks: Any,
) -> Trace:
    """Return a line."""
    line = {"color": color, "dash": dash, "shape": shape, "width": 2.5 if dash == "solid" else 1.8}
    trace = {"type": "scatter", "mode": "lines", "name": name, "x": list(x), "y": list(y)}
    return trace | {"line": line} | looks


def model_curves(rows: Iterable[Sequence[Any]]) -> list[Trace]:
    """Return a curve for each model of rows that begin with model, x and y, unless y is None."""
    points: dict[str, list[tuple[float, float]]] = {}
    for model, x, y, *_ in rows:
        if y is not None:
            points.setdefault(model, []).append((float(x), float(y)))
    return [
        curve(look(model).label, x, y, color_of(model), meta={"model": model})
        for model, pairs in points.items()
        for x, y in [zip(*pairs, strict=True)]
    ]


def level(name: str, ends: Iterable[float], height: float, dash: str, color: str = SOFT) -> Trace:
    """Return a horizontal line between the ends of an axis."""
    return curve(name, ends, [height] * 2, color, dash, shape="linear")


def markers(
    name: str, x: list[float], y: list[float], color: str, symbol: str, size: int, **looks: Any
) -> Trace:
    """Return points."""
    marker = {"color": color, "symbol": symbol, "size": size, "line": {"width": 2, "color": color}}
    trace = {"type": "scatter", "mode": "markers", "name": name, "x": x, "y": y, "marker": marker}
    return trace | looks


def color_of(model: str) -> str:
    """Return the color of a model; black is the color of text."""
    color = look(model).color
    return INK if color == "#000000" else color


def mark(text: str, x: float | None = None, y: float | None = None) -> Any:
    """Return a dotted line across a figure with a word at its end: upright at x, or level at y."""
    line = {"type": "line", "line": {"color": SOFT, "dash": "dot", "width": 1.5}}
    label = {"text": text, "font": {"color": SOFT}, "textposition": "end", "textangle": 0}
    if y is None:
        label |= {"xanchor": "left", "yanchor": "bottom"}
        return line | {"x0": x, "x1": x, "yref": "y domain", "y0": 1, "y1": 0, "label": label}
    label |= {"xanchor": "right", "yanchor": "bottom"}
    return line | {"y0": y, "y1": y, "xref": "x domain", "x0": 0, "x1": 1, "label": label}


def by_column(names: Sequence[str], rows: Sequence[Sequence[Any]]) -> dict[str, list[Any]]:
    """Return rows of numbers as a table."""
    return dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))
