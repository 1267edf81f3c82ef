"""Training: query and readout step by step, all parameters at once."""

from collections.abc import Iterator
from typing import Any

from sparsetoken.app.content import Content, Line, Panel, PanelAxis, Values, View, axis
from sparsetoken.app.parameters import controls, make_problem, select
from sparsetoken.app.scripts import keywords, problem_code
from sparsetoken.app.words import majority, per_cent, plural
from sparsetoken.theory import training
from sparsetoken.vocabulary import COLORS, MEASURED


def arguments(values: Values) -> Values:
    """Return the arguments of :func:`sparsetoken.theory.training`."""
    names = ("steps", "alpha", "batches", "loss", "reg")
    return {name: values[name] for name in names} | select(values, "two steps")


def draw(values: Values) -> Iterator[Content]:
    """Draw cosines and test error against the steps, from few points and then from more."""
    coarse, fine = _points(values)
    for n_points in (coarse, fine):
        path = training(make_problem(values), n_points=n_points, **arguments(values))
        if not path.cosine.size:
            raise ValueError("the first step already runs away: the learning rates are too large")
        yield _content(values, path, more=n_points == coarse)


def _points(values: Values) -> tuple[int, int]:
    """Return how many points the averages get; one sample at a time takes many small steps."""
    return (256, 2048) if values["batches"] == "online" else (2048, 16384)


def _content(values: Values, path: Any, more: bool) -> Content:
    series = path.cosine, path.readout_cosine, path.test_error
    cosine, readout, error = (list(map(float, values)) for values in series)
    steps = len(cosine)  # fewer than asked for if it cannot be followed to the end
    stops = " Further steps cannot be followed." if steps < values["steps"] else ""
    x: Any = list(range(1, steps + 1))
    title = PanelAxis(title="gradient step", ends=(0.7, values["steps"] + 0.3))
    learned = [Line(name="test error", color=COLORS[6], look="marked", x=x, y=error)]
    learned += majority(values, [1.0, values["steps"]])[0]
    best = min(range(steps), key=error.__getitem__)
    lowest = ", the lowest so far"
    if best + 1 < steps:
        lowest = f"; it was lowest after step {best + 1}, at {per_cent(error[best])}"
    return Content(
        panels=[
            Panel(
                x=title,
                y=PanelAxis(title="cosine with the signal", ends=(-1.05, 1.05)),
                curves=[
                    Line(name="query", color=COLORS[0], look="marked", x=x, y=cosine),
                    Line(name="readout", color=COLORS[3], look="marked", x=x, y=readout),
                ],
            ),
            Panel(x=title, y=axis(MEASURED["test_error"]), curves=learned),
        ],
        sentence=(
            f"After {plural(steps, 'step')} the query has a cosine of {cosine[-1]:.3f} with the "
            f"signal and the test error is {per_cent(error[-1])}{lowest}.{stops}"
        ),
        table={"step": x, "cosine": cosine, "readout_cosine": readout, "test_error": error},
        python=(
            problem_code(values)
            + f"asked = dict(n_points={_points(values)[-1]}, {keywords(arguments(values))})\n"
            + "t = st.theory.training(problem, **asked)\n"
            + "print(np.round(t.cosine, 5), np.round(t.test_error, 5))\n"
        ),
        more=more,
    )


VIEW = View(
    "training",
    "Training",
    "What happens when all parameters learn at once?",
    controls("steps", "batches", "alpha", "Problem", "loss", "reg", "Learning rates"),
    draw,
    defaults={"lr_query": 2.0, "reg": 1e-6},
)
