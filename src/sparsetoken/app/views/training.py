"""Training: query and readout step by step, all parameters at once; part of learning curves."""

from typing import Any

from sparsetoken.app import figures as fig
from sparsetoken.app.parameters import Values, make_problem
from sparsetoken.app.scripts import keywords, script
from sparsetoken.app.view import Line, Send
from sparsetoken.app.words import per_cent, plural
from sparsetoken.theory import training
from sparsetoken.vocabulary import COLORS

_PYTHON = """\
t = st.theory.training(problem, {arguments})
print(np.round(t.cosine, 5), np.round(t.test_error, 5))
"""


def draw_training(values: Values, send: Send) -> None:
    """Draw cosines and test error against the steps, from few points and then from more."""
    # One sample at a time takes many small steps.
    sizes = (256, 2048) if values["batches"] == "online" else (2048, 16384)
    names = ("steps", "alpha", "batches", "loss", "reg", "beta")
    arguments = {name: values[name] for name in names}
    arguments |= {f"lr_{part}": values[f"step_{part}"] for part in ("readout", "bias", "query")}
    code = script(values, _PYTHON, arguments=keywords(arguments | {"n_points": sizes[-1]}))
    for n_points in sizes:
        path = training(make_problem(values), n_points=n_points, **arguments)
        if not path.cosine.size:
            raise ValueError("the first step already runs away: the learning rates are too large")
        send(_picture(values, path) | Line(python=code, command=""))


def _picture(values: Values, path: Any) -> Line:
    cosine, readout, error = (
        series.tolist() for series in (path.cosine, path.readout_cosine, path.test_error)
    )
    steps = list(range(1, len(error) + 1))

    def marked(name: str, color: int, y: list[float]) -> dict[str, Any]:
        paint = COLORS[color]
        return fig.curve(name, steps, y, color=paint, shape="linear", mode="lines+markers")

    x = fig.axis("gradient step", (0.7, values["steps"] + 0.3))
    errors = [marked("test error", 1, error), *fig.majority(values, (1.0, values["steps"]))[0]]
    cosines = [marked("query", 0, cosine), marked("readout", 3, readout)]
    return Line(
        figures=[
            fig.figure(x, fig.quantity_axis("test_error", over=error), errors),
            fig.figure(x, fig.axis("cosine with the signal", (-1.05, 1.05)), cosines),
        ],
        sentence=_sentence(values, cosine, error),
        table={"step": steps, "cosine": cosine, "readout_cosine": readout, "test_error": error},
    )


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
