"""What panels share: words, labels, and how curves and points are drawn."""

import math
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter

from sparsetoken.models import look, names
from sparsetoken.plotting.picture import Picture, with_subscripts
from sparsetoken.vocabulary import COLORS, MARKERS, MEASURED, PARAMETERS, group

Rows = Sequence[dict[str, Any]]

# A line style for each marker: curves differ without their colors.
_DASHES: Any = dict(
    zip(
        MARKERS,
        ("-", (0, (5, 1.5)), (0, (6, 1.5, 1, 1.5)), (0, (1, 1)), (0, (6, 1, 1, 1, 1, 1)),
         (0, (2, 1)), (0, (9, 2))),
        strict=True,
    )
)  # fmt: skip
# Numbers at which a logarithmic axis of at most so many decades is labelled; None: any.
_ROUND: Any = (
    (0.4, None), (1.0, (1.0, 1.5, 2.0, 3.0, 5.0, 7.0)), (2.5, (1.0, 2.0, 5.0)), (5.0, (1.0,))
)  # fmt: skip
_NOT_IN_THEORY = {"source", "value", "uncertainty", "converged", *group("simulation", "numerics")}
_NAMED = ("problem", "samples", "training", "query", "simulation")  # in captions


def select(rows: Rows, **values: Any) -> list[dict[str, Any]]:
    """Return the rows with the given values."""
    return [row for row in rows if all(row.get(name) == v for name, v in values.items())]


def present(rows: Rows, name: str) -> list[Any]:
    """Return the values of a column, sorted."""
    return sorted({row[name] for row in rows if row.get(name) is not None})


def looks(values: Iterable[Any]) -> Iterator[tuple[Any, tuple[str, str]]]:
    """Yield each value with a color and a marker of its own."""
    return zip(values, zip(COLORS, MARKERS, strict=True), strict=False)


def beside_theory(rows: Rows) -> list[tuple[dict[str, Any], dict[str, Any], float]]:
    """Return simulated rows with the theory of the same values, and their difference.

    That is in standard errors, positive where the simulation is larger.
    """

    def values(row: dict[str, Any]) -> str:
        named = ((n, v) for n, v in row.items() if n not in _NOT_IN_THEORY and v is not None)
        return repr(sorted(named))

    theory = {values(row): row for row in select(rows, source="theory")}
    pairs = []
    for row in select(rows, source="simulation"):
        expected = theory.get(values(row))
        if expected is not None:
            error = math.hypot(row["uncertainty"], expected["uncertainty"])
            gap = (row["value"] - expected["value"]) / error if error else 0.0
            pairs.append((row, expected, gap))
    return pairs


def curve(
    axes: Axes,
    rows: Rows,
    x: str,
    color: str,
    marker: str = "o",
    label: str | None = None,
    *,
    dashes: str | None = None,
    face: str = "white",
    **line: Any,
) -> None:
    """Draw the theory among the rows as a line and the simulation as points with error bars.

    The legend shows whichever of the two there are. Each marker has a line style of its own,
    unless ``dashes`` and ``line`` say otherwise.
    """
    style = dashes or _DASHES.get(marker, "-")
    points: Any = {"color": color, "markerfacecolor": face, "markeredgewidth": 0.8}
    theory, simulation = (
        sorted(select(rows, source=source), key=lambda row: row[x])
        for source in ("theory", "simulation")
    )
    if theory:
        values = [row["value"] for row in theory]
        axes.plot([row[x] for row in theory], values, ls=style, color=color, **line)
    if simulation:
        bars: Any = {"elinewidth": 0.8, "capsize": 1.5, "zorder": 3}
        means, errors = ([row[name] for row in simulation] for name in ("value", "uncertainty"))
        places = [row[x] for row in simulation]
        axes.errorbar(places, means, yerr=errors, fmt=marker, **points, **bars)
    if label is not None:
        ls, shown = style if theory else "none", marker if simulation else ""
        axes.plot([], [], ls=ls, marker=shown, label=label, **points, **line)


def panel(
    axes: Axes,
    rows: Rows,
    x: str,
    y: str,
    by: str = "model",
    styles: Mapping[str, dict[str, Any]] | None = None,
) -> None:
    """Draw the quantity ``y`` against ``x``, a curve for each value of ``by``, and label the axes.

    A model looks as it does everywhere, but for what ``styles`` has of it.
    """
    shown = select(rows, quantity=y)
    if by == "model":
        for model in (each for each in names() if each in present(shown, by)):
            name, color, marker = look(model)
            style = {"color": color, "marker": marker, "label": name}
            curve(axes, select(shown, model=model), x, **style | (styles or {}).get(model, {}))
    else:
        symbol = with_subscripts(PARAMETERS[by].short)
        for value, (color, marker) in looks(present(shown, by)):
            curve(axes, select(shown, **{by: value}), x, color, marker, f"{symbol} = {value:g}")
    label_axes(axes, x, y)


def caption(figure: Picture, rows: Rows, title: str, notes: Sequence[str] = ()) -> None:
    """Compose the caption: title, notes, what is drawn, the parameters that all rows share."""
    sentences = [title, *notes]
    if select(rows, source="simulation") and select(rows, source="theory"):
        gaps = [abs(gap) for *_, gap in beside_theory(rows)]
        far = sum(gap > 3.0 for gap in gaps)
        off = f"; {far} of {len(gaps)} are more than 3 standard errors off their line"
        points = "simulation, mean and standard error" + (off if far else "")
        sentences.append(f"Lines: theory, in the limit of large d. Points: {points}")
    fixed = []
    for name in group(*_NAMED):
        values = present(rows, name)
        if len(values) == 1 and (PARAMETERS[name].symbol or name == "trials"):
            fixed.append(f"{PARAMETERS[name].short} = {values[0]:g}")
    sentences += [", ".join(fixed)] if fixed else []
    figure.title = title
    figure.caption = " ".join(f"{sentence.rstrip('.')}." for sentence in sentences if sentence)


def lines_and_points(axes: Axes, *, lines: bool = True) -> None:
    """Say once what lines and points are."""
    if lines:
        axes.plot([], [], "-", color="0.4", label="theory")
    axes.errorbar(
        [], [], yerr=[], fmt="o", color="0.4", markerfacecolor="white", label="simulation ± s.e."
    )


def label_axes(axes: Axes, x: str, y: str) -> None:
    """Label and scale both axes as the vocabulary has it; a name it does not know is the label."""
    for axis, name in ((axes.xaxis, x), (axes.yaxis, y)):
        entry = (PARAMETERS | MEASURED).get(name)
        label = entry.axis if entry else name
        if axis is axes.yaxis:  # as many characters as fit upright beside a panel
            figure: Any = axes.figure
            grid = axes.get_gridspec()
            fitting = int(14 * figure.get_figheight() / grid.nrows) if grid else 30
            label = "\n".join(textwrap.wrap(label, fitting))
        axis.set_label_text(with_subscripts(label))
        if entry and entry.logarithmic:
            (axes.set_xscale if axis is axes.xaxis else axes.set_yscale)("log")
            plain_log(axis)


def plain_log(axis: Any) -> None:
    """Label a logarithmic axis in plain numbers, the rounder the more decades it has.

    An axis of many decades keeps its powers of ten.
    """
    low, high = axis.get_view_interval()
    decades = math.log10(high / low) if low > 0 else math.inf
    if decades > 5:
        return
    subs = next(numbers for most, numbers in _ROUND if decades <= most)
    axis.set_major_locator(LogLocator(subs=subs) if subs else MaxNLocator(4))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axis.set_minor_formatter(NullFormatter())
