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
    Values,
    View,
    axis,
    by_column,
    model_line,
)
from sparsetoken.app.parameters import controls, make_problem, population_values, select, spreads
from sparsetoken.app.scripts import problem_code, theory_command, training_code
from sparsetoken.app.words import majority, per_cent, samples
from sparsetoken.experiments import compute, make_cell
from sparsetoken.theory import optimal_curve, oracle_error, risk_curve, two_step_curve
from sparsetoken.vocabulary import MEASURED, MODELS, PARAMETERS

THREE = ("two-step", "pooled", "vectorized")
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


def points(values: Values, step: int) -> int:
    """Return how many points the law of the attention features gets: fewer for long sequences."""
    return 256 if not step else 4096 if values["n_tokens"] <= 128 else 1024


def by_number(values: Values) -> bool:
    """Return whether the samples of the query are a fixed number, not a fraction."""
    return values.get("query_by") == "alpha0"


def models(values: Values) -> tuple[str, ...]:
    """Return the models that there are: a readout of all tokens needs sequences of one length."""
    return THREE[:2] if values["length_spread"] else THREE


def has_optimum(values: Values) -> bool:
    """Return whether the best that any learner can do is quickly computed."""
    size = values["n_tokens"] * values["n_signal"] * 4 ** len(spreads(values))
    exact = values["n_signal"] == 1 and not values["signal_spread"]
    return values.get("quantity") != "train_loss" and (exact or size <= _MOST_OPTIMUM)


def query_samples(values: Values, alpha: float) -> float:
    """Return the samples per dimension that the query gets of all."""
    return values["alpha0"] if by_number(values) else values["split"] * alpha


def curve(values: Values, model: str, alphas: list[float], step: int) -> tuple[list[float], Any]:
    """Return the alphas at which a model can be trained, and its risk there."""
    shared = {"reg": values["reg"], "loss": values["loss"]}
    problem = make_problem(values)
    if model == "optimal":
        return alphas, optimal_curve(problem, alphas, n_points=_OPTIMUM_POINTS)
    if model != "two-step":
        return alphas, risk_curve(problem, model, alphas=alphas[::-1], **shared)[::-1]
    if by_number(values):
        alphas = [alpha for alpha in alphas if alpha > 1.02 * values["alpha0"]]
    if not alphas:
        return [], []
    # From many samples to few: half the time of the other way.
    first = [query_samples(values, alpha) for alpha in alphas[::-1]]
    second = [a if math.isinf(a) else a - b for a, b in zip(alphas[::-1], first, strict=True)]
    rates = select(values, "two steps")
    risks = two_step_curve(
        problem, alphas0=first, alphas1=second, n_points=points(values, step), **shared, **rates
    )
    return alphas, risks[::-1]


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
    risks: dict[str, Any] = {}
    stages = (grid[::_STRIDE], THREE, 0), (grid, THREE, 0), (grid, ("two-step",), 1)
    for alphas, fresh, step in stages:
        risks |= {m: curve(values, m, alphas, step) for m in models(values) if m in fresh}
        if step and has_optimum(values):
            risks["optimal"] = curve(values, "optimal", alphas, step)
        rows = [
            (model, alpha, value(risk, values), getattr(risk, "converged", True))
            for model, curves in risks.items()
            for alpha, risk in zip(*curves, strict=True)
        ]
        lines = [
            model_line(m, x, [shown for model, _, shown, _ in rows if model == m])
            for m, (x, _) in risks.items()
        ]
        yield Content(
            panels=[_panel(values, lines + _levels(values, step))],
            sentence=_sentence(values, lines, step),
            table=by_column(("model", "alpha", values["quantity"], "converged"), rows),
            python=_python(values),
            command=_command(values),
            more=not step,
        )


def _panel(values: Values, curves: list[Line]) -> Panel:
    shown = MEASURED[values["quantity"]]
    title = shown.label
    if values["quantity"] == "recall":
        title += f" at {per_cent(values['fpr'])} false positives"
    return Panel(
        x=axis(PARAMETERS["alpha"], ends=(_LOWEST, values["alpha_max"])),
        y=PanelAxis(title=title, logarithmic=shown.logarithmic),
        curves=curves,
    )


def _levels(values: Values, step: int) -> list[Line]:
    """Return the target, what a constant answer gives, and the least error of any classifier."""
    if values["quantity"] != "test_error":
        return []
    ends = [_LOWEST, values["alpha_max"]]
    lines = [Line(name="target", look="dot", x=ends, y=[values["error"]] * 2)]
    lines += majority(values, ends)[0]
    size = values["n_tokens"] * values["n_signal"] * 2 ** len(spreads(values))
    if step and size <= _MOST_FLOOR:
        n_points = 256 if size > 2000 else 1024
        floor = float(oracle_error(make_problem(values), "bayes", n_points=n_points))
        label = f"{MODELS['bayes'].label} floor"
        lines.append(Line(name=label, model="bayes", look="dash", x=ends, y=[floor] * 2))
    return lines


