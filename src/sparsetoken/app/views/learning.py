"""Learning curves: how fast each classifier learns, with simulated points on demand."""

import math
from collections.abc import Iterable
from itertools import pairwise
from typing import Any

import numpy as np

from sparsetoken.app import figures as fig
from sparsetoken.app.parameters import Values, make_problem
from sparsetoken.app.view import Line, Send, View
from sparsetoken.app.words import per_cent, plural, samples
from sparsetoken.experiments import compute, make_cell
from sparsetoken.models import get, look
from sparsetoken.theory import optimal, oracle_error, training
from sparsetoken.vocabulary import COLORS, MEASURED, PARAMETERS

CLASSIFIERS = ("two-step", "pooled", "vectorized")
_CALLED = {"two-step": "attention", "pooled": "pooling", "optimal": "the best learner"}
_LOWEST = 0.1
_GRID, _STRIDE = 25, 12  # alphas, and which of them the first picture has
_SIMULATED = 6
_MOST_SAMPLES = 4000  # of a simulation
_FEWEST = 8  # samples of the rarer class, so that hardly any draw is without one
_MOST_NUMBERS = 1_500_000  # in the matrix that a vectorized simulation fits
_MOST_OPTIMUM = 2_000  # tokens times signal tokens, for the best possible curve; one is quick
_OPTIMUM_POINTS = 256
_MOST_TOKENS = 400_000  # in the positives of a simulation of the best learner
_PYTHON = """
for alpha in (1.0, 5.0, {alpha_max}):
    attention = st.theory.two_step_risk(
        problem, alpha0={split} * alpha, alpha1=(1 - {split}) * alpha, reg={reg}, **training
    )
    pooled = st.theory.risk(problem, "pooled", alpha=alpha, reg={reg}, loss={loss})
    for risk in (attention, pooled):  # or st.theory.optimal(problem, alpha), the best learner
        print(alpha, risk.test_error, risk.auc, risk.recall(fpr={fpr}))

path = st.theory.training(
    problem, steps={steps}, alpha={alpha}, batches={batches}, loss={loss}, reg={reg}, beta={beta},
    lr_readout={step_readout}, lr_bias={step_bias}, lr_query={step_query},
)
print(path.cosine, path.test_error)
"""


def has_optimum(values: Values) -> bool:
    """Return whether the best that any learner can do is quickly computed."""
    few = values["n_tokens"] * values["n_signal"] <= _MOST_OPTIMUM
    return values.get("quantity") != "train_loss" and (few or values["n_signal"] == 1)


def risks(values: Values, model: str, alphas: list[float], fine: bool = False) -> Any:
    """Return what the theory of a model says at each alpha; ``fine`` averages over more points."""
    problem = make_problem(values)
    if model == "optimal":
        return optimal(problem, alphas, n_points=_OPTIMUM_POINTS)  # all from one table
    points = 256 if not fine else 4096 if values["n_tokens"] <= 128 else 1024
    known = values | ({"n_points": points} if model == "two-step" else {})
    settings = {name: known[name] for name in get(model).settings if name in known}
    return get(model).theory(problem, alphas, settings)


def _value(risk: Any, values: Values) -> float:
    value = getattr(risk, values["quantity"])
    return float(value(values["fpr"]) if callable(value) else value)


def draw(values: Values, send: Send) -> None:
    """Draw curves against the samples, or against the steps of training."""
    (_steps if values["quantity"] == "training" else _curves)(values, send)


def simulate(values: Values, send: Send) -> None:
    """Draw the curves; then train classifiers on drawn samples, and add the points as they come."""
    if values["quantity"] == "training":
        raise ValueError("training step by step is not simulated here: see the theory's pages")
    places = _places(values)
    drawn = _curves(values, lambda line: send(line | Line(progress=f"0 of {len(places)} points")))
    points: dict[str, list[tuple[float, float, float]]] = {}
    known = {name: value for name, value in values.items() if name in PARAMETERS}
    for done, (model, alpha) in enumerate(places, 1):
        case = known | {"model": model, "alpha": alpha}
        cell: Any = make_cell("simulation", values["quantity"], case)
        (mean,) = compute(cell).values()
        points.setdefault(model, []).append((alpha, float(mean), mean.uncertainty))
        progress = f"{done} of {len(places)} points" if done < len(places) else ""
        simulated = []
        for name, of_model in points.items():
            x, y, errors = map(list, zip(*of_model, strict=True))
            label, color = f"{look(name).label}, simulated", fig.color_of(name)
            bars = {"type": "data", "array": errors, "color": color, "thickness": 1.5}
            looks = color, "circle-open", 10
            simulated.append(fig.markers(label, x, y, *looks, error_y=bars))
        send(Line(figures=[drawn | {"data": [*drawn["data"], *simulated]}], progress=progress))


