"""Small charts as SVG text: they take the page's colors, so they follow light and dark."""

import math
from collections.abc import Iterable, Sequence
from html import escape
from typing import Any, NamedTuple

_WIDTH, _HEIGHT = 360, 260
_LEFT, _RIGHT, _TOP, _BOTTOM = 48, 348, 12, 218


class Scale(NamedTuple):
    """A horizontal or vertical axis."""

    label: str
    low: float
    high: float
    ticks: Sequence[float]
    logarithmic: bool = False

    def place(self, value: float) -> float:
        """Return where a value lies, from 0 at the low end to 1 at the high one."""
        low, high = self.low, self.high
        if self.logarithmic:
            low, high, value = math.log(low), math.log(high), math.log(max(value, 1e-300))
        return min(max((value - low) / (high - low), -0.02), 1.02)


def from_zero(label: str, highest: float) -> Scale:
    """Return an axis from 0 to above ``highest``, with round ticks."""
    unit = 10.0 ** math.floor(math.log10(highest / 5))
    step = next(unit * factor for factor in (1, 2, 2.5, 5, 10) if unit * factor >= highest / 5)
    count = math.ceil(highest / step - 1e-9)
    ticks = tuple(float(f"{i * step:.3g}") for i in range(count + 1))
    return Scale(label, 0.0, ticks[-1], ticks)


class Chart:
    """A chart with two axes, drawn mark by mark."""

    def __init__(self, title: str, x: Scale, y: Scale) -> None:
        self.title, self.x, self.y = title, x, y
        self._marks: list[str] = []

    def line(self, points: Iterable[Any], kind: str, tag: str = "polyline") -> None:
        """Draw a line; ``kind`` is its style: main, other, or c0, c1 and so on for classes."""
        path = " ".join(f"{self._across(x):.1f},{self._down(y):.1f}" for x, y in points)
        self._marks.append(f'<{tag} class="{kind}" points="{path}"/>')

    def band(self, x: Sequence[float], lower: Any, upper: Any) -> None:
        """Shade between a lower and an upper value at each x."""
        there, back = zip(x, lower, strict=True), zip(x[::-1], upper[::-1], strict=True)
        self.line([*there, *back], "band", "polygon")

    def point(self, x: float, y: float, low: float, high: float, text: str) -> None:
        """Draw a point with an error bar; ``text`` is shown when the pointer rests on it."""
        across, middle, bottom, top = self._across(x), *map(self._down, (y, low, high))
        self._marks.append(
            f'<g class="point"><title>{escape(text)}</title>'
            f'<line x1="{across:.1f}" x2="{across:.1f}" y1="{bottom:.1f}" y2="{top:.1f}"/>'
            f'<circle cx="{across:.1f}" cy="{middle:.1f}" r="3.5"/></g>'
        )

    def _across(self, value: float) -> float:
        return _LEFT + self.x.place(value) * (_RIGHT - _LEFT)

    def _down(self, value: float) -> float:
        return _BOTTOM - self.y.place(value) * (_BOTTOM - _TOP)

    def svg(self) -> str:
        """Return the chart as an element of a page."""
        head = (
            f'<svg class="chart" viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" '
            f'aria-label="{escape(self.title, quote=True)}">'
        )
        grid = [
            f'<line class="grid" x1="{at:.1f}" x2="{at:.1f}" y1="{_TOP}" y2="{_BOTTOM}"/>'
            f'<text x="{at:.1f}" y="{_BOTTOM + 15}" text-anchor="middle">{tick:g}</text>'
            for tick, at in ((tick, self._across(tick)) for tick in self.x.ticks)
        ]
        grid += [
            f'<line class="grid" x1="{_LEFT}" x2="{_RIGHT}" y1="{at:.1f}" y2="{at:.1f}"/>'
            f'<text x="{_LEFT - 6}" y="{at + 4:.1f}" text-anchor="end">{tick:g}</text>'
            for tick, at in ((tick, self._down(tick)) for tick in self.y.ticks)
        ]
        labels = (
            f'<text x="{(_LEFT + _RIGHT) / 2}" y="{_HEIGHT - 6}" text-anchor="middle">'
            f"{escape(self.x.label)}</text>"
            f'<text transform="translate(12,{(_TOP + _BOTTOM) / 2}) rotate(-90)" '
            f'text-anchor="middle">{escape(self.y.label)}</text>'
        )
        return "".join([head, *grid, labels, *self._marks, "</svg>"])


def bars(values: dict[str, float]) -> str:
    """Return weights as labelled horizontal bars."""
    rows = "".join(
        f'<div class="bar"><span>{escape(name)}</span>'
        f'<div><i style="width:{value:.1%}"></i></div><b>{value:.0%}</b></div>'
        for name, value in values.items()
    )
    return f'<div class="bars">{rows}</div>'


def strip(
    weights: Sequence[float], contributions: Sequence[float], texts: Sequence[str] | None
) -> str:
    """Return the tokens as boxes: height is weight, color is what each speaks for."""
    heaviest = max(weights) or 1.0
    strongest = max(map(abs, contributions)) or 1.0
    boxes = []
    for i, (weight, contribution) in enumerate(zip(weights, contributions, strict=True)):
        kind = "for" if contribution >= 0 else "against"
        shade = 0.15 + 0.85 * abs(contribution) / strongest
        text = f" {texts[i]}" if texts is not None else ""
        title = escape(f"token {i}{text}: weight {weight:.3f}, contribution {contribution:+.3f}")
        size = 4 + 36 * weight / heaviest
        style = f"height:{size:.0f}px;opacity:{shade:.2f}"
        boxes.append(f'<i class="{kind}" style="{style}" title="{title}"></i>')
    return f'<div class="strip">{"".join(boxes)}</div>'
