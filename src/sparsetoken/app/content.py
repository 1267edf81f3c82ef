"""What a view is, and what it answers: panels of curves and maps, a sentence, a table, a script."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from pydantic import BaseModel

from sparsetoken.app.parameters import GROUPS, Values
from sparsetoken.app.words import per_cent
from sparsetoken.models import look
from sparsetoken.vocabulary import quantity

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
    controls: tuple[str, ...]
    """What a visitor can set: names of controls, or of groups of them."""
    draw: Callable[[Values], Iterator[Content]]
    """Yields the picture, coarse and fast at first, then refined."""
    work: Callable[[Values, Callable[[Progress], None]], None] | None = None
    """Work for the background; the contents that it sends are added to the picture."""
    button: str = ""
    """What starts the work; it starts by itself if there is none."""
    defaults: Mapping[str, Any] = field(default_factory=dict)
    """Values that differ from those of the other views."""

    @property
    def names(self) -> tuple[str, ...]:
        """Return the names of its controls."""
        return tuple(name for entry in self.controls for name in GROUPS.get(entry, (entry,)))


def axis(name: str, **looks: Any) -> PanelAxis:
    """Return the axis of a quantity of the vocabulary."""
    shown, counts = quantity(name), name.startswith("alpha")
    return PanelAxis(title=shown.axis, logarithmic=shown.logarithmic, samples=counts, **looks)


def panel_against(name: str, values: Values, y: PanelAxis, curves: list[Line]) -> Panel:
    """Return curves against a control, whose present value is marked."""
    return Panel(x=axis(name), y=y, curves=curves, marks=[Mark(text="now", x=values[name])])


def model_lines(rows: Iterable[tuple[Any, ...]], suffix: str = "", **looks: Any) -> list[Line]:
    """Return a curve for each model, in its color, of rows that begin with model, x and y.

    Rows whose y is None are left out.
    """
    points: dict[str, list[tuple[float, float]]] = {}
    for model, x, y, *_ in rows:
        points.setdefault(model, []).extend([] if y is None else [(float(x), float(y))])
    return [
        Line(
            name=look(model).label + suffix,
            model=model,
            x=[x for x, _ in pairs],
            y=[y for _, y in pairs],
            **looks,
        )
        for model, pairs in points.items()
    ]


def level(name: str, ends: Iterable[float], height: float, **looks: Any) -> Line:
    """Return a horizontal line between the ends of an axis."""
    return Line(name=name, x=list(ends), y=[height] * 2, **looks)


def majority(values: Values, ends: Iterable[float] = ()) -> tuple[list[Line], str]:
    """Return the majority baseline as a line, and a sentence if it meets the target.

    Both are empty where the classes are equal.
    """
    error = min(values["positive_rate"], 1.0 - values["positive_rate"])
    if error == 0.5:
        return [], ""
    sentence = f" Always answering the larger class errs on {per_cent(error)} without any data."
    line = level("always the larger class", ends, error, look="dash")
    return [line], sentence if error <= values.get("error", 0.0) else ""


def weight_panel(title: str, weights: Any, kinds: Mapping[str, tuple[str | None, Any]]) -> Panel:
    """Return the weights of a sequence's tokens as bars: each kind has a color and a mask."""
    curves = []
    for name, (color, mask) in kinds.items():
        x, y = np.flatnonzero(mask).astype(float).tolist(), weights[mask].tolist()
        curves.append(Line(name=name, color=color, look="bars", x=x, y=y))
    return Panel(
        x=PanelAxis(title=title, ends=(-0.6, weights.size - 0.4)),
        y=PanelAxis(title="weight", ends=(0.0, 1.05 * float(weights.max() or 1.0))),
        curves=curves,
    )


def by_column(names: tuple[str, ...], rows: list[tuple[Any, ...]]) -> dict[str, list[Any]]:
    """Return rows of numbers as a table."""
    return {name: [row[i] for row in rows] for i, name in enumerate(names)}
