"""Figures as the plain dictionaries that Plotly draws, in the colours of the package."""

import math
from collections.abc import Sequence
from typing import Any

from sparsetoken.vocabulary import COLORS, look

__all__ = ["BLANK", "GREY", "INK", "colour", "figure", "line", "points", "themed", "vertical"]

INK = "INK"  # stands for the colour of text, which depends on the theme
GREY = "#8A8F98"
_THEMES = {
    False: {"ink": "#1B1F24", "grid": "#E6E8EB", "paper": "#FFFFFF"},
    True: {"ink": "#E6E8EB", "grid": "#31363D", "paper": "#16191D"},
}
# Okabe and Ito's blue is too dark to read on black; its lighter sibling takes its place there.
_ON_DARK = {COLORS[0]: "#4DA3DB", COLORS[1]: "#F28C3A", COLORS[2]: "#2BBF8E"}
BLANK: dict[str, Any] = {
    "data": [],
    "layout": {"xaxis": {"visible": False}, "yaxis": {"visible": False}},
}

Trace = dict[str, Any]


def colour(model: str) -> str:
    """Return the colour of a model, the same as in the package's figures."""
    found = look(model).color
    return INK if found == "#000000" else found


def line(x: Sequence[float], y: Sequence[float], name: str, shade: str, **options: Any) -> Trace:
    """Return a curve."""
    style = {"color": shade, "width": 2.5} | options.pop("line", {})
    return {
        "type": "scatter",
        "mode": "lines",
        "x": list(x),
        "y": list(y),
        "name": name,
        "line": style,
    } | options


def points(
    x: Sequence[float], y: Sequence[float], bars: Sequence[float], name: str, shade: str
) -> Trace:
    """Return simulated points with their standard errors."""
    return {
        "type": "scatter",
        "mode": "markers",
        "x": list(x),
        "y": list(y),
        "name": name,
        "marker": {
            "color": "rgba(0,0,0,0)",
            "size": 9,
            "line": {"color": shade, "width": 2},
            "symbol": "circle",
        },
        "error_y": {"type": "data", "array": list(bars), "color": shade, "thickness": 1.5},
    }


def vertical(
    x: float, text: str, *, logarithmic: bool = False
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return a dotted vertical line and its label, for the shapes and annotations of a layout."""
    where = {"xref": "x", "yref": "y domain"}
    shape = {
        "type": "line",
        "x0": x,
        "x1": x,
        "y0": 0,
        "y1": 1,
        "line": {"color": GREY, "dash": "dot", "width": 1.5},
    } | where
    label = {
        "x": math.log10(x) if logarithmic else x,  # Plotly wants it so of labels, not of lines
        "y": 0,
        "text": text,
        "showarrow": False,
        "xanchor": "left",
        "yanchor": "bottom",
        "font": {"color": GREY, "size": 12},
    } | where
    return shape, label


def figure(traces: Sequence[Trace], **layout: Any) -> dict[str, Any]:
    """Return a figure; keywords are parts of the layout."""
    base: dict[str, Any] = {
        "margin": {"l": 64, "r": 16, "t": 40, "b": 52},
        "hovermode": "closest",
        "legend": {"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom"},
        "uirevision": "same",
        "dragmode": False,
    }
    return {"data": list(traces), "layout": base | layout}


def themed(drawn: dict[str, Any], *, dark: bool = False, narrow: bool = False) -> dict[str, Any]:
    """Return the figure in the colours of the theme, two panels above each other if narrow."""
    theme = _THEMES[dark]
    replaced = {INK: theme["ink"], **(_ON_DARK if dark else {})}
    result = _replace(drawn, replaced)
    layout = result["layout"]
    layout["font"] = {"color": theme["ink"], "size": 13, "family": "system-ui, sans-serif"}
    layout["paper_bgcolor"] = layout["plot_bgcolor"] = theme["paper"]
    for name in ("xaxis", "yaxis", "xaxis2", "yaxis2"):
        if name in layout:
            layout[name] = {
                "gridcolor": theme["grid"],
                "linecolor": theme["ink"],
                "showline": True,
                "zeroline": False,
                "ticks": "outside",
            } | layout[name]
    if narrow and "xaxis2" in layout:
        _stack(result)
    return result


def _stack(drawn: dict[str, Any]) -> None:
    """Put the second panel below the first."""
    layout = drawn["layout"]
    for name, domain in (("", [0.6, 1.0]), ("2", [0.0, 0.4])):
        layout[f"xaxis{name}"]["domain"] = [0.0, 1.0]
        layout[f"yaxis{name}"]["domain"] = domain
    for trace in drawn["data"]:
        if "colorbar" in trace:
            trace["colorbar"] |= {"len": 0.4, "y": 0.2}


def _replace(part: Any, colours: dict[str, str]) -> Any:
    """Copy a nested structure with some of its words replaced."""
    if isinstance(part, dict):
        return {name: _replace(value, colours) for name, value in part.items()}
    if isinstance(part, list | tuple):
        return [_replace(value, colours) for value in part]
    return colours.get(part, part) if isinstance(part, str) else part
