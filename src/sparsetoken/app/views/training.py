"""Training: query and readout step by step, all parameters at once."""

from collections.abc import Iterator
from typing import Any

from sparsetoken.app.content import Content, Line, Panel, PanelAxis, View, axis, majority
from sparsetoken.app.parameters import Values, make_problem, select
from sparsetoken.app.scripts import keywords, script
from sparsetoken.app.words import per_cent, plural
from sparsetoken.theory import training
from sparsetoken.vocabulary import COLORS

_PYTHON = """\
t = st.theory.training(problem, {arguments})
print(np.round(t.cosine, 5), np.round(t.test_error, 5))
"""


def draw(values: Values) -> Iterator[Content]:
    """Draw cosines and test error against the steps, from few points and then from more."""
    # One sample at a time takes many small steps.
    sizes = (256, 2048) if values["batches"] == "online" else (2048, 16384)
    names = ("steps", "alpha", "batches", "loss", "reg")
    arguments = {name: values[name] for name in names} | select(values, "two steps")
    code = script(values, _PYTHON, arguments=keywords(arguments | {"n_points": sizes[-1]}))
    for n_points in sizes:
        path = training(make_problem(values), n_points=n_points, **arguments)
        if not path.cosine.size:
            raise ValueError("the first step already runs away: the learning rates are too large")
        cosine, readout, error = (
            series.tolist() for series in (path.cosine, path.readout_cosine, path.test_error)
        )
        steps = list(range(1, len(error) + 1))
        yield Content(
            panels=_panels(values, steps, cosine, readout, error),
            sentence=_sentence(values, cosine, error),
            table={"step": steps, "cosine": cosine, "readout_cosine": readout, "test_error": error},
            python=code,
        )


def _panels(values: Values, steps: Any, cosine: Any, readout: Any, error: Any) -> list[Panel]:
    def marked(name: str, color: int, y: list[float]) -> Line:
        return Line(name=name, color=COLORS[color], look="marked", x=steps, y=y)

    x = PanelAxis(title="gradient step", ends=(0.7, values["steps"] + 0.3))
    cosines = PanelAxis(title="cosine with the signal", ends=(-1.05, 1.05))
    errors = [marked("test error", 6, error), *majority(values, (1.0, values["steps"]))[0]]
    return [
        Panel(x=x, y=cosines, curves=[marked("query", 0, cosine), marked("readout", 3, readout)]),
        Panel(x=x, y=axis("test_error"), curves=errors),
    ]


def _sentence(values: Values, cosine: list[float], error: list[float]) -> str:
    steps, best = len(error), error.index(min(error)) + 1
    stops = " Further steps cannot be followed." if steps < values["steps"] else ""
    lowest = ", the lowest so far"
    if best < steps:
        lowest = f"; it was lowest after step {best}, at {per_cent(error[best - 1])}"
    return (
        f"After {plural(steps, 'step')} the query has a cosine of {cosine[-1]:.3f} with the "
        f"signal and the test error is {per_cent(error[-1])}{lowest}.{stops}"
    )


VIEW = View(
    "training",
    "Training",
    "What happens when all parameters learn at once?",
    ("steps", "batches", "alpha", "Problem", "loss", "reg", "Learning rates"),
    draw,
    defaults={"lr_query": 2.0, "reg": 1e-6},
)
