"""Learning curves: error against samples per dimension, of the three models and the floor."""

import math
from itertools import pairwise
from typing import Any

import numpy as np

from sparsetoken.app.charts import GREY, colour, figure, line, points
from sparsetoken.app.content import Content, Drawing, Task, View
from sparsetoken.app.measure import (
    measure,
    measure_curve,
    numbers,
    precision,
    problem_values,
    training,
)
from sparsetoken.app.parameters import GROUPS, PARAMETERS, Values
from sparsetoken.app.snippets import problem_code, rates_code, sweep_command
from sparsetoken.app.words import per_cent, samples
from sparsetoken.experiments import Cell, compute, make_cell

__all__ = ["VIEW"]

_MODELS = ("two-step", "pooled", "vectorized")
_CALLED = {"two-step": "attention", "pooled": "pooling"}
_LOWEST = 0.1
_GRID = 25  # of which the coarse picture has every third
_SIMULATED = 6
_MOST_SAMPLES = 4000  # of a simulation
_MOST_NUMBERS = 1_500_000  # in the matrix that a vectorized simulation fits
_MOST_FLOOR = 20_000  # L·R up to which the floor is drawn: its cost grows with both


def alphas(values: Values) -> list[float]:
    """Return where the curves are computed."""
    return [float(f"{a:.6g}") for a in np.geomspace(_LOWEST, values["alpha_max"], _GRID)]


def case(values: Values, model: str, alpha: float, step: int = 1) -> Values | None:
    """Return the values of a cell, or None where attention has no samples left for its readout."""
    chosen = problem_values(values) | {"model": model, "reg": values["reg"], "loss": values["loss"]}
    if model != "two-step":
        return chosen | {"alpha": alpha}
    chosen |= training(values) | {"n_points": precision(values, step)}
    if values["query_by"] == "split":
        return chosen | {"alpha": alpha, "split": values["split"]}
    if alpha <= 1.02 * values["alpha0"]:
        return None
    rest = math.inf if math.isinf(alpha) else float(f"{alpha - values['alpha0']:.6g}")
    return chosen | {"alpha0": values["alpha0"], "alpha1": rest}


def draw(values: Values, drawing: Drawing) -> Content:
    """Draw the curves, coarse ones first."""
    quantity, step = values["quantity"], min(drawing.step, 1)
    grid = alphas(values) if step else alphas(values)[::3]
    rows: list[dict[str, Any]] = []
    curves: dict[str, tuple[list[float], list[float]]] = {}
    for model in _MODELS:
        cases = [(a, found) for a in grid if (found := case(values, model, a, step))]
        results = measure_curve(quantity, (found for _, found in cases), drawing) if cases else []
        curves[model] = [a for a, _ in cases], [float(result) for result in results]
        rows += [
            found | {"alpha": a, "source": "theory", "quantity": quantity} | numbers(result)
            for (a, found), result in zip(cases, results, strict=True)
        ]
    floor = _floor(values, step, drawing)
    simulated = _simulated(values, drawing)
    return Content(
        _picture(values, curves, floor, simulated),
        _sentence(values, curves, drawing),
        rows + [row for found in simulated.values() for row in found],
        _python(values),
        _command(values),
        more=drawing.step < 1,
    )


def _floor(values: Values, step: int, drawing: Drawing) -> float | None:
    """Return the Bayes error: the least of any classifier that knows the signal's direction."""
    size = values["n_tokens"] * values["n_signal"]
    if values["quantity"] != "test_error" or size > _MOST_FLOOR or (size > 500 and not step):
        return None
    n_points = 256 if size > 2000 else 1024
    chosen = problem_values(values) | {"model": "bayes", "n_points": n_points}
    return measure("oracle_error", [chosen], drawing)[0]


def _picture(
    values: Values,
    curves: dict[str, tuple[list[float], list[float]]],
    floor: float | None,
    simulated: dict[str, list[dict[str, Any]]],
) -> dict[str, Any]:
    quantity = values["quantity"]
    what: Any = PARAMETERS["quantity"]
    traces = [
        line(x, y, model, colour(model), line={"shape": "spline"})
        for model, (x, y) in curves.items()
    ]
    if floor is not None:
        ends = [_LOWEST, values["alpha_max"]]
        traces.append(
            line(ends, [floor, floor], "Bayes floor", colour("bayes"), line={"dash": "dash"})
        )
    if quantity == "test_error":
        traces.append(
            line(
                [_LOWEST, values["alpha_max"]],
                [values["target"]] * 2,
                "target",
                GREY,
                line={"dash": "dot", "width": 1.5},
            )
        )
    for model, found in simulated.items():
        x, y, bars = ([row[name] for row in found] for name in ("alpha", "value", "uncertainty"))
        trace = points(x, y, bars, f"{model}, simulated", colour(model))
        traces.append(trace | {"showlegend": False})
    logarithmic = quantity != "auc"
    return figure(
        traces,
        xaxis={"title": {"text": "samples per dimension α = n/d"}, "type": "log", "dtick": 1},
        yaxis={
            "title": {"text": what.options[quantity]},
            "type": "log" if logarithmic else "linear",
            **({"dtick": "D2", "tickformat": "~g"} if logarithmic else {}),
        },
    )


