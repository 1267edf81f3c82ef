"""Alignment: what two gradient steps teach the query, and when they turn it the wrong way."""

from functools import lru_cache
from typing import Any

import numpy as np

from sparsetoken.app.charts import GREY, colour, figure, line, vertical
from sparsetoken.app.content import Content, Drawing, View
from sparsetoken.app.measure import problem_values, training
from sparsetoken.app.parameters import GROUPS, PARAMETERS, Number, Values
from sparsetoken.app.snippets import problem_code, rates_code, sweep_command
from sparsetoken.app.words import per_cent, samples
from sparsetoken.problem import SparseTokenProblem
from sparsetoken.theory import Alignment, alignment, best_bias_rate

__all__ = ["VIEW"]

_LOWEST, _HIGHEST = 0.05, 1000.0
_LINE = 49
_MAP = (25, 13)  # positive rates and learning rates of the bias; the coarse map has every second
_BIAS_RATES = (0.0, 4.0)
# From the colour of the linear models (wrong way) to that of attention (right way).
_SCALE = [[0.0, colour("pooled")], [0.5, "#F4F4F2"], [1.0, colour("two-step")]]


@lru_cache(maxsize=20_000)
def _align(problem: SparseTokenProblem, alpha: float, rates: tuple[tuple[str, Any], ...]) -> Any:
    return alignment(problem, alpha=alpha, **dict(rates))


def align(values: Values, **changes: Any) -> Alignment:
    """Return the alignment at the values, some of them changed."""
    chosen = values | changes
    problem = SparseTokenProblem(**problem_values(chosen))
    return _align(problem, chosen["alpha0"], tuple(training(chosen).items()))


def draw(values: Values, drawing: Drawing) -> Content:
    """Draw the cosine against samples, and over positive rate and bias step."""
    here = align(values)
    grid = [float(f"{a:.6g}") for a in np.geomspace(_LOWEST, _HIGHEST, _LINE)]
    curve = [align(values, alpha0=a) for a in grid]
    stride = 1 if drawing.step else 2
    rates, steps = (axis[::stride] for axis in _map_axes())
    cosines = []
    for lr_bias in steps:
        drawing.check()
        cosines.append([align(values, positive_rate=r, lr_bias=lr_bias).cosine for r in rates])
    best = [_best_rate(values, rate) for rate in rates] if drawing.step else []
    fixed = problem_values(values) | training(values)
    rows = [
        fixed
        | {"alpha0": a, "source": "theory", "quantity": quantity, "value": getattr(found, quantity)}
        for a, found in zip(grid, curve, strict=True)
        for quantity in ("cosine", "sharpness")
    ]
    rows += [
        fixed
        | {"alpha0": values["alpha0"], "positive_rate": rate, "lr_bias": lr_bias}
        | {"source": "theory", "quantity": "cosine", "value": value}
        for lr_bias, line_of in zip(steps, cosines, strict=True)
        for rate, value in zip(rates, line_of, strict=True)
    ]
    python = (
        problem_code(values)
        + rates_code(values)
        + f"learned = st.theory.alignment(problem, alpha={values['alpha0']!r}, **training)\n"
        + "print(learned)\n"
        + f"alphas = np.geomspace({_LOWEST}, {_HIGHEST}, {_LINE})\n"
        + "print([round(st.theory.alignment(problem, alpha=a, **training).cosine, 5) "
        + "for a in alphas])\n"
    )
    return Content(
        _picture(
            values, here, grid, [found.cosine for found in curve], rates, steps, cosines, best
        ),
        _sentence(values, here),
        rows,
        python,
        sweep_command((["cosine", "sharpness"], {"alpha0": grid}, fixed)),
        _facts(here),
        more=not drawing.step,
    )


def _map_axes() -> tuple[list[float], list[float]]:
    rate: Any = PARAMETERS["positive_rate"]
    rates = np.linspace(rate.low, rate.high, _MAP[0])
    steps = np.linspace(*_BIAS_RATES, _MAP[1])
    return [round(r, 6) for r in rates.tolist()], [round(s, 6) for s in steps.tolist()]