def _places(values: Values) -> list[tuple[str, float]]:
    """Return what is simulated, where it does not take too long: models and alphas."""
    rarer = values["dim"] * min(values["positive_rate"], 1.0 - values["positive_rate"])
    lowest = max(0.3, _FEWEST / rarer)
    highest = min(values["alpha_max"], _MOST_SAMPLES / values["dim"])
    if lowest >= highest:
        raise ValueError(
            f"{highest * rarer:.0f} sequences of the rarer class are too few to simulate: choose "
            "more dimensions, longer curves or a positive rate nearer to one half"
        )
    tokens = values["dim"] * values["n_tokens"]  # times alpha
    most = {
        "two-step": highest,
        "pooled": highest,
        "vectorized": _MOST_NUMBERS / tokens / values["dim"],
        "optimal": _MOST_TOKENS / tokens / values["positive_rate"] * has_optimum(values),
    }
    fewest = {"two-step": _FEWEST / rarer / min(values["split"], 1.0 - values["split"])}
    alphas = np.geomspace(lowest, highest, _SIMULATED).tolist()
    return [(m, a) for a in alphas for m in most if fewest.get(m, lowest) <= a <= most[m]]


def _curves(values: Values, send: Send) -> fig.Figure:
    """Draw through few points, then through all, then attention more exactly and the optimum."""
    grid = [float(f"{a:.6g}") for a in np.geomspace(_LOWEST, values["alpha_max"], _GRID)]
    for alphas in (grid[::_STRIDE], grid):
        predicted = {model: risks(values, model, alphas) for model in CLASSIFIERS}
        send(_picture(values, alphas, predicted))
    predicted["two-step"] = risks(values, "two-step", grid, fine=True)
    if has_optimum(values):
        predicted["optimal"] = risks(values, "optimal", grid)
    full = _picture(values, grid, predicted, full=True)
    send(full)
    return full["figures"][0]


def _picture(values: Values, alphas: list[float], predicted: Any, full: bool = False) -> Line:
    shown = MEASURED[values["quantity"]]
    rows = [
        (model, alpha, _value(risk, values), getattr(risk, "converged", True))
        for model, of_model in predicted.items()
        for alpha, risk in zip(alphas, of_model, strict=True)
    ]
    curves = fig.model_curves(rows)
    ends = _LOWEST, values["alpha_max"]
    traces = [*curves]
    if shown.name == "test_error":
        floor = float(oracle_error(make_problem(values), "bayes")) if full else None
        traces += levels(values, ends, floor)
    title = shown.label
    if shown.name == "recall":
        title += f" at {per_cent(values['fpr'])} false positives"
    x = fig.quantity_axis("alpha", ends, values["features"])
    y = fig.axis(title, logarithmic=shown.logarithmic)
    return Line(
        figures=[fig.figure(x, y, traces)],
        sentence=_sentence(values, curves, full),
        table=fig.by_column(("model", "alpha", shown.name, "converged"), rows),
    )


def levels(values: Values, ends: tuple[float, float], floor: float | None) -> list[fig.Trace]:
    """Return the target, the error of answering the larger class, and that of the best rule."""
    lines = [fig.level("target", ends, values["error"], "dot")]
    if values["positive_rate"] != 0.5:
        lines.append(fig.level("always the larger class", ends, _majority(values), "dash"))
    if floor is not None:
        lines.append(fig.level("Bayes floor", ends, floor, "dash", fig.color_of("bayes")))
    return lines


def _majority(values: Values) -> float:
    return float(min(values["positive_rate"], 1.0 - values["positive_rate"]))


