"""Capacity: how many samples each model can fit without a training error."""

from functools import lru_cache
from typing import Any

from sparsetoken.app import figures as fig
from sparsetoken.app.parameters import Values
from sparsetoken.app.view import Line, Send, View
from sparsetoken.app.views.learning import CLASSIFIERS
from sparsetoken.app.views.phase import along
from sparsetoken.app.words import samples
from sparsetoken.experiments import compute, make_cell
from sparsetoken.vocabulary import MEASURED, PARAMETERS, group

_HIGHEST = 1000.0  # of what is shown
_GRID = 17
_PYTHON = """
query = st.theory.alignment(problem, alpha={alpha0}, **training)
known = dict(cosine=query.cosine, sharpness=query.sharpness)
print("attention", st.theory.capacity(problem, "attention", **known))
for model in ("pooled", "vectorized"):
    print(model, st.theory.capacity(problem, model))
"""
_compute = lru_cache(maxsize=4096)(compute)  # a move of what only attention knows changes little


def _capacity_at(values: Values, model: str) -> Any:
    """Return the capacity of a model, or None if it is too high to be computed well."""
    n_points = 512 if values["n_tokens"] > 128 else 2048
    known = {name: value for name, value in values.items() if name in PARAMETERS}
    case = known | {"model": model, "n_points": n_points}
    cell: Any = make_cell("theory", "capacity", case)
    most = _compute(cell)["capacity"]
    # A strong signal leaves almost nothing to go wrong: the number is then not known well.
    sure = most.converged and most.uncertainty < 0.3 * most and most <= _HIGHEST
    return most if sure else None


def draw(values: Values, send: Send) -> None:
    """Draw the capacities through the ends of the axis and the present value, then in full."""
    name = values["capacity_axis"]
    cases = [values | {name: x} for x in along(name, _GRID)]
    grid = [case[name] for case in cases if case["n_signal"] <= case["n_tokens"]]
    for places in (grid[:1] + grid[-1:], grid):
        rows = []
        for model in CLASSIFIERS:
            for x in sorted({*places, values[name]}):
                rows.append((model, x, _capacity_at(values | {name: x}, model)))
                send(Line())  # a visitor may have moved on
        send(_picture(values, rows))


def _picture(values: Values, rows: list[tuple[str, float, Any]]) -> Line:
    name, many = values["capacity_axis"], f"more than {_HIGHEST:g} samples per dimension"
    attention, pooled, vectorized = (
        many if most is None else samples(most, values["features"])
        for _, x, most in rows
        if x == values[name]
    )
    title = f"{MEASURED['capacity'].axis}, samples per dimension"
    y = fig.axis(title, logarithmic=True)
    places = [x for _, x, _ in rows]
    x = fig.quantity_axis(name, (min(places), max(places)))
    now = fig.mark("now", x=values[name])
    return Line(
        figures=[fig.figure(x, y, fig.model_curves(rows), [now])],
        sentence=(
            f"Attention can fit the labels of {attention} perfectly, pooling those of {pooled}; "
            f"a readout of all {values['n_tokens']} tokens, which has more weights, those of "
            f"{vectorized}."
        ),
        table=fig.by_column(("model", name, "capacity"), rows),
    )


_QUESTION = "How many samples can each classifier fit perfectly?"
_CONTROLS = ("capacity_axis", "features", "Problem", "alpha0", "loss", *group("two steps"))
VIEW = View("capacity", "Capacity", _QUESTION, _CONTROLS, _PYTHON, draw)
