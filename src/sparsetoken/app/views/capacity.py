"""Capacity: how many samples each model can fit without a training error."""

from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from sparsetoken.app.content import (
    Content,
    Mark,
    Panel,
    PanelAxis,
    Values,
    View,
    axis,
    by_column,
    model_line,
)
from sparsetoken.app.parameters import controls, make_problem
from sparsetoken.app.scripts import problem_code, theory_command, training_code
from sparsetoken.app.views.alignment import align
from sparsetoken.app.views.learning import models
from sparsetoken.app.views.phase import along
from sparsetoken.app.words import samples
from sparsetoken.theory import capacity
from sparsetoken.vocabulary import MEASURED, MODELS, PARAMETERS

_HIGHEST = 1000.0  # of what is shown
_GRID = 17
_TITLE = f"{MEASURED['capacity'].axis}, samples per dimension"


def capacity_at(values: Values, model: str, step: int) -> Any:
    """Return the capacity of a model, or None where it is not known."""
    attention = {}
    if model == "two-step":
        query, model, n_points = align(values), "attention", _points(values, step)
        attention = {"cosine": query.cosine, "sharpness": query.sharpness, "n_points": n_points}
    most = _capacity(make_problem(values), model, **attention)
    # A strong signal leaves almost nothing to go wrong: the number is then not known well.
    sure = most.converged and most.uncertainty < 0.3 * most and most <= _HIGHEST
    return most if sure else None


_capacity = lru_cache(maxsize=4096)(capacity)  # a move of what only attention knows changes little


def _points(values: Values, step: int) -> int:
    return 256 if not step else 512 if values["n_tokens"] > 128 else 2048


def draw(values: Values) -> Iterator[Content]:
    """Draw the three capacities through the ends of the axis and where we are, then in full."""
    name = values["capacity_axis"]
    there = [values | {name: x} for x in along(name, _GRID)]
    grid = [case[name] for case in there if case["n_signal"] <= case["n_tokens"]]
    for places, step in ((grid[:1] + grid[-1:], 0), (grid[::3], 1), (grid, 1)):
        rows = [
            (model, x, capacity_at(values | {name: x}, model, step))
            for model in models(values)
            for x in sorted({*places, values[name]})
        ]
        at_values = {model: most for model, x, most in rows if x == values[name]}
        shown = [row for row in rows if row[-1] is not None]
        curves = [[(x, float(y)) for m, x, y in shown if m == model] for model in models(values)]
        yield Content(
            panels=[
                Panel(
                    x=axis(PARAMETERS[name]),
                    y=PanelAxis(title=_TITLE, logarithmic=True, samples=True),
                    curves=[
                        model_line(model, [x for x, _ in curve], [y for _, y in curve])
                        for model, curve in zip(models(values), curves, strict=True)
                    ],
                    marks=[Mark(text="now", x=values[name])],
                )
            ],
            sentence=_sentence(values, at_values),
            facts={
                f"capacity of {MODELS[model].label}": _text(at_values[model]) for model in at_values
            },
            table=by_column(("model", name, "capacity"), rows),
            python=_python(values),
            command=theory_command("capacity", values, "alpha0"),
            more=places is not grid,
        )


def _text(most: Any) -> str:
    return f"more than {_HIGHEST:g}" if most is None else f"{most:.3g}"


def _sentence(values: Values, at_values: dict[str, Any]) -> str:
    counts = {
        model: f"{_text(None)} samples per dimension"
        if most is None
        else samples(most, values["features"])
        for model, most in at_values.items()
    }
    more = (
        f"; a readout of all {values['n_tokens']} tokens, which has more weights, those of "
        f"{counts['vectorized']}"
        if "vectorized" in counts
        else ""
    )
    return (
        f"Attention can fit the labels of {counts['two-step']} perfectly, pooling those of "
        f"{counts['pooled']}{more}."
    )


def _python(values: Values) -> str:
    return (
        problem_code(values)
        + training_code(values)
        + f"query = st.theory.alignment(problem, alpha={values['alpha0']!r}, **training)\n"
        + 'print("attention", st.theory.capacity(\n'
        + '    problem, "attention", cosine=query.cosine, sharpness=query.sharpness,\n'
        + f"    n_points={_points(values, 1)}))\n"
        + f"for model in {models(values)[1:]!r}:\n"
        + "    print(model, st.theory.capacity(problem, model))\n"
    )


VIEW = View(
    "capacity",
    "Capacity",
    "How many samples can each classifier fit perfectly?",
    controls("capacity_axis", "features", "Problem", "alpha0", "loss", "Learning rates"),
    draw,
)