def _sentence(
    values: Values, curves: dict[str, tuple[list[float], list[float]]], drawing: Drawing
) -> str:
    quantity = values["quantity"]
    if quantity == "test_error":
        parts = [_reach(values, model, *curves[model], drawing) for model in ("two-step", "pooled")]
        return f"At these settings {parts[0]}; {parts[1]}."
    what = {"train_loss": "training loss", "auc": "AUC"}[quantity]
    ends = [f"{curves[model][1][-1]:.3g} for {model}" for model in _MODELS if curves[model][1]]
    listed = ", ".join(ends[:-1]) + f" and {ends[-1]}"
    return f"At {values['alpha_max']:g} samples per dimension the {what} is {listed}."


def _reach(values: Values, model: str, x: list[float], y: list[float], drawing: Drawing) -> str:
    """Say how many samples a model needs for the target, or why none will do."""
    target, name = values["target"], _CALLED[model]
    for (a, b), (above, below) in zip(pairwise(x), pairwise(y), strict=True):
        if above > target >= below:
            share = math.log(above / target) / math.log(above / below)
            return f"{name} needs {samples(a * (b / a) ** share)} for {per_cent(target)} error"
    if y and y[0] <= target:
        return f"{name} has {per_cent(target)} error with {samples(x[0])} already"
    limit = case(values, model, math.inf, 0)
    assert limit is not None
    least = measure("test_error", [limit], drawing)[0]
    if least > target:
        return f"{name} cannot get below {per_cent(least)} with any number"
    return f"{name} needs more than {samples(values['alpha_max'])} for {per_cent(target)} error"


def cells(values: Values) -> list[Cell]:
    """Return the simulations that the button asks for."""
    if values["quantity"] == "auc":
        raise ValueError("the AUC is not simulated: choose the test error or the training loss")
    highest = min(values["alpha_max"], _MOST_SAMPLES / values["dim"])
    grid = [float(f"{a:.4g}") for a in np.geomspace(0.3, highest, _SIMULATED)]
    found = []
    for alpha in grid:
        for model in _MODELS:
            numbers = alpha * values["n_tokens"] * values["dim"] ** 2
            chosen = case(values, model, alpha)
            if chosen is None or (model == "vectorized" and numbers > _MOST_NUMBERS):
                continue
            if chosen.get("alpha1", 1.0) * values["dim"] < 4:
                continue
            chosen |= {"dim": values["dim"], "trials": values["trials"]}
            cell = make_cell("simulation", values["quantity"], chosen)
            assert cell is not None
            found.append(cell)
    return found


def tasks(values: Values) -> list[Task]:
    """Return the simulations as work for the background."""
    return [Task(cell.key, compute, cell) for cell in cells(values)]


def _simulated(values: Values, drawing: Drawing) -> dict[str, list[dict[str, Any]]]:
    """Return what is known of the simulations, as rows for each model."""
    quantity = values["quantity"]
    if quantity == "auc":
        return {}
    found: dict[str, list[dict[str, Any]]] = {}
    for cell in cells(values):
        result = drawing.known(cell.key)
        if result is not None:
            total = cell.alpha1 if "alpha0" not in cell.values else cell.alpha0 + cell.alpha1
            row = cell.values | {"alpha": cell.values.get("alpha", total), "source": "simulation"}
            row |= {"quantity": quantity} | numbers(result[quantity])
            found.setdefault(cell.values["model"], []).append(row)
    return found


def _python(values: Values) -> str:
    quantity, reg = values["quantity"], values["reg"]
    grid = f"np.geomspace({_LOWEST}, {values['alpha_max']!r}, {_GRID})"
    lines = [
        problem_code(values) + rates_code(values) + f"alphas = {grid}",
        "curves = {}",
        'for model in ("pooled", "vectorized"):',
        "    curves[model] = st.theory.risk_curve(",
        f"        problem, model, alphas=alphas, reg={reg!r}, loss=training['loss']",
        "    )",
    ]
    if values["query_by"] == "split":
        split = values["split"]
        ratios = f"alphas0={split!r} * alphas, alphas1={1.0 - split:.12g} * alphas"
    else:
        alpha0 = values["alpha0"]
        lines.append(f"alphas = alphas[alphas > {1.02 * alpha0:.12g}]  # the query has its own")
        ratios = f"alphas0=np.full(alphas.size, {alpha0!r}), alphas1=alphas - {alpha0!r}"
    lines += [
        'curves["two-step"] = st.theory.two_step_curve(',
        f"    problem, {ratios}, reg={reg!r},",
        f"    n_points={precision(values, 1)}, **training",
        ")",
        "for model, curve in curves.items():",
        f"    print(model, [round(point.{quantity}, 5) for point in curve])",
    ]
    return "\n".join(lines) + "\n"


def _command(values: Values) -> str:
    quantity, grid = values["quantity"], alphas(values)
    fixed = problem_values(values) | {"loss": values["loss"], "reg": values["reg"]}
    axes: dict[str, list[Any]] = {"model": ["pooled", "vectorized"], "alpha": grid}
    linear = ([quantity], axes, fixed)
    found = [chosen for a in grid if (chosen := case(values, "two-step", a))]
    axis = "alpha" if values["query_by"] == "split" else "alpha1"
    shared = {name: value for name, value in found[-1].items() if name != axis} if found else {}
    attention = ([quantity], {axis: [chosen[axis] for chosen in found]}, shared)
    return sweep_command(linear, attention) if found else sweep_command(linear)


VIEW = View(
    "learning",
    "Learning curves",
    "How fast does each classifier learn?",
    (
        *GROUPS["Problem"],
        *("loss", "reg", "query_by", "split", "alpha0"),
        *GROUPS["Two steps"],
        *("quantity", "target", "alpha_max", "dim", "trials"),
    ),
    draw,
    tasks,
    "Add simulation points",
)
