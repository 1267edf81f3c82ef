"""Figures as Plotly's JSON; the page adds its fonts, and its colors for ``var(--…)``."""

import math
import re
from collections.abc import Iterable, Sequence
from typing import Any

from sparsetoken.models import look
from sparsetoken.vocabulary import quantity

Figure = dict[str, Any]
Trace = dict[str, Any]

SOFT, INK = "var(--soft)", "var(--ink)"
_MANY, _FEW = 1.2, 3.0  # decades up to which 1 2 3 5 7, and 1 2 5, are labelled


def axis(
    title: str,
    ends: tuple[float, float] | None = None,
    *,
    over: Iterable[float] = (),
    logarithmic: bool = False,
    dim: int | None = None,
) -> dict[str, Any]:
    """Return an axis whose every label is a number that can be read.

    ``over`` has values that a logarithmic axis without ends will show. With ``dim`` it counts
    samples per dimension and has their number too.
    """
    settings: dict[str, Any] = {"title": {"text": re.sub(r"_(\w)", r"<sub>\1</sub>", title)}}
    if not logarithmic:
        return settings | ({"range": ends} if ends else {})
    shown = ends or [value for value in over if 0.0 < value < math.inf] or (0.1, 1.0)
    low, high = math.log10(min(shown)), math.log10(max(shown))
    factors = "12357" if high - low < _MANY else "125" if high - low < _FEW else "1"
    counted = "125" if high - low < _MANY else "1"  # more have no room on a phone
    ticks = [
        (float(f"{factor}e{power}"), factor in counted)
        for power in range(math.floor(low) - 1, math.ceil(high) + 2)
        for factor in factors
    ]
    settings["tickvals"] = [tick for tick, _ in ticks]
    settings["ticktext"] = [
        f"{tick:g}<br>n={tick * dim:.0f}" if dim and counts else f"{tick:g}"
        for tick, counts in ticks
    ]
    return settings | {"type": "log"} | ({"range": [low, high]} if ends else {})


def quantity_axis(name: str, dim: int | None = None, **looks: Any) -> dict[str, Any]:
    """Return the axis of a quantity of the vocabulary; those that count samples get their n."""
    shown = quantity(name)
    counted = dim if name.startswith("alpha") else None
    return axis(shown.axis, logarithmic=shown.logarithmic, dim=counted, **looks)


def figure(
    x: dict[str, Any], y: dict[str, Any], traces: Iterable[Trace], marks: Iterable[Any] = ()
) -> Figure:
    """Return a figure; marks are pairs of a shape and its label."""
    shapes, labels = zip(*marks, strict=True) if marks else ((), ())
    layout = {"xaxis": x, "yaxis": y, "shapes": list(shapes), "annotations": list(labels)}
    return {"data": list(traces), "layout": layout}


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


def mark(text: str, x: float | None = None, y: float | None = None, log: bool = False) -> Any:
    """Return a dotted line across a figure with a word at its end: upright at x, or level at y."""
    along, across, value = ("y", "x", x) if y is None else ("x", "y", y)
    span = {f"{along}ref": f"{along} domain", f"{along}0": 0, f"{along}1": 1}
    shape = {"type": "line", f"{across}0": value, f"{across}1": value, **span}
    label = {f"{along}ref": f"{along} domain", along: 0 if along == "y" else 1}
    label |= {"xanchor": "left" if along == "y" else "right", "yanchor": "bottom"}
    place = math.log10(value) if log and value else value  # Plotly wants it so of labels
    line = {"color": SOFT, "dash": "dot", "width": 1.5}
    words = {"text": f" {text} ", "showarrow": False, "font": {"color": SOFT}, across: place}
    return shape | {"line": line}, label | words


def by_column(names: Sequence[str], rows: Sequence[Sequence[Any]]) -> dict[str, list[Any]]:
    """Return rows of numbers as a table."""
    return dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))
