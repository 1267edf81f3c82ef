"""Alignment: what two gradient steps teach the query, and when they turn it the wrong way."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from sparsetoken.app.content import Content, Line, Map, Mark, Panel, View, axis, panel_against
from sparsetoken.app.parameters import Values, make_problem, select, slider
from sparsetoken.app.scripts import script, theory_command
from sparsetoken.app.words import samples
from sparsetoken.theory import alignment, best_bias_rate
from sparsetoken.vocabulary import MEASURED

_LINE = 49  # alphas
_SIZE = (33, 17)  # of the map
_STRIDES = (8, 2, 1)  # how line and map fill in
_BIAS_RATES = (0.0, 4.0)
_FACTS = ("cosine", "sharpness", "query_norm", "readout_norm", "readout_overlap", "bias")
_PYTHON = """\
training = {training!r}
print(st.theory.alignment(problem, alpha={alpha0!r}, **training))
alphas = np.geomspace({ends[0]}, {ends[1]}, {size})
print([round(st.theory.alignment(problem, alpha=a, **training).cosine, 5) for a in alphas])
"""


def align(values: Values, **changes: Any) -> Any:
    """Return the alignment at the values, some of them changed."""
    case = values | changes
    rates = select(case, "two steps") | {"loss": case["loss"]}
    return alignment(make_problem(case), alpha=case["alpha0"], **rates)


def draw(values: Values) -> Iterator[Content]:
    """Draw the cosine against samples, and over positive rate and bias step."""
    now = align(values)
    grid = [float(f"{a:.6g}") for a in np.geomspace(*slider("alpha0"), _LINE)]
    rates, steps = _along(*slider("positive_rate"), _SIZE[0]), _along(*_BIAS_RATES, _SIZE[1])
    cosines: dict[tuple[float, float], float] = {}
    for stride in _STRIDES:
        alphas, columns, rows = grid[::stride], rates[::stride], steps[::stride]
        curve = [align(values, alpha0=alpha).cosine for alpha in alphas]
        for place in ((rate, step) for step in rows for rate in columns):
            if place not in cosines:
                cosines[place] = align(values, positive_rate=place[0], lr_bias=place[1]).cosine
        line = Line(name="cosine", model="two-step", x=alphas, y=curve)
        left = panel_against("alpha0", values, axis("cosine", ends=(-1.05, 1.05)), [line])
        left.marks.append(Mark(text="below: away from the signal", y=0.0))
        z = [[cosines[rate, step] for rate in columns] for step in rows]
        yield Content(
            panels=[left, _map_panel(values, columns, rows, z, best=stride == 1)],
            sentence=_sentence(values, now),
            facts={MEASURED[name].axis: f"{getattr(now, name) + 0.0:.4g}" for name in _FACTS},
            table={"alpha0": alphas, "cosine": curve},
            python=script(values, _PYTHON, ends=slider("alpha0"), size=_LINE),
            command=theory_command("cosine,sharpness", values, "alpha0"),
        )


def _along(low: float, high: float, size: int) -> list[float]:
    return [round(number, 6) for number in np.linspace(low, high, size).tolist()]


def _best(values: Values) -> float:
    """Return the bias step that suits the positive rate."""
    rates = {name: values[name] for name in ("loss", "lr_readout")}
    return float(best_bias_rate(make_problem(values), alpha=values["alpha0"], **rates))


def _map_panel(values: Values, rates: Any, steps: Any, z: Any, best: bool) -> Panel:
    best_steps = [(rate, _best(values | {"positive_rate": rate})) for rate in rates if best]
    shown = [(rate, step) for rate, step in best_steps if step <= _BIAS_RATES[1]]
    x, y = [rate for rate, _ in shown], [step for _, step in shown]
    rate, step = values["positive_rate"], min(values["lr_bias"], _BIAS_RATES[1])
    ticks = {"−1": -1.0, "0": 0.0, "1": 1.0}
    return Panel(
        x=axis("positive_rate"),
        y=axis("lr_bias", ends=_BIAS_RATES),
        map=Map(x=rates, y=steps, z=z, title="cosine", ends=(-1.0, 1.0), ticks=ticks),
        curves=[
            Line(name="best bias step", look="dot", x=x, y=y),
            Line(name="now", look="cross", x=[rate], y=[step]),
        ],
    )


def _sentence(values: Values, now: Any) -> str:
    if values["signal"] == 0 or values["n_signal"] == values["n_tokens"]:
        return "The query has nothing to find: all tokens of a sequence are alike."
    towards = "away from" if now.anti_aligned else "towards"
    result = (
        f"Two steps on {samples(values['alpha0'], values['features'])} turn the query {towards} "
        f"the signal, to a cosine of {now.cosine:.3f}"
    )
    if now.anti_aligned:
        best, most = _best(values), slider("lr_bias")[1]
        step = f"of {best:.3g} would be best" if best <= most else "above those shown would help"
        return f"{result}: it attends to the wrong tokens; a bias step {step}."
    if now.misalignment < 0.1 * values["alpha0"]:
        return f"{result}; twice the samples would halve what is missing to 1."
    return f"{result}; more samples, or a bias step that fits the positive rate, would help."


VIEW = View(
    "alignment",
    "Alignment",
    "What do two gradient steps teach the query?",
    ("features", "Problem", "alpha0", "loss", "Learning rates"),
    draw,
)
