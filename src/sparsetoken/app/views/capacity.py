"""Capacity: how many samples each model can fit without a training error."""

from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from sparsetoken.app.content import Content, Line, Mark, Panel, PanelAxis, Values, View, samples
from sparsetoken.app.parameters import GROUPS, make_problem
from sparsetoken.app.scripts import problem_code, theory_command, training_code
from sparsetoken.app.views.alignment import align
from sparsetoken.app.views.learning import models
from sparsetoken.app.views.phase import along
from sparsetoken.theory import capacity
from sparsetoken.vocabulary import MEASURED, MODELS, PARAMETERS

__all__ = ["VIEW"]

_HIGHEST = 1000.0  # of what is shown
_GRID = 17


def capacity_at(values: Values, model: str, step: int) -> Any:
    """Return the capacity of a model, or None where it is not known."""
    query = align(values) if model == "two-step" else None
    given = query and (query.cosine, query.sharpness, _points(values, step))
    found = _capacity(make_problem(values), model, given)
    # A strong signal leaves almost nothing to go wrong: the number is then not known well.
    known = found.converged and found.uncertainty < 0.3 * found and found <= _HIGHEST
    return found if known else None


@lru_cache(maxsize=4096)  # a move along the axis, or of what only attention knows, changes little
def _capacity(problem: Any, model: str, given: tuple[float, float, int] | None) -> Any:
    if given is None:
        return capacity(problem, model)
    cosine, sharpness, n_points = given
    return capacity(problem, "attention", cosine=cosine, sharpness=sharpness, n_points=n_points)


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
        here = {model: found for model, x, found in rows if x == values[name]}
        yield Content(
            panels=[_panel(values, rows)],
            sentence=_sentence(values, here),
            facts={f"capacity of {MODELS[model].label}": _text(here[model]) for model in here},
            table={
                "model": [model for model, _, _ in rows],
                name: [x for _, x, _ in rows],
                "capacity": [None if found is None else float(found) for _, _, found in rows],
            },
            python=_python(values),
            command=theory_command("capacity", values, "alpha0"),
            more=places is not grid,
        )


def _panel(values: Values, rows: list[tuple[str, float, Any]]) -> Panel:
    name = values["capacity_axis"]
    curves = []
    for model in models(values):
        shown = [(x, float(y)) for own, x, y in rows if own == model and y is not None]
        xs, ys = [x for x, _ in shown], [y for _, y in shown]
        curves.append(Line(name=MODELS[model].label, model=model, x=xs, y=ys))
    shown_as = MEASURED["capacity"]
    return Panel(
        x=PanelAxis(title=PARAMETERS[name].axis, logarithmic=PARAMETERS[name].logarithmic),
        y=PanelAxis(
            title=f"{shown_as.axis}, samples per dimension", logarithmic=True, samples=True
        ),
        curves=curves,
        marks=[Mark(text="now", x=values[name])],
    )


def _text(found: Any) -> str:
    return f"more than {_HIGHEST:g}" if found is None else f"{found:.3g}"


def _sentence(values: Values, here: dict[str, Any]) -> str:
    counts = {
        model: f"more than {_HIGHEST:g} samples per dimension"
        if found is None
        else samples(found, values["features"])
        for model, found in here.items()
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
    (
        *("capacity_axis", "features"),
        *GROUPS["Problem"],
        *("alpha0", "loss"),
        *GROUPS["Learning rates"],
    ),
    draw,
)
