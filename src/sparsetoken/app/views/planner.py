"""Planner: a target error in, the number of samples and the settings out."""

from typing import Any

import numpy as np

import sparsetoken as st
from sparsetoken.app import figures as fig
from sparsetoken.app.parameters import CONTROLS, Values, select
from sparsetoken.app.view import Line, Send, View
from sparsetoken.app.views.learning import CLASSIFIERS, crossing, has_optimum, levels, risks
from sparsetoken.app.words import per_cent
from sparsetoken.models import DEFAULT, look
from sparsetoken.vocabulary import PARAMETERS

_DRAWN = (DEFAULT, "optimal", *reversed(CLASSIFIERS))  # two-step, whose settings take long, last
_SIZES = np.geomspace(0.1, 1000.0, 33)  # samples per dimension of the first curves
Rows = list[tuple[str, float, float]]


def draw(values: Values, send: Send) -> None:
    """Answer by the learning curves, then plan in full."""
    aim = {"dim": values["features"], "error": values["error"], "model": values["plan_model"]}
    asked = select(values, "problem") | aim
    send(_first(values))
    sought = PARAMETERS["n_samples"].label  # the planner says it as one writes it in Python
    plan = st.plan(
        progress=lambda said: send(Line(progress=said.replace("n_samples", sought))), **asked
    )
    rows: Rows = []
    for model in [plan.model, *(model for model in _DRAWN if model != plan.model)]:
        budget = asked | {"n_samples": plan.n_samples, "error": None, "model": model}
        drawn = (plan if model == plan.model else st.plan(**budget)).curve
        rows += [(model, n, float(e)) for n, e in zip(drawn.values, drawn.errors, strict=True)]
        progress = f"{look(model).label} is drawn"
        sentence = f"{plan.answer} {plan.floor}"
        send(_picture(values, plan, rows) | Line(sentence=sentence, progress=progress))
    words = plan.summary().split("\n\n")[0].split("\n")  # the answer, and remarks on it
    floor = float(plan.alternatives["bayes"])
    send(_picture(values, plan, rows, floor) | Line(sentence=" ".join(words), progress=""))


def _first(values: Values) -> Line:
    """Answer by the learning curves at the usual settings, which takes no time."""
    usual = {control.name: control.default for control in CONTROLS.values()} | values
    model, dim, target = values["plan_model"], values["features"], values["error"]
    shown = [name for name in _DRAWN if name != "optimal" or has_optimum(usual)]
    alphas = [float(f"{alpha:.6g}") for alpha in _SIZES]
    rows = [
        (name, alpha * dim, float(risk.test_error))
        for name in shown
        for alpha, risk in zip(alphas, risks(usual, name, alphas), strict=True)
    ]
    wanted = CLASSIFIERS if model == "best" else (model,)
    curves = ([(n, error) for of, n, error in rows if of == name] for name in wanted)
    sizes = [size for points in curves if (size := crossing(points, target))]
    answer = f"about {min(sizes):.0f} labelled sequences give" if sizes else "no number gives"
    goal = f"{per_cent(target)} error"
    return Line(
        figures=[_figure(values, rows)],
        sentence=f"At the usual settings {answer} {goal}; looking for better ones.",
        table=fig.by_column(("model", "n_samples", "test_error"), rows),
        facts={},
        progress="looking for the number of samples",
    )


def _picture(values: Values, plan: Any, rows: Rows, floor: float | None = None) -> Line:
    settings = {
        PARAMETERS[name].axis: value if isinstance(value, str) else f"{value:.4g}"
        for name, value in plan.settings.items()
    }
    point, color = ([float(plan.n_samples)], [float(plan.error)]), fig.color_of(plan.model)
    star = fig.markers("the plan", *point, color, "star", 16)
    return Line(
        figures=[_figure(values, rows, floor, star)],
        facts={"samples": str(plan.n_samples), "classifier": look(plan.model).label} | settings,
        table=fig.by_column(("model", "n_samples", "test_error"), rows),
    )


def _figure(values: Values, rows: Rows, floor: float | None = None, *more: fig.Trace) -> fig.Figure:
    sizes = [n for _, n, _ in rows]
    ends = min(sizes), max(sizes)
    axes = fig.quantity_axis("n_samples", ends), fig.quantity_axis("test_error")
    return fig.figure(*axes, [*fig.model_curves(rows), *levels(values, ends, floor), *more])


_QUESTION = "How many labelled sequences do I need?"
_CONTROLS = ("error", "plan_model", "features", "Problem")
_PYTHON = """
plan = st.plan(problem=problem, dim={features}, error={error}, model={plan_model})
print(plan.summary())
"""
VIEW = View("planner", "Planner", _QUESTION, _CONTROLS, _PYTHON, draw)
