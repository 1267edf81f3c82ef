"""Learning curves: how fast each classifier learns, with simulated points on demand."""

import math
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

import numpy as np

from sparsetoken.app.content import (
    Content,
    Line,
    Panel,
    PanelAxis,
    Progress,
    View,
    axis,
    by_column,
    level,
    majority,
    model_lines,
)
from sparsetoken.app.parameters import Values, make_problem, population_values, select, spreads
from sparsetoken.app.scripts import script, theory_command
from sparsetoken.app.words import per_cent, samples
from sparsetoken.experiments import compute, make_cell
from sparsetoken.theory import optimal, oracle_error, risk, two_step_risk
from sparsetoken.vocabulary import MEASURED

_THREE = ("two-step", "pooled", "vectorized")
_CALLED = {"two-step": "attention", "pooled": "pooling", "optimal": "the best learner"}
_LOWEST = 0.1
_GRID, _STRIDE = 25, 12  # alphas, and which of them the first picture has
_SIMULATED = 6
_MOST_SAMPLES = 4000  # of a simulation
_FEWEST = 8  # samples of the rarer class, so that hardly any draw is without one
_MOST_NUMBERS = 1_500_000  # in the matrix that a vectorized simulation fits
_MOST_OPTIMUM = 2_000  # of the same for the best possible curve; one signal token is quick
_OPTIMUM_POINTS = 256
_MOST_TOKENS = 400_000  # in the positives of a simulation of the best learner
_MOST_FLOOR = 20_000  # tokens times signal tokens times kinds up to which the Bayes floor is drawn
_PYTHON = """\
training = {training!r}
alphas = np.geomspace({lowest}, {alpha_max!r}, {size})[::-1]  # each starts from the one before
curves = {{
    model: st.theory.risk(problem, model, alpha=alphas, reg={reg!r}, loss=training['loss'])
    for model in {linear!r}
}}
{optimum}curves["two-step"] = st.theory.two_step_risk(
    problem, alpha0={split!r} * alphas, alpha1=(1 - {split!r}) * alphas, reg={reg!r},
    n_points={n_points}, **training
)
for model, curve in curves.items():
    print(model, [round(float(point.{shown}), 5) for point in curve][::-1])
"""
_OPTIMUM = 'curves["optimal"] = st.theory.optimal(problem, alphas, n_points={})\n'


def points(values: Values, step: int) -> int:
    """Return how many points the law of the attention features gets: fewer for long sequences."""
    return 256 if not step else 4096 if values["n_tokens"] <= 128 else 1024


def models(values: Values) -> tuple[str, ...]:
    """Return the models that there are: a readout of all tokens needs sequences of one length."""
    return _THREE[:2] if values["length_spread"] else _THREE


def has_optimum(values: Values) -> bool:
    """Return whether the best that any learner can do is quickly computed."""
    size = values["n_tokens"] * values["n_signal"] * 4 ** len(spreads(values))
    exact = values["n_signal"] == 1 and not values["signal_spread"]
    return values.get("quantity") != "train_loss" and (exact or size <= _MOST_OPTIMUM)


def curve(values: Values, model: str, alphas: list[float], step: int) -> Any:
    """Return the risk of a model at each alpha."""
    problem = make_problem(values)
    if model == "optimal":
        return optimal(problem, alphas, n_points=_OPTIMUM_POINTS)
    shared = {"reg": values["reg"], "loss": values["loss"]}
    down = alphas[::-1]  # from many samples to few: half the time of the other way
    if model != "two-step":
        return risk(problem, model, alpha=down, **shared)[::-1]
    split = values["split"]
    return two_step_risk(
        problem,
        alpha0=[split * alpha for alpha in down],
        alpha1=[(1.0 - split) * alpha for alpha in down],
        n_points=points(values, step),
        **shared,
        **select(values, "two steps"),
    )[::-1]


def value(risk: Any, values: Values) -> float:
    """Return what is shown of a risk."""
    if values["quantity"] == "recall":
        return float(risk.recall(fpr=values["fpr"]))
    return float(getattr(risk, values["quantity"]))


def draw(values: Values) -> Iterator[Content]:
    """Draw the curves through few points, then through all, then attention more exactly.

    The best possible curve comes last.
    """
    grid = [float(f"{a:.6g}") for a in np.geomspace(_LOWEST, values["alpha_max"], _GRID)]
    quantity, optimum = values["quantity"], has_optimum(values)
    names = ["alpha", "split"] + ["fpr"] * (quantity == "recall")
    end = values | {"alpha": values["alpha_max"]}
    python = script(
        values,
        _PYTHON,
        lowest=_LOWEST,
        size=_GRID,
        linear=models(values)[1:],
        n_points=points(values, 1),
        optimum=_OPTIMUM.format(_OPTIMUM_POINTS) if optimum else "",
        shown=f"recall(fpr={values['fpr']!r})" if quantity == "recall" else quantity,
    )
    risks: dict[str, Any] = {}
    stages = (grid[::_STRIDE], models(values), 0), (grid, models(values), 0), (grid, _THREE[:1], 1)
    for alphas, fresh, step in stages:
        risks |= {model: curve(values, model, alphas, step) for model in fresh}
        if step and optimum:
            risks["optimal"] = curve(values, "optimal", alphas, step)
        rows = [
            (model, alpha, value(risk, values), getattr(risk, "converged", True))
            for model in risks
            for alpha, risk in zip(alphas, risks[model], strict=True)
        ]
        lines = model_lines(rows)
        yield Content(
            panels=[_panel(values, lines + _levels(values, step))],
            sentence=_sentence(values, lines, step),
            table=by_column(("model", "alpha", quantity, "converged"), rows),
            python=python,
            command=theory_command(quantity, end, *names),  # for the end of attention's curve
        )


