"""Planner: a target error in, the number of samples and the settings out."""

from collections.abc import Callable, Iterator
from typing import Any

import sparsetoken as st
from sparsetoken.app.content import (
    Content,
    Line,
    Panel,
    Progress,
    View,
    axis,
    by_column,
    level,
    majority,
    model_lines,
)
from sparsetoken.app.data import pilot_content
from sparsetoken.app.parameters import Values, select
from sparsetoken.app.scripts import keywords
from sparsetoken.app.words import per_cent
from sparsetoken.models import look
from sparsetoken.planner import read_curve
from sparsetoken.vocabulary import PARAMETERS, group

_CLASSIFIERS = ("two-step", "pooled", "vectorized", "optimal")
_FROM_CURVE = """\
import sparsetoken as st
from sparsetoken.planner import read_curve

measured = {{'n_test': {test_samples}}} | read_curve({curve!r})
print(st.plan.from_curve(**measured, error={error!r}).summary())
"""


def arguments(values: Values) -> Values:
    """Return the arguments of :func:`sparsetoken.plan`."""
    aim = {"dim": values["features"], "error": values["error"], "model": values["plan_model"]}
    return select(values, "problem") | aim


def draw(values: Values) -> Iterator[Content]:
    """Show the question; the answer is work for the background."""
    if values["curve"].strip():
        python = _FROM_CURVE.format(**values)
        options = f"--curve curve.csv --n-test {values['test_samples']} --error {values['error']}"
    else:
        asked = arguments(values)
        python = f"import sparsetoken as st\n\nprint(st.plan({keywords(asked)}).summary())\n"
        options = " ".join(f"{PARAMETERS[name].option} {value}" for name, value in asked.items())
    command = f"sparsetoken plan {options}"
    yield Content(panels=[], sentence="Planning …", python=python, command=command)


def work(values: Values, send: Callable[[Progress], None]) -> None:
    """Plan from a pasted curve, or by theory."""
    if not values["curve"].strip():
        _plan_by_theory(values, send)
        return
    send(Progress(done=0, total=1, message="looking for curves that agree"))
    table = {"n_test": values["test_samples"]} | read_curve(values["curve"])
    content = pilot_content(st.plan.from_curve(**table, error=values["error"]))
    send(Progress(done=1, total=1, content=content))


def _plan_by_theory(values: Values, send: Callable[[Progress], None]) -> None:
    """Plan, then look at the curve and at those of the alternatives."""
    asked = arguments(values)

    def report(done: int, message: str = "", content: Content | None = None) -> None:
        send(Progress(done=done, total=6, message=message, content=content))

    report(0, "looking for the number of samples")
    plan = st.plan(progress=lambda message: report(0, message), **asked)
    rows: list[tuple[str, float, float]] = []
    others = [model for model in _CLASSIFIERS if model != plan.model]
    for done, model in enumerate([plan.model, *others], 1):
        report(done, f"drawing {look(model).label}", _content(values, plan, rows, {}))
        budget = asked | {"n_samples": plan.n_samples, "error": None, "model": model}
        curve = (plan if model == plan.model else st.plan(**budget)).curve
        rows += [(model, n, float(e)) for n, e in zip(curve.values, curve.errors, strict=True)]
    report(5, "comparing", _content(values, plan, rows, {}))
    alternatives = {name: float(error) for name, error in plan.alternatives.items()}
    report(6, content=_content(values, plan, rows, alternatives))


def _content(values: Values, plan: Any, rows: Any, alternatives: dict[str, float]) -> Content:
    settings = {
        PARAMETERS[name].axis: value if isinstance(value, str) else f"{value:.4g}"
        for name, value in plan.settings.items()
    }
    table = rows + [(model, plan.n_samples, error) for model, error in alternatives.items()]
    return Content(
        panels=[_panel(values, plan, rows, alternatives.get("bayes", 0.0))],
        sentence=_sentence(values, plan, alternatives),
        facts={"samples": str(plan.n_samples), "classifier": look(plan.model).label} | settings,
        table=by_column(("model", "n_samples", "test_error"), table),
    )


def _panel(values: Values, plan: Any, rows: Any, floor: float) -> Panel:
    sizes = [plan.n_samples / 3, plan.n_samples * 3, *(n for _, n, _ in rows)]
    ends = min(sizes), max(sizes)
    star = Line(
        name="the plan", model=plan.model, look="star", x=[plan.n_samples], y=[float(plan.error)]
    )
    curves = [*model_lines(rows), level("target", ends, values["error"], look="dot")]
    curves += [*majority(values, ends)[0], star]
    if floor:
        curves.append(level("Bayes floor", ends, floor, model="bayes", look="dash"))
    return Panel(x=axis("n_samples"), y=axis("test_error"), curves=curves)


def _sentence(values: Values, plan: Any, alternatives: dict[str, float]) -> str:
    name = "The best learner" if plan.model == "optimal" else look(plan.model).label.capitalize()
    sentence = (
        f"{name} needs {plan.n_samples} labelled sequences for an error of "
        f"{per_cent(plan.error)}; no learner does with fewer than {plan.least_samples}"
    )
    if alternatives:
        listed = " and ".join(
            f"{per_cent(error)} with {look(model).label}"
            for model, error in alternatives.items()
            if model not in ("bayes", "optimal")
        )
        floor = per_cent(alternatives["bayes"])
        sentence += f"; the same number gives {listed}; no classifier gets below {floor}"
    return f"{sentence}.{majority(values)[1]}{f' {plan.caution}.' if plan.caution else ''}"


VIEW = View(
    "planner",
    "Planner",
    "How many labelled sequences do I need?",
    ("error", "plan_model", "curve", "test_samples", "features", *group("problem")),
    draw,
    work,
    defaults={"features": 384},
)
