"""Capacity: how many samples each model can fit without a training error."""

import math
from typing import Any

from sparsetoken.app.charts import colour, figure, line, vertical
from sparsetoken.app.content import Content, Drawing, View
from sparsetoken.app.measure import measure, numbers, problem_values, training
from sparsetoken.app.parameters import GROUPS, Values
from sparsetoken.app.snippets import problem_code, rates_code, sweep_command
from sparsetoken.app.views.phase import axis, axis_layout
from sparsetoken.estimate import Estimate

__all__ = ["VIEW"]

_MODELS = ("two-step", "pooled", "vectorized")
_HIGHEST = 1000.0  # of what is shown
_GRID = 19  # of which the coarse picture has every third


def case(values: Values, model: str, x: float | None, step: int = 1) -> Values | None:
    """Return the values of a cell at a place on the axis, None for the visitor's own."""
    name = values["capacity_axis"]
    chosen = values if x is None else values | {name: x}
    if chosen["n_signal"] > chosen["n_tokens"]:
        return None
    found = problem_values(chosen) | {"model": model}
    if model != "two-step":
        return found
    found |= {"alpha0": chosen["alpha0"], "n_points": _n_points(chosen, step)}
    return found | training(chosen)


def _n_points(values: Values, step: int) -> int:
    return 512 if values["n_tokens"] > 128 or not step else 2048


def draw(values: Values, drawing: Drawing) -> Content:
    """Draw the three capacities along the axis."""
    step = min(drawing.step, 1)
    grid = axis(values["capacity_axis"], _GRID)
    grid = grid if step else grid[::3]
    traces: list[dict[str, Any]] = []
    rows: list[dict[str, Any]] = []
    here: dict[str, str] = {}
    for model in _MODELS:
        cases = [(x, found) for x in grid if (found := case(values, model, x, step))]
        own = case(values, model, None, step)
        assert own is not None
        everywhere = [*(found for _, found in cases), own]
        results = measure("capacity", everywhere, drawing)
        shown = [(x, float(r)) for (x, _), r in zip(cases, results, strict=False) if _known(r)]
        traces.append(line([x for x, _ in shown], [y for _, y in shown], model, colour(model)))
        here[model] = f"{results[-1]:.3g}" if _known(results[-1]) else f"more than {_HIGHEST:g}"
        rows += [
            found | {"source": "theory", "quantity": "capacity"} | numbers(result)
            for found, result in zip(everywhere, results, strict=True)
        ]
    sentence = (
        f"Attention can fit every training label of {here['two-step']} samples per "
        f"dimension, pooling of {here['pooled']}, and a readout of all {values['n_tokens']} "
        f"tokens, which has more weights, of {here['vectorized']}."
    )
    facts = [(f"capacity of {model}", here[model]) for model in _MODELS]
    return Content(
        _picture(values, traces, grid),
        sentence,
        rows,
        _python(values),
        _command(values),
        facts,
        more=not drawing.step,
    )


def _picture(values: Values, traces: list[dict[str, Any]], grid: list[float]) -> dict[str, Any]:
    layout = axis_layout(values["capacity_axis"], grid)
    now = values[values["capacity_axis"]]
    mark, label = vertical(now, " now", logarithmic=layout.get("type") == "log")
    heights = [y for trace in traces for y in trace["y"]] or [_HIGHEST]
    powers = [math.log10(min(heights) / 1.5), math.log10(1.5 * max(heights))]
    title = {"text": "capacity, samples per dimension"}
    vertical_axis = {"title": title, "type": "log", "range": powers, "dtick": 1}
    return figure(traces, xaxis=layout, yaxis=vertical_axis, shapes=[mark], annotations=[label])


def _known(result: Estimate) -> bool:
    """Whether a capacity is known well: a strong signal leaves almost nothing to go wrong."""
    bar = result.uncertainty
    return result.converged and bar < 0.3 * result and result <= _HIGHEST


def _python(values: Values) -> str:
    return (
        problem_code(values)
        + rates_code(values)
        + f"query = st.theory.alignment(problem, alpha={values['alpha0']!r}, **training)\n"
        + 'print("two-step", st.theory.capacity(\n'
        + '    problem, "attention", cosine=query.cosine, sharpness=query.sharpness,\n'
        + f"    n_points={_n_points(values, 1)}))\n"
        + 'for model in ("pooled", "vectorized"):\n'
        + "    print(model, st.theory.capacity(problem, model))\n"
    )


def _command(values: Values) -> str:
    name = values["capacity_axis"]
    fixed = problem_values(values) | training(values) | {"alpha0": values["alpha0"]}
    fixed.pop(name)
    along = [x for x in axis(name, _GRID) if case(values, "pooled", x)]
    return sweep_command((["capacity"], {"model": list(_MODELS), name: along}, fixed))


VIEW = View(
    "capacity",
    "Capacity",
    "How many samples can each classifier fit perfectly?",
    ("capacity_axis", *GROUPS["Problem"], "alpha0", "loss", *GROUPS["Two steps"]),
    draw,
)
