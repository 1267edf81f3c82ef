"""Planner: a target error in, the number of samples and the settings out."""

from collections.abc import Callable, Iterator
from typing import Any

import sparsetoken as st
from sparsetoken.app.content import (
    Content,
    Line,
    Panel,
    PanelAxis,
    Progress,
    Values,
    View,
    majority,
    per_cent,
)
from sparsetoken.app.data import pilot_content
from sparsetoken.app.parameters import select
from sparsetoken.app.processes import refusal
from sparsetoken.app.scripts import keywords
from sparsetoken.planner import read_curve
from sparsetoken.vocabulary import MEASURED, MODELS, PARAMETERS, group

__all__ = ["VIEW"]

_CLASSIFIERS = ("two-step", "pooled", "vectorized", "optimal")


def arguments(values: Values) -> Values:
    """Return the arguments of :func:`sparsetoken.plan`."""
    chosen = {"dim": values["features"], "error": values["error"], "model": values["plan_model"]}
    return select(values, "problem") | chosen


def draw(values: Values) -> Iterator[Content]:
    """Show the question; the answer is work for the background."""
    yield Content(panels=[], sentence="Planning …", **_code(values))


def work(values: Values, send: Callable[[Progress], None]) -> None:
    """Plan by theory, or from a pasted curve."""
    (_plan_curve if values["curve"].strip() else _plan_by_theory)(values, send)


def _plan_curve(values: Values, send: Callable[[Progress], None]) -> None:
    """Plan from the numbers of a learning curve."""
    send(Progress(done=0, total=1, message="looking for curves that agree"))
    try:
        table = curve_arguments(values)
        content = pilot_content(st.plan.from_curve(**table, error=values["error"]))
    except ValueError as impossible:
        content = Content(panels=[], sentence=str(refusal(impossible)))
    send(Progress(done=1, total=1, content=content.model_copy(update=_code(values))))


def curve_arguments(values: Values) -> Values:
    """Return what a pasted table says, as :func:`sparsetoken.plan.from_curve` takes it."""
    return {"n_test": values["test_samples"]} | read_curve(values["curve"])


def _plan_by_theory(values: Values, send: Callable[[Progress], None]) -> None:
    """Plan, then look at the curve and at those of the alternatives."""
    asked = arguments(values)

    def report(done: int, message: str = "", content: Content | None = None) -> None:
        send(Progress(done=done, total=6, message=message, content=content))

    report(0, "looking for the number of samples")
    try:
        plan = st.plan(progress=lambda words: report(0, words), **asked)
    except ValueError as impossible:  # the answer too
        content = Content(panels=[], sentence=str(refusal(impossible)), **_code(values))
        report(6, content=content)
        return
    curves: dict[str, Any] = {}
    others = [model for model in _CLASSIFIERS if model != plan.model]
    for done, model in enumerate([plan.model, *others], 1):
        report(done, f"drawing {MODELS[model].label}", _content(values, plan, curves))
        if model != plan.model:
            budget = asked | {"n_samples": plan.n_samples, "error": None, "model": model}
            curves[model] = st.plan(**budget).curve
        else:
            curves[model] = plan.curve
    report(5, "comparing", _content(values, plan, curves))
    alternatives = {name: float(error) for name, error in plan.alternatives.items()}
    report(6, content=_content(values, plan, curves, alternatives))


def _content(
    values: Values,
    plan: Any,
    curves: dict[str, Any] | None = None,
    alternatives: dict[str, float] | None = None,
) -> Content:
    rows = [
        (model, n, float(error))
        for model, curve in (curves or {}).items()
        for n, error in zip(curve.values, curve.errors, strict=True)
    ]
    rows += [(model, plan.n_samples, float(e)) for model, e in (alternatives or {}).items()]
    settings = {
        PARAMETERS[name].axis: value if isinstance(value, str) else f"{value:.4g}"
        for name, value in plan.settings.items()
    }
    return Content(
        panels=[_panel(values, plan, curves or {}, alternatives or {})],
        sentence=_sentence(values, plan, alternatives),
        facts={"samples": str(plan.n_samples), "classifier": MODELS[plan.model].label} | settings,
        table={
            "model": [model for model, _, _ in rows],
            "n_samples": [n for _, n, _ in rows],
            "test_error": [error for _, _, error in rows],
        },
        **_code(values),
    )


def _sentence(values: Values, plan: Any, alternatives: dict[str, float] | None) -> str:
    sentence = (
        f"{_called(plan.model)} needs {plan.n_samples} labelled sequences for an error of "
        f"{per_cent(plan.error)}; no learner does with fewer than {plan.least_samples}"
    )
    if alternatives is not None:
        others = dict(alternatives)
        floor = others.pop("bayes")
        others.pop("optimal", None)
        listed = " and ".join(
            f"{per_cent(error)} with {MODELS[model].label}" for model, error in others.items()
        )
        sentence += f"; the same number gives {listed}; no classifier gets below {per_cent(floor)}"
    return f"{sentence}.{majority(values, [])[1]}{f' {plan.caution}.' if plan.caution else ''}"


def _called(model: str) -> str:
    return "The best learner" if model == "optimal" else MODELS[model].label.capitalize()


def _panel(
    values: Values, plan: Any, curves: dict[str, Any], alternatives: dict[str, float]
) -> Panel:
    ends: Any = [plan.n_samples / 3, plan.n_samples * 3]
    drawn = []
    for model, curve in curves.items():
        x, y = list(curve.values), [float(error) for error in curve.errors]
        drawn.append(Line(name=MODELS[model].label, model=model, x=x, y=y))
        ends = [min(ends[0], x[0]), max(ends[1], x[-1])]
    drawn.append(Line(name="target", look="dot", x=ends, y=[values["error"]] * 2))
    drawn += majority(values, ends)[0]
    x, y = [plan.n_samples], [float(plan.error)]
    drawn.append(Line(name="the plan", model=plan.model, look="star", x=x, y=y))
    if alternatives.get("bayes", 0.0) > 0.0:
        floor = [alternatives["bayes"]] * 2
        drawn.append(Line(name="Bayes floor", model="bayes", look="dash", x=ends, y=floor))
    return Panel(
        x=PanelAxis(title=PARAMETERS["n_samples"].axis, logarithmic=True),
        y=PanelAxis(title=MEASURED["test_error"].axis, logarithmic=True),
        curves=drawn,
    )


def _code(values: Values) -> dict[str, Any]:
    if values["curve"].strip():
        return _curve_code(values)
    asked = arguments(values)
    options = " ".join(f"{PARAMETERS[name].option} {value}" for name, value in asked.items())
    python = (
        f"import sparsetoken as st\n\nplan = st.plan({keywords(asked)})\nprint(plan.summary())\n"
    )
    return {"python": python, "command": f"sparsetoken plan {options}"}


def _curve_code(values: Values) -> dict[str, Any]:
    error, n_test = values["error"], values["test_samples"]
    python = (
        "import sparsetoken as st\nfrom sparsetoken.planner import read_curve\n\n"
        f"text = {values['curve']!r}\n"
        f"measured = {{'n_test': {n_test}}} | read_curve(text)\n"
        f"print(st.plan.from_curve(**measured, error={error!r}).summary())\n"
    )
    command = f"sparsetoken plan --curve curve.csv --n-test {n_test} --error {error}"
    return {"python": python, "command": command}


VIEW = View(
    "planner",
    "Planner",
    "How many labelled sequences do I need?",
    ("error", "plan_model", "curve", "test_samples", "features", *group("problem")),
    draw,
    work,
    defaults={"features": 384},
)
