"""Learning curves: how fast each classifier learns, with simulated points on demand."""

import math
from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import Any

import numpy as np

from sparsetoken.app import figures as fig
from sparsetoken.app.parameters import Values, make_problem, spreads
from sparsetoken.app.scripts import script, theory_command
from sparsetoken.app.view import Line, Send, View
from sparsetoken.app.views.training import draw_training
from sparsetoken.app.words import per_cent, samples
from sparsetoken.models import get, look
from sparsetoken.theory import optimal, oracle_error
from sparsetoken.vocabulary import MEASURED

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


def points(values: Values, fine: bool) -> int:
    """Return how many points the law of the attention features gets: fewer for long sequences."""
    return 256 if not fine else 4096 if values["n_tokens"] <= 128 else 1024


def models(values: Values) -> tuple[str, ...]:
    """Return the models that there are: a readout of all tokens needs sequences of one length."""
    return THREE[:2] if values.get("length_spread") else THREE


def has_optimum(values: Values) -> bool:
    """Return whether the best that any learner can do is quickly computed."""
    size = values["n_tokens"] * values["n_signal"] * 4 ** len(spreads(values))
    exact = values["n_signal"] == 1 and not values.get("signal_spread")
    return values.get("quantity") != "train_loss" and (exact or size <= _MOST_OPTIMUM)


def risks(values: Values, model: str, alphas: list[float], fine: bool = False) -> Any:
    """Return what the theory of a model says at each alpha."""
    problem = make_problem(values)
    if model == "optimal":
        return optimal(problem, alphas, n_points=_OPTIMUM_POINTS)  # all from one table
    more = {"n_points": points(values, fine)} if model == "two-step" else {}
    return get(model).theory(problem, alphas, _settings(values, model) | more)


def _settings(values: Values, model: str) -> Values:
    return {name: values[name] for name in get(model).settings if name in values}


def value(risk: Any, values: Values) -> float:
    """Return what is shown of a risk."""
    if values["quantity"] == "recall":
        return float(risk.recall(fpr=values["fpr"]))
    return float(getattr(risk, values["quantity"]))


def draw(values: Values, send: Send) -> None:
    """Draw the curves through few points, then through all, then attention more exactly.

    The best possible curve comes last.
    """
    if values["quantity"] == "training":
        draw_training(values, send)
    else:
        for line in _curves(values):
            send(line)


def simulate(values: Values, send: Send) -> None:
    """Draw the curves; then train classifiers on drawn samples, and add the points as they come."""
    if values["quantity"] == "training":
        raise ValueError("training step by step is not simulated here: see the theory's pages")
    places = _places(values)
    for line in _curves(values):
        send(line | Line(progress=f"0 of {len(places)} points"))
        (drawn,) = line["figures"]
    rows: list[tuple[str, float, float, float]] = []
    for done, (model, alpha) in enumerate(places, 1):
        rows.append((model, alpha, *_train(values, model, alpha)))
        progress = f"{done} of {len(places)} points" if done < len(places) else ""
        shown = drawn | {"data": [*drawn["data"], *_simulated(rows)]}
        send(Line(figures=[shown], progress=progress))


def _train(values: Values, model: str, alpha: float) -> tuple[float, float]:
    """Return the mean over some trials, and its standard error."""
    problem, settings, dim = make_problem(values), _settings(values, model), values["dim"]
    rng = np.random.default_rng(0)
    trials = [
        value(get(model).trial(problem, alpha, dim, settings, rng), values)
        for _ in range(values["trials"])
    ]
    return float(np.mean(trials)), float(np.std(trials, ddof=1) / math.sqrt(len(trials)))


def _curves(values: Values) -> Iterator[Line]:
    grid = [float(f"{a:.6g}") for a in np.geomspace(_LOWEST, values["alpha_max"], _GRID)]
    names = ["alpha", "split"] + ["fpr"] * (values["quantity"] == "recall")
    end = values | {"alpha": values["alpha_max"]}  # of attention's curve
    command = theory_command(values["quantity"], end, *names)
    coarse = grid[::_STRIDE]
    picture = _picture(
        values, coarse, {model: risks(values, model, coarse) for model in models(values)}
    )
    yield picture | Line(python=_script(values), command=command)
    predicted = {model: risks(values, model, grid) for model in models(values)}
    yield _picture(values, grid, predicted)
    predicted["two-step"] = risks(values, "two-step", grid, fine=True)
    if has_optimum(values):
        predicted["optimal"] = risks(values, "optimal", grid)
    yield _picture(values, grid, predicted, full=True)


def _picture(values: Values, alphas: list[float], predicted: Any, full: bool = False) -> Line:
    rows = [
        (model, alpha, value(risk, values), getattr(risk, "converged", True))
        for model, of_model in predicted.items()
        for alpha, risk in zip(alphas, of_model, strict=True)
    ]
    curves = fig.model_curves(rows)
    return Line(
        figures=[_figure(values, curves + _levels(values, full))],
        sentence=_sentence(values, curves, full),
        table=fig.by_column(("model", "alpha", values["quantity"], "converged"), rows),
    )