def _sentence(values: Values, curves: list[Line], step: int) -> str:
    if values["quantity"] != "test_error":
        ends = [f"{c.y[-1]:.3g} for {c.name}" for c in curves if c.y]
        what = MEASURED[values["quantity"]].label
        return f"At {samples(values['alpha_max'], values['features'])} the {what} is " + (
            f"{', '.join(ends[:-1])} and {ends[-1]}."
        )
    reached = [_reach(values, c, step) for c in curves if c.model in _CALLED]
    return f"At these settings {'; '.join(reached)}.{majority(values, [])[1]}"


def _reach(values: Values, drawn: Line, step: int) -> str:
    """Say how many samples a model needs for the target, or why none will do."""
    target, name, x, y = values["error"], _CALLED[drawn.model or ""], drawn.x, drawn.y
    for (a, b), (above, below) in zip(pairwise(x), pairwise(y), strict=True):
        if above > target >= below:
            way = math.log(above / target) / math.log(above / below)
            needed = samples(a * (b / a) ** way, values["features"])
            return f"{name} needs {needed} for {per_cent(target)} error"
    if y and y[0] <= target:
        return f"{name} has {per_cent(target)} error with {samples(x[0])} already"
    if step:
        (limit,) = curve(values, drawn.model or "", [math.inf], 0)[1]
        if limit.test_error > target:
            return f"{name} cannot get below {per_cent(limit.test_error)} with any number"
    return f"{name} needs more than {samples(values['alpha_max'])} for {per_cent(target)} error"


def simulate(values: Values, send: Callable[[Progress], None]) -> None:
    """Train classifiers on drawn samples, and send the points as they come."""
    cells = _cells(values)
    points: dict[str, list[tuple[float, float, float]]] = {}
    send(Progress(done=0, total=len(cells)))
    for done, (model, alpha, cell) in enumerate(cells, 1):
        result = compute(cell)[values["quantity"]]
        points.setdefault(model, []).append((alpha, float(result), float(result.uncertainty)))
        lines = []
        for name, rows in points.items():
            x, y, error = map(list, zip(*rows, strict=True))
            label = f"{MODELS[name].label}, simulated"
            lines.append(Line(name=label, model=name, look="points", x=x, y=y, error=error))
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
    shared |= {name: values[name] for name in ("dim", "trials", "fpr")}
    cells = []
    for alpha in np.geomspace(lowest, highest, _SIMULATED).tolist():
        tokens = alpha * values["dim"] * values["n_tokens"]
        optimum = has_optimum(values) and tokens * values["positive_rate"] <= _MOST_TOKENS
        first = query_samples(values, alpha)
        for model in (*models(values), "optimal") if optimum else models(values):
            counts, fewest = {"alpha": alpha, "split": values["split"]}, alpha
            if model == "two-step":
                counts, fewest = (
                    {"alpha0": first, "alpha1": alpha - first},
                    min(first, alpha - first),
                )
            large = model == "vectorized" and tokens * values["dim"] > _MOST_NUMBERS
            if fewest * rarer >= _FEWEST and not large:
                cell = make_cell(
                    "simulation", values["quantity"], shared | counts | {"model": model}
                )
                cells.append((model, alpha, cell))
    return cells


def _python(values: Values) -> str:
    shown, reg = values["quantity"], repr(values["reg"])
    if shown == "recall":
        shown = f"recall(fpr={values['fpr']!r})"
    first = f"{values['split']!r} * alphas"
    lines = [
        f"alphas = np.geomspace({_LOWEST}, {values['alpha_max']!r}, {_GRID})[::-1]"
        "  # each point starts from the one before",
        "curves = {",
        f"    model: st.theory.risk_curve(problem, model, alphas=alphas, reg={reg}, "
        "loss=training['loss'])",
        f"    for model in {models(values)[1:]!r}",
        "}",
    ]
    if has_optimum(values):
        best = f"st.theory.optimal_curve(problem, alphas, n_points={_OPTIMUM_POINTS})"
        lines.append(f'curves["optimal"] = {best}')
    if by_number(values):
        lines.append(f"alphas = alphas[alphas > {1.02 * values['alpha0']:.12g}]")
        first = f"np.full(alphas.size, {values['alpha0']!r})"
    lines += [
        f"first = {first}",
        'curves["two-step"] = st.theory.two_step_curve(',
        f"    problem, alphas0=first, alphas1=alphas - first, reg={reg},",
        f"    n_points={points(values, 1)}, **training",
        ")",
        "for model, curve in curves.items():",
        f"    print(model, [round(float(point.{shown}), 5) for point in curve][::-1])",
    ]
    return problem_code(values) + training_code(values) + "\n".join(lines) + "\n"


def _command(values: Values) -> str:
    """Return the command for the end of attention's curve."""
    end = values | {"alpha": values["alpha_max"]}
    names = ["alpha", "split"]
    if by_number(values):
        names = ["alpha0", "alpha1"]
        end |= {"alpha1": values["alpha_max"] - values["alpha0"]}
    names += ["fpr"] * (values["quantity"] == "recall")
    return theory_command(values["quantity"], end, *names)


VIEW = View(
    "learning",
    "Learning curves",
    "How fast does each classifier learn?",
    controls("quantity", "error", "fpr", "alpha_max", "features", "Problem")
    + controls("query_by", "split", "alpha0", "loss", "reg", "Learning rates", "dim", "trials"),
    draw,
    simulate,
    "Add simulated points",
)
