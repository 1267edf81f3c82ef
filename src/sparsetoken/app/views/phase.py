"""Phase diagram: where attention beats pooling, over two axes."""

import math
from typing import Any

import numpy as np

from sparsetoken.app.charts import colour, figure
from sparsetoken.app.content import Content, Drawing, View
from sparsetoken.app.measure import measure, numbers, problem_values, training
from sparsetoken.app.parameters import GROUPS, PARAMETERS, Number, Values
from sparsetoken.app.snippets import problem_code, rates_code, sweep_command
from sparsetoken.app.words import per_cent

__all__ = ["VIEW", "axis", "axis_layout"]

_SIZE = (25, 17)
_STRIDES = (8, 4, 2, 1)  # how the map fills in
_CHUNK = 40  # cells in a step after the first
_N_POINTS = 512
_RANGES = {"n_tokens": (2, 200), "reg": (1e-5, 10.0), "positive_rate": (0.05, 0.95)}
_LIMIT = 2.0  # of the colours, in powers of ten
_SCALE = [[0.0, colour("pooled")], [0.5, "#F4F4F2"], [1.0, colour("two-step")]]


def axis(name: str, size: int) -> list[float]:
    """Return the values along an axis."""
    parameter = PARAMETERS[name]
    assert isinstance(parameter, Number)
    low, high = _RANGES.get(name, (parameter.low, parameter.high))
    space = np.geomspace if parameter.logarithmic else np.linspace
    found = [float(f"{v:.4g}") for v in space(low, high, size)]
    return sorted({round(v) for v in found}) if parameter.whole else found


def order(n_columns: int, n_rows: int) -> list[tuple[int, int]]:
    """Return the cells of the map, coarse grids first."""
    seen: dict[tuple[int, int], None] = {}
    for stride in _STRIDES:
        for row in range(0, n_rows, stride):
            for column in range(0, n_columns, stride):
                seen.setdefault((row, column), None)
    return list(seen)


def cases(values: Values, x: float, y: float) -> dict[str, Values] | None:
    """Return the cells of both models at a point, or None if there is no such problem."""
    chosen = values | {values["x_axis"]: x, values["y_axis"]: y}
    if chosen["n_signal"] > chosen["n_tokens"]:
        return None
    shared = problem_values(chosen) | {name: chosen[name] for name in ("alpha", "reg", "loss")}
    attention = training(chosen) | {"split": chosen["split"], "n_points": _N_POINTS}
    return {
        "two-step": shared | attention | {"model": "two-step"},
        "pooled": shared | {"model": "pooled"},
    }


def draw(values: Values, drawing: Drawing) -> Content:
    """Draw the map as far as this step goes; what is not known yet looks like its neighbour."""
    if values["x_axis"] == values["y_axis"]:
        raise ValueError("Across (x_axis) and Up (y_axis) must differ")
    xs, ys = axis(values["x_axis"], _SIZE[0]), axis(values["y_axis"], _SIZE[1])
    cells = order(len(xs), len(ys))
    coarse = sum(1 for r, c in cells if not r % _STRIDES[1] and not c % _STRIDES[1])
    wanted = cells[: coarse + _CHUNK * drawing.step]
    errors: dict[tuple[int, int], tuple[float, float] | None] = {}
    rows: list[dict[str, Any]] = []
    for row, column in wanted:
        pair = cases(values, xs[column], ys[row])
        if pair is None:
            errors[row, column] = None
            continue
        found = measure("test_error", pair.values(), drawing)
        errors[row, column] = found[0], found[1]
        rows += [
            chosen | {"source": "theory", "quantity": "test_error"} | numbers(result)
            for chosen, result in zip(pair.values(), found, strict=True)
        ]
    return Content(
        _picture(values, xs, ys, errors),
        _sentence(values, errors, drawing),
        rows,
        _python(values, xs, ys),
        _command(values, xs, ys),
        more=len(wanted) < len(cells),
    )


def gain(pair: tuple[float, float] | None) -> float | None:
    """Return how many powers of ten attention's error is below that of pooling."""
    if pair is None:
        return None
    attention, pooled = (max(error, 1e-12) for error in pair)
    return math.log10(pooled / attention)