def _script(values: Values) -> str:
    recall = values["quantity"] == "recall"
    return script(
        values,
        _PYTHON,
        lowest=_LOWEST,
        size=_GRID,
        linear=models(values)[1:],
        n_points=points(values, fine=True),
        optimum=_OPTIMUM.format(_OPTIMUM_POINTS) if has_optimum(values) else "",
        shown=f"recall(fpr={values['fpr']!r})" if recall else values["quantity"],
    )


def _figure(values: Values, traces: list[fig.Trace]) -> fig.Figure:
    shown = MEASURED[values["quantity"]]
    title = shown.label
    if shown.name == "recall":
        title += f" at {per_cent(values['fpr'])} false positives"
    x = fig.quantity_axis("alpha", values["features"], ends=(_LOWEST, values["alpha_max"]))
    heights = [height for trace in traces for height in trace["y"]]
    return fig.figure(x, fig.axis(title, logarithmic=shown.logarithmic, over=heights), traces)


def _levels(values: Values, full: bool) -> list[fig.Trace]:
    """Return the target, what a constant answer gives, and the least error of any classifier."""
    if values["quantity"] != "test_error":
        return []
    ends = _LOWEST, values["alpha_max"]
    lines = [fig.level("target", ends, values["error"], dash="dot"), *fig.majority(values, ends)[0]]
    size = values["n_tokens"] * values["n_signal"] * 2 ** len(spreads(values))
    if full and size <= _MOST_FLOOR:
        n_points = 256 if size > 2000 else 1024
        floor = float(oracle_error(make_problem(values), "bayes", n_points=n_points))
        lines.append(fig.level("Bayes floor", ends, floor, model="bayes", dash="dash"))
    return lines


def _sentence(values: Values, curves: list[fig.Trace], full: bool) -> str:
    if values["quantity"] != "test_error":
        *ends, last = [f"{c['y'][-1]:.3g} for {c['name']}" for c in curves]
        place = samples(values["alpha_max"], values["features"])
        what = MEASURED[values["quantity"]].label
        return f"At {place} the {what} is {', '.join(ends)} and {last}."
    drawn = {trace["meta"]["model"]: trace for trace in curves}
    reached = [_reach(values, name, drawn[name], full) for name in drawn if name in _CALLED]
    return f"At these settings {'; '.join(reached)}.{fig.majority(values)[1]}"


def crossing(points: Iterable[tuple[float, float]], target: float) -> float | None:
    """Return where a falling curve first meets a target, by interpolation of logarithms."""
    for (a, above), (b, below) in pairwise(points):
        if above > target >= below:
            way = math.log(above / target) / math.log(above / below)
            return float(a * (b / a) ** way)
    return None


def _reach(values: Values, model: str, drawn: fig.Trace, full: bool) -> str:
    """Say how many samples a model needs for the target, or why none will do."""
    target, name = values["error"], _CALLED[model]
    goal = f"{per_cent(target)} error"
    alpha = crossing(zip(drawn["x"], drawn["y"], strict=True), target)
    if alpha:
        return f"{name} needs {samples(alpha, values['features'])} for {goal}"
    if drawn["y"][0] <= target:
        return f"{name} has {goal} with {samples(drawn['x'][0])} already"
    if full:
        (limit,) = risks(values, model, [math.inf])
        if limit.test_error > target:
            return f"{name} cannot get below {per_cent(limit.test_error)} with any number"
    return f"{name} needs more than {samples(values['alpha_max'])} for {goal}"


def _simulated(rows: list[tuple[str, float, float, float]]) -> list[fig.Trace]:
    traces = []
    for model in dict.fromkeys(row[0] for row in rows):
        columns = zip(*(row[1:] for row in rows if row[0] == model), strict=True)
        x, y, errors = map(list, columns)
        name = f"{look(model).label}, simulated"
        traces.append(fig.markers(name, x, y, model=model, errors=errors))
    return traces


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
    smaller_half = min(values["split"], 1.0 - values["split"])
    places = []
    for alpha in np.geomspace(lowest, highest, _SIMULATED).tolist():
        tokens = alpha * values["dim"] * values["n_tokens"]
        possible = {
            "two-step": smaller_half * alpha * rarer >= _FEWEST,
            "pooled": True,
            "vectorized": tokens * values["dim"] <= _MOST_NUMBERS and not values["length_spread"],
            "optimal": has_optimum(values) and tokens * values["positive_rate"] <= _MOST_TOKENS,
        }
        places += [(model, alpha) for model, is_possible in possible.items() if is_possible]
    return places


VIEW = View(
    "learning",
    "Learning curves",
    "How fast does each classifier learn?",
    (
        *("quantity", "error", "fpr", "alpha_max", "features", "Problem"),
        *("alpha", "split", "loss", "reg", "steps", "batches", "Learning rates", "dim", "trials"),
    ),
    draw,
    simulate,
)
