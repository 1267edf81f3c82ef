"""What a view is, and what it answers: panels of curves and maps, words, a table, a script."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from pydantic import BaseModel

__all__ = [
    "Content",
    "Line",
    "Map",
    "Mark",
    "Panel",
    "PanelAxis",
    "Progress",
    "Values",
    "View",
    "majority",
    "per_cent",
    "plural",
    "samples",
]

Values = dict[str, Any]
Numbers = list[float]


class PanelAxis(BaseModel):
    """An axis: its title, kind and ends."""

    title: str
    logarithmic: bool = False
    ends: tuple[float, float] | None = None
    samples: bool = False
    """Whether it counts samples per dimension: the page adds n where the dimension is known."""


class Line(BaseModel):
    """A curve, points or bars, in the color of a model, in another one, or in grey."""

    name: str
    x: Numbers
    y: Numbers
    model: str | None = None
    color: str | None = None
    """Where it is not that of the model."""
    look: Literal["line", "marked", "steps", "dash", "dot", "points", "cross", "star", "bars"] = (
        "line"
    )
    error: Numbers | None = None
    """Standard errors of y."""
    low: Numbers | None = None
    high: Numbers | None = None
    """The band around y."""


class Map(BaseModel):
    """Colors over a plane, from those of pooling (low) to those of attention (high)."""

    x: list[float]
    y: list[float]
    z: list[list[float | None]]
    title: str
    ends: tuple[float, float]
    ticks: dict[str, float]
    edges: list[float] = [0.0]
    """Where lines are drawn."""
    text: list[list[str]] | None = None
    """What is shown for each place."""


class Mark(BaseModel):
    """A line across a panel with a word."""

    text: str
    x: float | None = None
    y: float | None = None


class Panel(BaseModel):
    """One pair of axes with what is drawn there."""

    x: PanelAxis
    y: PanelAxis
    curves: list[Line] = []
    map: Map | None = None
    marks: list[Mark] = []


class Content(BaseModel):
    """One view at some values."""

    panels: list[Panel]
    sentence: str
    """What is shown, in plain words."""
    facts: dict[str, str] = {}
    """A few numbers with their names."""
    table: dict[str, list[Any]] = {}
    """The numbers behind the picture, by column."""
    python: str = ""
    """A script that computes the same."""
    command: str = ""
    """A command line that computes the same, or one point of it."""
    more: bool = False
    """Whether another step refines it."""


class Progress(BaseModel):
    """How far work in the background is, and what it has found so far."""

    done: int
    total: int
    message: str = ""
    content: Any = None


@dataclass(frozen=True)
class View:
    """A page of the explorer."""

    name: str
    title: str
    question: str
    """What the view answers."""
    names: tuple[str, ...]
    """Its controls."""
    draw: Callable[[Values], Iterator[Content]]
    """Yields the picture, coarse and fast at first, then refined."""
    work: Callable[[Values, Callable[[Progress], None]], None] | None = None
    """Work for the background; the contents that it sends are added to the picture."""
    button: str = ""
    """What starts the work; it starts by itself if there is none."""
    defaults: Mapping[str, Any] = field(default_factory=dict)
    """Values that differ from those of the other views."""


def per_cent(fraction: float) -> str:
    """Return a fraction in per cent, to two or three digits, that no line break divides."""
    value = 100.0 * fraction
    if 0.0 < value < 1e-3:
        return "less than 0.001\N{NO-BREAK SPACE}%"
    digits = f"{value:.3g}" if value < 10 or value > 99 else f"{value:.0f}"
    return f"{digits}\N{NO-BREAK SPACE}%"


def samples(alpha: float, dim: int | None = None) -> str:
    """Return samples per dimension, and their number where the dimension is known."""
    number = f"{alpha:.3g}" if alpha < 99.5 else f"{alpha:.0f}"
    counted = f" (n = {alpha * dim:.0f})" if dim else ""
    return f"{number} {'sample' if number == '1' else 'samples'} per dimension{counted}"


def majority(values: Values, ends: list[float]) -> tuple[list[Line], str]:
    """Return what always answering the larger class gives: a line, and words if it is good enough.

    There is nothing to say where the classes are equal.
    """
    error = min(values["positive_rate"], 1.0 - values["positive_rate"])
    if error == 0.5:
        return [], ""
    words = f" Always answering the larger class errs on {per_cent(error)} without any data."
    line = Line(name="always the larger class", look="dash", x=ends, y=[error] * 2)
    return [line], words if error <= values.get("error", 0.0) else ""


def plural(count: int, noun: str) -> str:
    """Return a count with its noun."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