def _picture(
    values: Values,
    xs: list[float],
    ys: list[float],
    errors: dict[tuple[int, int], tuple[float, float] | None],
) -> dict[str, Any]:
    z, text = [], []
    for row in range(len(ys)):
        nearest = [_nearest(errors, row, column) for column in range(len(xs))]
        z.append([gain(pair) for pair in nearest])
        text.append(
            [
                "no such problem"
                if pair is None
                else f"attention {per_cent(pair[0])}, pooled {per_cent(pair[1])}"
                for pair in nearest
            ]
        )
    ticks = [-2, -1, 0, 1, 2]
    heat = {
        "type": "heatmap",
        "x": xs,
        "y": ys,
        "z": z,
        "text": text,
        "zmin": -_LIMIT,
        "zmax": _LIMIT,
        "colorscale": _SCALE,
        "hovertemplate": "%{x:.3g}, %{y:.3g}: %{text}<extra></extra>",
        "colorbar": {
            "title": {"text": "pooled error /<br>attention error"},
            "tickvals": ticks,
            "ticktext": ["1/100", "1/10", "1", "10", "100"],
            "thickness": 12,
        },
    }
    edge = {
        "type": "contour",
        "x": xs,
        "y": ys,
        "z": z,
        "contours": {"start": 0, "end": 0, "size": 1, "coloring": "none"},
        "line": {"color": "#1B1F24", "width": 2},
        "showscale": False,
        "hoverinfo": "skip",
        "showlegend": False,
    }
    here = {
        "type": "scatter",
        "mode": "markers",
        "x": [values[values["x_axis"]]],
        "y": [values[values["y_axis"]]],
        "marker": {"symbol": "x", "size": 12, "color": "#1B1F24"},
        "hovertemplate": "now<extra></extra>",
        "showlegend": False,
    }
    return figure(
        [heat, edge, here],
        xaxis=axis_layout(values["x_axis"], xs),
        yaxis=axis_layout(values["y_axis"], ys),
        margin={"l": 64, "r": 16, "t": 16, "b": 52},
    )


def axis_layout(name: str, along: list[float]) -> dict[str, Any]:
    """Return how an axis over a parameter is drawn."""
    choice: Any = PARAMETERS["x_axis"]
    parameter: Any = PARAMETERS[name]
    if not parameter.logarithmic:
        return {"title": {"text": choice.options[name]}, "range": [along[0], along[-1]]}
    ends = [math.log10(along[0]), math.log10(along[-1])]
    return {"title": {"text": choice.options[name]}, "type": "log", "range": ends, "dtick": 1}


def _nearest(
    errors: dict[tuple[int, int], tuple[float, float] | None], row: int, column: int
) -> tuple[float, float] | None:
    """Return the errors at a cell, or at the corner of the finest known square it lies in."""
    for stride in (*_STRIDES[::-1], max(_SIZE)):
        corner = row - row % stride, column - column % stride
        if corner in errors:
            return errors[corner]
    return None


def _sentence(
    values: Values,
    errors: dict[tuple[int, int], tuple[float, float] | None],
    drawing: Drawing,
) -> str:
    gains = [found for pair in errors.values() if (found := gain(pair)) is not None]
    won = sum(found > 0 for found in gains) / max(1, len(gains))
    choice: Any = PARAMETERS["x_axis"]
    across, up = choice.options[values["x_axis"]], choice.options[values["y_axis"]]
    here = cases(values, values[values["x_axis"]], values[values["y_axis"]])
    assert here is not None
    attention, pooled = measure("test_error", here.values(), drawing)
    return (
        f"Attention beats pooling on {per_cent(won)} of this map of {across} and {up}; "
        f"at the cross its error is {per_cent(attention)}, that of pooling {per_cent(pooled)}."
    )


def _python(values: Values, xs: list[float], ys: list[float]) -> str:
    fixed = problem_values(values) | {name: values[name] for name in ("alpha", "reg", "loss")}
    return (
        problem_code(values).splitlines()[0]
        + "\nfrom sparsetoken.experiments import compute, make_cell\n\n"
        + rates_code(values)
        + f"fixed = {fixed | {'split': values['split'], 'n_points': _N_POINTS}!r}\n"
        + f"across, up = {xs!r}, {ys!r}\n\n"
        + "def error(model, x, y):\n"
        + f'    changed = {{"model": model, "{values["x_axis"]}": x, "{values["y_axis"]}": y}}\n'
        + "    values = fixed | training | changed\n"
        + '    if values["n_signal"] > values["n_tokens"]:\n'
        + "        return np.nan  # no such problem\n"
        + '    cell = make_cell("theory", "test_error", values)\n'
        + '    return compute(cell)["test_error"]\n\n'
        + 'ratio = [[error("pooled", x, y) / error("two-step", x, y) for x in across[::4]] '
        + "for y in up[::4]]\n"
        + "print(np.round(ratio, 3))\n"
    )


def _command(values: Values, xs: list[float], ys: list[float]) -> str:
    fixed = problem_values(values) | {name: values[name] for name in ("alpha", "reg", "loss")}
    fixed |= training(values) | {"split": values["split"], "n_points": _N_POINTS}
    for name in (values["x_axis"], values["y_axis"]):
        fixed.pop(name)
    # A grid is a rectangle: rows with the same problems share one.
    rows: dict[tuple[float, ...], list[float]] = {}
    for y in ys:
        rows.setdefault(tuple(x for x in xs if cases(values, x, y)), []).append(y)
    grids: list[dict[str, list[Any]]] = [
        {"model": ["two-step", "pooled"], values["x_axis"]: list(across), values["y_axis"]: up}
        for across, up in rows.items()
        if across
    ]
    return sweep_command(*((["test_error"], axes, fixed) for axes in grids))


VIEW = View(
    "phase",
    "Phase diagram",
    "Where does attention beat pooling?",
    (
        *("x_axis", "y_axis"),
        *GROUPS["Problem"],
        *("alpha", "split", "loss", "reg"),
        *GROUPS["Two steps"],
    ),
    draw,
)