def _picture(
    values: Values,
    here: Alignment,
    grid: list[float],
    curve: list[float],
    rates: list[float],
    steps: list[float],
    cosines: list[list[float]],
    best: list[float],
) -> dict[str, Any]:
    mark, label = vertical(values["alpha0"], " now", logarithmic=True)
    wrong = {
        "type": "rect",
        "xref": "x domain",
        "yref": "y",
        "x0": 0,
        "x1": 1,
        "y0": -1,
        "y1": 0,
        "fillcolor": colour("pooled"),
        "opacity": 0.1,
        "line": {"width": 0},
    }
    note = {
        "xref": "x domain",
        "yref": "y",
        "x": 0.98,
        "y": -0.5,
        "text": "the query points away from the signal",
        "showarrow": False,
        "xanchor": "right",
        "font": {"color": GREY, "size": 12},
    }
    map_of = {
        "type": "contour",
        "x": rates,
        "y": steps,
        "z": cosines,
        "xaxis": "x2",
        "yaxis": "y2",
        "zmin": -1,
        "zmax": 1,
        "colorscale": _SCALE,
        "contours": {"start": -1, "end": 1, "size": 0.25, "showlines": False},
        "colorbar": {"title": {"text": "cosine"}, "thickness": 12, "len": 0.9},
        "hovertemplate": "π %{x:.2f}, bias step %{y:.2f}: cosine %{z:.3f}<extra></extra>",
        "showlegend": False,
    }
    edge = map_of | {
        "contours": {"start": 0, "end": 0, "size": 1, "coloring": "none"},
        "line": {"color": "#1B1F24", "width": 2},
        "showscale": False,
        "hoverinfo": "skip",
    }
    shown = [(r, b) for r, b in zip(rates, best, strict=False) if b <= _BIAS_RATES[1]]
    now = {
        "type": "scatter",
        "mode": "markers",
        "x": [values["positive_rate"]],
        "y": [min(values["lr_bias"], _BIAS_RATES[1])],
        "xaxis": "x2",
        "yaxis": "y2",
        "marker": {"symbol": "x", "size": 11, "color": "#1B1F24"},
        "name": "now",
        "showlegend": False,
    }
    return figure(
        [
            line(grid, curve, "cosine", colour("two-step"), showlegend=False),
            map_of,
            edge,
            line(
                [r for r, _ in shown],
                [b for _, b in shown],
                "best bias step",
                "#1B1F24",
                xaxis="x2",
                yaxis="y2",
                showlegend=False,
                line={"dash": "dot", "width": 2},
            ),
            now,
        ],
        xaxis={
            "title": {"text": "samples for the query per dimension α₀"},
            "type": "log",
            "dtick": 1,
            "domain": [0, 0.46],
        },
        yaxis={"title": {"text": "cosine between query and signal"}, "range": [-1.05, 1.05]},
        xaxis2={"title": {"text": "positive rate π"}, "domain": [0.58, 1], "anchor": "y2"},
        yaxis2={
            "title": {"text": "bias step η<sub>b</sub>"},
            "anchor": "x2",
            "range": list(_BIAS_RATES),
        },
        shapes=[wrong, mark],
        annotations=[label, note],
    )


@lru_cache(maxsize=4096)
def _best_bias(problem: SparseTokenProblem, alpha: float, loss: str, lr_readout: float) -> float:
    return float(best_bias_rate(problem, alpha=alpha, loss=loss, lr_readout=lr_readout))


def _best_rate(values: Values, rate: float) -> float:
    problem = SparseTokenProblem(**problem_values(values | {"positive_rate": rate}))
    return _best_bias(problem, values["alpha0"], values["loss"], values["lr_readout"])


def _sentence(values: Values, here: Alignment) -> str:
    if values["signal"] == 0 or values["n_signal"] == values["n_tokens"]:
        return "There is nothing to find for the query: all tokens of a sequence are alike."
    towards = "away from" if here.anti_aligned else "towards"
    told = (
        f"Two steps on {samples(values['alpha0'])} turn the query {towards} the signal, "
        f"to a cosine of {here.cosine:.3f}"
    )
    if here.anti_aligned:
        best, most = _best_rate(values, values["positive_rate"]), PARAMETERS["lr_bias"]
        assert isinstance(most, Number)
        step = f"of {best:.3g} would be best" if best <= most.high else "above all here would help"
        return f"{told}: it attends to the wrong tokens; a bias step {step}."
    share = 1.0 - here.misalignment / values["alpha0"]
    if share > 0.9:
        return f"{told}; the missing {per_cent(1 - here.cosine)} shrinks as one over the samples."
    return (
        f"{told}; more samples, or a bias step that suits the positive rate, would turn it further."
    )


def _facts(here: Alignment) -> list[tuple[str, str]]:
    return [
        ("cosine of query and signal", f"{here.cosine:.4f}"),
        ("sharpness κ", f"{here.sharpness:.4g}"),
        ("norm of the query", f"{here.query_norm:.4g}"),
        ("norm of the readout after step one", f"{here.readout_norm:.4g}"),
        ("its overlap with the signal", f"{here.readout_overlap:.4g}"),
        ("bias after step one", f"{here.bias + 0.0:.4g}"),
    ]


VIEW = View(
    "alignment",
    "Alignment",
    "What do two gradient steps teach the query?",
    (*GROUPS["Problem"], "alpha0", "loss", *GROUPS["Two steps"]),
    draw,
)