def _panel(values: Values, curves: list[Line]) -> Panel:
    shown = MEASURED[values["quantity"]]
    title = shown.label
    if shown.name == "recall":
        title += f" at {per_cent(values['fpr'])} false positives"
    x = axis("alpha", ends=(_LOWEST, values["alpha_max"]))
    return Panel(x=x, y=PanelAxis(title=title, logarithmic=shown.logarithmic), curves=curves)


def _levels(values: Values, step: int) -> list[Line]:
    """Return the target, what a constant answer gives, and the least error of any classifier."""
    if values["quantity"] != "test_error":
        return []
    ends = _LOWEST, values["alpha_max"]
    lines = [level("target", ends, values["error"], look="dot"), *majority(values, ends)[0]]
    size = values["n_tokens"] * values["n_signal"] * 2 ** len(spreads(values))
    if step and size <= _MOST_FLOOR:
        n_points = 256 if size > 2000 else 1024
        floor = float(oracle_error(make_problem(values), "bayes", n_points=n_points))
        lines.append(level("Bayes floor", ends, floor, model="bayes", look="dash"))
    return lines


def _sentence(values: Values, curves: list[Line], step: int) -> str:
    if values["quantity"] != "test_error":
        *ends, last = [f"{c.y[-1]:.3g} for {c.name}" for c in curves]
        place = samples(values["alpha_max"], values["features"])
        what = MEASURED[values["quantity"]].label
        return f"At {place} the {what} is {', '.join(ends)} and {last}."
    reached = [_reach(values, c, step) for c in curves if c.model in _CALLED]
    return f"At these settings {'; '.join(reached)}.{majority(values)[1]}"


def _reach(values: Values, drawn: Line, step: int) -> str:
    """Say how many samples a model needs for the target, or why none will do."""
    target, model = values["error"], drawn.model or ""
    name, goal = _CALLED[model], f"{per_cent(target)} error"
    for (a, b), (above, below) in zip(pairwise(drawn.x), pairwise(drawn.y), strict=True):
        if above > target >= below:
            way = math.log(above / target) / math.log(above / below)
            return f"{name} needs {samples(a * (b / a) ** way, values['features'])} for {goal}"
    if drawn.y[0] <= target:
        return f"{name} has {goal} with {samples(drawn.x[0])} already"
    if step:
        (limit,) = curve(values, model, [math.inf], 0)
        if limit.test_error > target:
            return f"{name} cannot get below {per_cent(limit.test_error)} with any number"
    return f"{name} needs more than {samples(values['alpha_max'])} for {goal}"


def simulate(values: Values, send: Callable[[Progress], None]) -> None:
    """Train classifiers on drawn samples, and send the points as they come."""
    cells = _cells(values)
    rows: list[tuple[str, float, float, float]] = []
    send(Progress(done=0, total=len(cells)))
    for done, (model, alpha, cell) in enumerate(cells, 1):
        result = compute(cell)[values["quantity"]]
        rows.append((model, alpha, float(result), float(result.uncertainty)))
        lines = model_lines(rows, ", simulated", look="points")
        for line in lines:
            line.error = [row[3] for row in rows if row[0] == line.model]
        content = Content(panels=[_panel(values, lines)], sentence="")
        send(Progress(done=done, total=len(cells), content=content))


def _cells(values: Values) -> list[tuple[str, float, Any]]:
    """Return what is simulated: the population of the curves, where it does not take too long."""
    rarer = values["dim"] * min(values["positive_rate"], 1.0 - values["positive_rate"])
    lowest = max(0.3, _FEWEST / rarer)
    highest = min(values["alpha_max"], _MOST_SAMPLES / values["dim"])
    if lowest >= highest:
        raise ValueError(
            f"{highest * rarer:.0f} sequences of the rarer class are too few to simulate: choose "
            "more dimensions, longer curves or a positive rate nearer to one half"
        )
    shared = population_values(values) | select(values, "training", "two steps")
    shared |= {name: values[name] for name in ("dim", "trials", "fpr", "split")}
    smaller_half = min(values["split"], 1.0 - values["split"])
    cells = []
    for alpha in np.geomspace(lowest, highest, _SIMULATED).tolist():
        tokens = alpha * values["dim"] * values["n_tokens"]
        possible = {
            "two-step": smaller_half * alpha * rarer >= _FEWEST,
            "pooled": True,
            "vectorized": tokens * values["dim"] <= _MOST_NUMBERS and not values["length_spread"],
            "optimal": has_optimum(values) and tokens * values["positive_rate"] <= _MOST_TOKENS,
        }
        for model in (model for model, is_possible in possible.items() if is_possible):
            settings = shared | {"alpha": alpha, "model": model}
            cells.append((model, alpha, make_cell("simulation", values["quantity"], settings)))
    return cells


VIEW = View(
    "learning",
    "Learning curves",
    "How fast does each classifier learn?",
    (
        *("quantity", "error", "fpr", "alpha_max", "features", "Problem"),
        *("split", "loss", "reg", "Learning rates", "dim", "trials"),
    ),
    draw,
    simulate,
    "Add simulated points",
)
