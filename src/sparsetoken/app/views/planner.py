"""Planner: a target error in, the number of samples and the settings out."""

from collections.abc import Callable, Iterator
from typing import Any

import sparsetoken as st
from sparsetoken.app.content import (
    Content,
    Line,
    Panel,
    Progress,
    Values,
    View,
    axis,
    by_column,
    model_line,
)
from sparsetoken.app.data import pilot_content
from sparsetoken.app.parameters import select
from sparsetoken.app.processes import refusal
from sparsetoken.app.scripts import keywords
from sparsetoken.app.words import majority, per_cent
from sparsetoken.planner import read_curve
from sparsetoken.vocabulary import MEASURED, MODELS, PARAMETERS, group

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
        table = {"n_test": values["test_samples"]} | read_curve(values["curve"])
        content = pilot_content(st.plan.from_curve(**table, error=values["error"]))
    except ValueError as impossible:
        content = Content(panels=[], sentence=str(refusal(impossible)))
    send(Progress(done=1, total=1, content=content.model_copy(update=_code(values))))


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
        report(done, f"drawing {MODELS[model].label}", _content(values, plan, curves, {}))
        budget = asked | {"n_samples": plan.n_samples, "error": None, "model": model}
        curves[model] = (plan if model == plan.model else st.plan(**budget)).curve
    report(5, "comparing", _content(values, plan, curves, {}))
    alternatives = {name: float(error) for name, error in plan.alternatives.items()}
    report(6, content=_content(values, plan, curves, alternatives))


def _content(
    values: Values, plan: Any, curves: dict[str, Any], alternatives: dict[str, float]
) -> Content:
    rows = [
        (model, n, float(error))
        for model, curve in curves.items()
        for n, error in zip(curve.values, curve.errors, strict=True)
    ]
    rows += [(model, plan.n_samples, error) for model, error in alternatives.items()]
    settings = {
        PARAMETERS[name].axis: value if isinstance(value, str) else f"{value:.4g}"
        for name, value in plan.settings.items()
    }
    return Content(
        panels=[_panel(values, plan, curves, alternatives)],
        sentence=_sentence(values, plan, alternatives),
        facts={"samples": str(plan.n_samples), "classifier": MODELS[plan.model].label} | settings,
        table=by_column(("model", "n_samples", "test_error"), rows),
        **_code(values),
    )


def _sentence(values: Values, plan: Any, alternatives: dict[str, float]) -> str:
    name = "The best learner" if plan.model == "optimal" else MODELS[plan.model].label.capitalize()
    sentence = (
        f"{name} needs {plan.n_samples} labelled sequences for an error of "
        f"{per_cent(plan.error)}; no learner does with fewer than {plan.least_samples}"
    )
    if alternatives:
        listed = " and ".join(
            f"{per_cent(error)} with {MODELS[model].label}"
            for model, error in alternatives.items()
            if model not in ("bayes", "optimal")
        )
        floor = per_cent(alternatives["bayes"])
        sentence += f"; the same number gives {listed}; no classifier gets below {floor}"
    return f"{sentence}.{majority(values, [])[1]}{f' {plan.caution}.' if plan.caution else ''}"


def _panel(
    values: Values, plan: Any, curves: dict[str, Any], alternatives: dict[str, float]
) -> Panel:
    ends: Any = [plan.n_samples / 3, plan.n_samples * 3]
    drawn = []
    for model, curve in curves.items():
        x, y = list(curve.values), [float(error) for error in curve.errors]
        drawn.append(model_line(model, x, y))
        ends = [min(ends[0], x[0]), max(ends[1], x[-1])]
    drawn.append(Line(name="target", look="dot", x=ends, y=[values["error"]] * 2))
    drawn += majority(values, ends)[0]
    x, y = [plan.n_samples], [float(plan.error)]
    drawn.append(Line(name="the plan", model=plan.model, look="star", x=x, y=y))
    if alternatives.get("bayes", 0.0) > 0.0:
        floor = [alternatives["bayes"]] * 2
        drawn.append(Line(name="Bayes floor", model="bayes", look="dash", x=ends, y=floor))
    return Panel(x=axis(PARAMETERS["n_samples"]), y=axis(MEASURED["test_error"]), curves=drawn)


def _code(values: Values) -> dict[str, Any]:
    error, n_test, curve = (values[name] for name in ("error", "test_samples", "curve"))
    if curve.strip():
        python = (
            "import sparsetoken as st\nfrom sparsetoken.planner import read_curve\n\n"
            f"text = {curve!r}\n"
            f"measured = {{'n_test': {n_test}}} | read_curve(text)\n"
            f"print(st.plan.from_curve(**measured, error={error!r}).summary())\n"
        )
        options = f"--curve curve.csv --n-test {n_test} --error {error}"
    else:
        asked = arguments(values)
        python = f"import sparsetoken as st\n\nplan = st.plan({keywords(asked)})\n"
        python += "print(plan.summary())\n"
        options = " ".join(f"{PARAMETERS[name].option} {value}" for name, value in asked.items())
    return {"python": python, "command": f"sparsetoken plan {options}"}


VIEW = View(
    "planner",
    "Planner",
    "How many labelled sequences do I need?",
    ("error", "plan_model", "curve", "test_samples", "features", *group("problem")),
    draw,
    work,
    defaults={"features": 384},
)