def _sentence(values: Values, curves: list[fig.Trace], full: bool) -> str:
    if values["quantity"] != "test_error":
        *ends, last = [f"{c['y'][-1]:.3g} for {c['name']}" for c in curves]
        place = samples(values["alpha_max"], values["features"])
        what = MEASURED[values["quantity"]].label
        return f"At {place} the {what} is {', '.join(ends)} and {last}."
    drawn = {trace["meta"]["model"]: trace for trace in curves}
    reached = [_reach(values, name, drawn[name], full) for name in drawn if name in _CALLED]
    sentence, error = f"At these settings {'; '.join(reached)}.", _majority(values)
    if error < 0.5 and error <= values["error"]:
        sentence += (
            f" Always answering the larger class errs on {per_cent(error)} without any data."
        )
    return sentence


def _reach(values: Values, model: str, drawn: fig.Trace, full: bool) -> str:
    """Say how many samples a model needs for the target, or why none will do."""
    target, name = values["error"], _CALLED[model]
    goal = f"{per_cent(target)} error"
    alpha = crossing(zip(drawn["x"], drawn["y"], strict=True), target)
    if alpha:
        return f"{name} needs {samples(alpha, values['features'])} for {goal}"
    if drawn["y"][0] <= target:
        return f"{name} has {goal} with {samples(drawn['x'][0], values['features'])} already"
    if full:
        (limit,) = risks(values, model, [math.inf])
        if limit.test_error > target:
            return f"{name} cannot get below {per_cent(limit.test_error)} with any number"
    most = samples(values["alpha_max"], values["features"])
    return f"{name} needs more than {most} for {goal}"


def crossing(points: Iterable[tuple[float, float]], target: float) -> float | None:
    """Return where a falling curve first meets a target, by interpolation of logarithms."""
    for (a, above), (b, below) in pairwise(points):
        if above > target >= below:
            way = math.log(above / target) / math.log(above / below)
            return float(a * (b / a) ** way)
    return None


def _steps(values: Values, send: Send) -> None:
    """Draw cosines and test error against the steps, from few points and then from more."""
    # One sample at a time takes many small steps.
    sizes = (256, 2048) if values["batches"] == "online" else (2048, 16384)
    names = ("steps", "alpha", "batches", "loss", "reg", "beta")
    asked = {name: values[name] for name in names}
    asked |= {f"lr_{part}": values[f"step_{part}"] for part in ("readout", "bias", "query")}
    for n_points in sizes:
        path = training(make_problem(values), n_points=n_points, **asked)
        if not path.cosine.size:
            raise ValueError("the first step already runs away: the learning rates are too large")
        send(_picture_of_steps(values, path))


def _picture_of_steps(values: Values, path: Any) -> Line:
    series = {name: getattr(path, name).tolist() for name in ("cosine", "readout_cosine")}
    error, end = path.test_error.tolist(), values["steps"]
    steps = list(range(1, len(error) + 1))

    def marked(name: str, color: str, y: list[float]) -> fig.Trace:
        return fig.curve(name, steps, y, color, shape="linear", mode="lines+markers")

    x = fig.axis("gradient step", (0.7, end + 0.3))
    errors = [marked("test error", COLORS[1], error), *levels(values, (1.0, end), None)[1:]]
    names = ("query", COLORS[0]), ("readout", COLORS[3])
    cosines = [marked(*name, y) for name, y in zip(names, series.values(), strict=True)]
    best = error.index(min(error)) + 1
    lowest = ", the lowest so far"
    if best < len(steps):
        lowest = f"; it was lowest after step {best}, at {per_cent(error[best - 1])}"
    stops = " Further steps cannot be followed." if len(steps) < end else ""
    return Line(
        figures=[
            fig.figure(x, fig.quantity_axis("test_error"), errors),
            fig.figure(x, fig.axis("cosine with the signal", (-1.05, 1.05)), cosines),
        ],
        sentence=(
            f"After {plural(len(steps), 'step')} the query has a cosine of "
            f"{series['cosine'][-1]:.3f} with the signal and the test error is "
            f"{per_cent(error[-1])}{lowest}.{stops}"
        ),
        table={"step": steps} | series | {"test_error": error},
    )


_QUESTION = "How fast does each classifier learn?"
_CONTROLS: tuple[str, ...] = ("quantity", "error", "fpr", "alpha_max", "features", "Problem")
_CONTROLS += ("alpha", "split", "loss", "reg", "steps", "batches", "Learning rates")
_CONTROLS += ("dim", "trials")
VIEW = View("learning", "Learning curves", _QUESTION, _CONTROLS, _PYTHON, draw, simulate)
