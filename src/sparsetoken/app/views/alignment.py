"""Alignment: what two gradient steps teach the query, and when they turn it the wrong way."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from sparsetoken.app.content import Content, Line, Map, Mark, Panel, Values, View, axis
from sparsetoken.app.parameters import controls, make_problem, select, slider
from sparsetoken.app.scripts import problem_code, theory_command, training_code
from sparsetoken.app.words import samples
from sparsetoken.theory import alignment, best_bias_rate
from sparsetoken.vocabulary import MEASURED, PARAMETERS

_LINE = 49  # alphas
_SIZE = (33, 17)  # of the map
_STRIDES = (8, 2, 1)  # how line and map fill in
_BIAS_RATES = (0.0, 4.0)


def align(values: Values, **changes: Any) -> Any:
    """Return the alignment at the values, some of them changed."""
    chosen = values | changes
    rates = select(chosen, "two steps") | {"loss": chosen["loss"]}
    return alignment(make_problem(chosen), alpha=chosen["alpha0"], **rates)


def draw(values: Values) -> Iterator[Content]:
    """Draw the cosine against samples, and over positive rate and bias step."""
    aligned = align(values)
    grid = [float(f"{a:.6g}") for a in np.geomspace(*slider("alpha0"), _LINE)]
    cosines: dict[tuple[float, float], float] = {}
    for stride in _STRIDES:
        line = grid[::stride]
        curve = [align(values, alpha0=alpha).cosine for alpha in line]
        rates = _along(*slider("positive_rate"), _SIZE[0])[::stride]
        steps = _along(*_BIAS_RATES, _SIZE[1])[::stride]
        for place in ((rate, step) for step in steps for rate in rates):
            if place not in cosines:
                cosines[place] = align(values, positive_rate=place[0], lr_bias=place[1]).cosine
        best = [(rate, _best(values | {"positive_rate": rate})) for rate in rates if stride == 1]
        yield Content(
            panels=[
                _curve_panel(values, line, curve),
                _map_panel(values, rates, steps, cosines, best),
            ],
            sentence=_sentence(values, aligned),
            facts=_facts(aligned),
            table={"alpha0": line, "cosine": curve},
            python=_python(values),
            command=theory_command("cosine,sharpness", values, "alpha0"),
            more=stride > 1,
        )


def _along(low: float, high: float, size: int) -> list[float]:
    return [round(number, 6) for number in np.linspace(low, high, size).tolist()]


def _best(values: Values) -> float:
    """Return the bias step that suits the positive rate."""
    rates = {name: values[name] for name in ("loss", "lr_readout")}
    return float(best_bias_rate(make_problem(values), alpha=values["alpha0"], **rates))


def _curve_panel(values: Values, grid: list[float], curve: list[float]) -> Panel:
    return Panel(
        x=axis(PARAMETERS["alpha0"]),
        y=axis(MEASURED["cosine"], ends=(-1.05, 1.05)),
        curves=[Line(name="cosine", model="two-step", x=grid, y=curve)],
        marks=[
            Mark(text="now", x=values["alpha0"]),
            Mark(text="below: away from the signal", y=0.0),
        ],
    )


def _map_panel(
    values: Values,
    rates: list[float],
    steps: list[float],
    cosines: dict[tuple[float, float], float],
    best: list[tuple[float, float]],
) -> Panel:
    shown = [(rate, step) for rate, step in best if step <= _BIAS_RATES[1]]
    rate, step = values["positive_rate"], min(values["lr_bias"], _BIAS_RATES[1])
    x, y = [rate for rate, _ in shown], [step for _, step in shown]
    return Panel(
        x=axis(PARAMETERS["positive_rate"]),
        y=axis(PARAMETERS["lr_bias"], ends=_BIAS_RATES),
        map=Map(
            x=rates,
            y=steps,
            z=[[cosines[rate, step] for rate in rates] for step in steps],
            title="cosine",
            ends=(-1.0, 1.0),
            ticks={"−1": -1.0, "0": 0.0, "1": 1.0},
        ),
        curves=[
            Line(name="best bias step", look="dot", x=x, y=y),
            Line(name="now", look="cross", x=[rate], y=[step]),
        ],
    )


def _sentence(values: Values, aligned: Any) -> str:
    if values["signal"] == 0 or values["n_signal"] == values["n_tokens"]:
        return "The query has nothing to find: all tokens of a sequence are alike."
    towards = "away from" if aligned.anti_aligned else "towards"
    turned = (
        f"Two steps on {samples(values['alpha0'], values['features'])} turn the query {towards} "
        f"the signal, to a cosine of {aligned.cosine:.3f}"
    )
    if aligned.anti_aligned:
        best, most = _best(values), slider("lr_bias")[1]
        step = f"of {best:.3g} would be best" if best <= most else "above those shown would help"
        return f"{turned}: it attends to the wrong tokens; a bias step {step}."
    if aligned.misalignment < 0.1 * values["alpha0"]:
        return f"{turned}; twice the samples would halve what is missing to 1."
    return f"{turned}; more samples, or a bias step that fits the positive rate, would help."


def _facts(aligned: Any) -> dict[str, str]:
    names = ("cosine", "sharpness", "query_norm", "readout_norm", "readout_overlap", "bias")
    return {MEASURED[name].axis: f"{getattr(aligned, name) + 0.0:.4g}" for name in names}


def _python(values: Values) -> str:
    low, high = slider("alpha0")
    return (
        problem_code(values)
        + training_code(values)
        + f"print(st.theory.alignment(problem, alpha={values['alpha0']!r}, **training))\n"
        + f"alphas = np.geomspace({low}, {high}, {_LINE})\n"
        + "print([round(st.theory.alignment(problem, alpha=a, **training).cosine, 5) "
        + "for a in alphas])\n"
    )


VIEW = View(
    "alignment",
    "Alignment",
    "What do two gradient steps teach the query?",
    controls("features", "Problem", "alpha0", "loss", "Learning rates"),
    draw,
)
