"""Planner: a target error in, the number of samples and the settings out."""

import json
from functools import lru_cache
from typing import Any

import sparsetoken as st
from sparsetoken.app.charts import BLANK, GREY, colour, figure, line
from sparsetoken.app.content import Content, Drawing, Task, View
from sparsetoken.app.measure import problem_values
from sparsetoken.app.parameters import GROUPS, Values
from sparsetoken.app.words import per_cent
from sparsetoken.planner import Plan

__all__ = ["VIEW"]


def arguments(values: Values) -> dict[str, Any]:
    """Return the arguments of :func:`sparsetoken.plan`."""
    chosen = {"dim": values["plan_dim"], "error": values["target"], "model": values["plan_model"]}
    return problem_values(values) | chosen


@lru_cache(maxsize=1)
def _plan(asked: tuple[tuple[str, Any], ...]) -> Plan:
    return st.plan(**dict(asked))


def make_plan(asked: dict[str, Any]) -> dict[str, Any]:
    """Plan, and return the answer as plain data."""
    try:
        plan = _plan(tuple(asked.items()))
    except ValueError as impossible:
        return {"impossible": str(impossible)}
    return {
        "model": plan.model,
        "n_samples": plan.n_samples,
        "error": float(plan.error),
        "caution": plan.caution,
        "settings": plan.settings,
    }


def look_around(asked: dict[str, Any]) -> dict[str, Any]:
    """Return what else the samples could give, and the curve; the plan is made already."""
    try:
        plan = _plan(tuple(asked.items()))
    except ValueError:
        return {"alternatives": {}, "curve": [[], [], []]}
    return {
        "alternatives": {name: float(value) for name, value in plan.alternatives.items()},
        "curve": [
            list(plan.curve.values),
            [float(error) for error in plan.curve.errors],
            [error.uncertainty for error in plan.curve.errors],
        ],
    }


def tasks(values: Values) -> list[Task]:
    """Return the plan as work for the background: first the answer, then what surrounds it."""
    asked = arguments(values)
    return [Task(_key(asked), make_plan, asked), Task(_key(asked, "+"), look_around, asked)]


def _key(asked: dict[str, Any], more: str = "") -> str:
    return f"plan{more} {json.dumps(asked, sort_keys=True)}"


def draw(values: Values, drawing: Drawing) -> Content:
    """Draw as much of the plan as is known."""
    asked = arguments(values)
    found = drawing.known(_key(asked))
    python = (
        "import sparsetoken as st\n\n"
        f"plan = st.plan({', '.join(f'{name}={value!r}' for name, value in asked.items())})\n"
        "print(plan.summary())\n"
    )
    if found is None:
        return Content(BLANK, "Planning …", [], python, _command(asked))
    if "impossible" in found:
        return Content(BLANK, f"{_capital(found['impossible'])}.", [], python, _command(asked))
    around = drawing.known(_key(asked, "+")) or {"alternatives": {}, "curve": [[], [], []]}
    found = found | around
    shared = asked | {"source": "theory", "quantity": "test_error"}
    rows = [
        shared | {"model": found["model"], "n_samples": n, "value": error, "uncertainty": bar}
        for n, error, bar in zip(*found["curve"], strict=True)
    ]
    rows += [
        shared | {"model": model, "n_samples": found["n_samples"], "value": error}
        for model, error in found["alternatives"].items()
    ]
    return Content(
        _picture(values, found), _sentence(found), rows, python, _command(asked), _facts(found)
    )


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _sentence(found: dict[str, Any]) -> str:
    answer = (
        f"{_capital(found['model'])} needs {found['n_samples']} labelled sequences for an error "
        f"of {per_cent(found['error'])}"
    )
    caution = f" {found['caution']}." if found["caution"] else ""
    others = dict(found["alternatives"])
    if not others:
        return f"{answer}; looking at the alternatives …{caution}"
    floor = others.pop("bayes")
    listed = " and ".join(f"{per_cent(error)} with {model}" for model, error in others.items())
    return f"{answer}; as many give {listed}; no classifier gets below {per_cent(floor)}.{caution}"


def _facts(found: dict[str, Any]) -> list[tuple[str, str]]:
    facts = [("samples", str(found["n_samples"])), ("classifier", found["model"])]
    for name, value in found["settings"].items():
        facts.append((name, value if isinstance(value, str) else f"{value:.4g}"))
    return facts


def _picture(values: Values, found: dict[str, Any]) -> dict[str, Any]:
    samples, errors, _ = found["curve"]
    ends = [samples[0], samples[-1]] if samples else [found["n_samples"]] * 2
    traces = [
        line(samples, errors, found["model"], colour(found["model"]), mode="lines+markers"),
        line(ends, [values["target"]] * 2, "target", GREY, line={"dash": "dot", "width": 1.5}),
        {
            "type": "scatter",
            "mode": "markers",
            "x": [found["n_samples"]],
            "y": [found["error"]],
            "name": "the plan",
            "marker": {"symbol": "star", "size": 16, "color": colour(found["model"])},
        },
    ]
    for model, error in found["alternatives"].items():
        name = "Bayes floor" if model == "bayes" else model
        traces.append(
            {
                "type": "scatter",
                "mode": "markers",
                "x": [found["n_samples"]],
                "y": [max(error, 1e-12)],
                "name": name,
                "marker": {"symbol": "diamond", "size": 11, "color": colour(model)},
            }
        )
    return figure(
        traces,
        xaxis={"title": {"text": "labelled sequences n"}, "type": "log", "dtick": "D2"},
        yaxis={"title": {"text": "test error"}, "type": "log", "dtick": "D2", "tickformat": "~g"},
    )


def _command(asked: dict[str, Any]) -> str:
    return "sparsetoken plan " + " ".join(
        f"--{name.replace('_', '-')} {value}" for name, value in asked.items()
    )


VIEW = View(
    "planner",
    "Planner",
    "How many labelled sequences do I need?",
    ("target", "plan_model", "plan_dim", *GROUPS["Problem"]),
    draw,
    tasks,
    "Plan",
    automatic=True,
)
