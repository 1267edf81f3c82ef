"""Phase diagram: where attention beats pooling, over two axes."""

import math
from collections.abc import Iterator
from functools import lru_cache
from itertools import product
from typing import Any

import numpy as np

from sparsetoken.app import figures as fig
from sparsetoken.app.parameters import CONTROLS, Values, make_problem, slider
from sparsetoken.app.view import Line, Send, View
from sparsetoken.app.views.learning import has_optimum, risks
from sparsetoken.app.words import per_cent
from sparsetoken.estimate import Estimate
from sparsetoken.models import look
from sparsetoken.planner.metric import get_metric
from sparsetoken.planner.solve import least_alpha
from sparsetoken.vocabulary import COLORS, PARAMETERS, group

_SIZE = (25, 17)
_STRIDES = ((12, 16), (6, 4), (3, 2), (1, 1))  # how the map fills in
_LEARNERS = 41  # places where the least samples of any learner are computed
_RANGES = {"n_tokens": (2, 200), "reg": (1e-5, 10.0), "positive_rate": (0.05, 0.95)}
_LEAST = 1e-4  # added to errors: smaller ones are alike
_EDGE = math.log10(1.05)  # powers of ten by which one beats the other
_MOST_GAIN = 2.0  # powers of ten at the ends of the scale of colors
_TICKS = {"1/100": 0.01, "1/10": 0.1, "1/2": 0.5, "1": 1.0, "2": 2.0, "10": 10.0, "100": 100.0}
_ON_MAP = "rgb(27, 31, 36)"
_PYTHON = """
alpha, split, reg = {alpha}, {split}, {reg}
attention = st.theory.two_step_risk(
    problem, alpha0=split * alpha, alpha1=(1 - split) * alpha, reg=reg, **training
)
pooled = st.theory.risk(problem, "pooled", alpha=alpha, reg=reg, loss=training["loss"])
print(attention.test_error, pooled.test_error)  # at the cross of the map
"""
Errors = tuple[Estimate, Estimate]
Places = dict[tuple[float, float], Errors]
"""By their values along both axes; where no problem is possible, there is none."""


def along(name: str, size: int) -> list[Any]:
    """Return the values along an axis over a parameter."""
    control = CONTROLS[name]
    low, high = _RANGES.get(name) or slider(name)
    space = np.geomspace if control.logarithmic else np.linspace
    places = [float(f"{v:.4g}") for v in space(low, high, size)]
    return sorted({round(v) for v in places}) if control.whole else places


def _errors(values: Values, alphas: list[float]) -> list[Errors]:
    """Return the errors of attention and of pooling at each alpha."""
    both = [risks(values, model, alphas) for model in ("two-step", "pooled")]
    return [(ours.test_error, theirs.test_error) for ours, theirs in zip(*both, strict=True)]


def gain(pair: Errors) -> float:
    """Return how many powers of ten attention's error is below that of pooling.

    What may be numerical error counts as none: no edge is drawn through noise.
    """
    doubt = math.hypot(*(2 * error.uncertainty / (error + _LEAST) for error in pair))
    ratio = math.log((pair[1] + _LEAST) / (pair[0] + _LEAST))
    return math.copysign(max(abs(ratio) - doubt, 0.0), ratio) / math.log(10.0)


def shade(gained: float) -> float:
    """Return where a gain stands on the scale of colors: a small one must be seen too."""
    return math.copysign(math.sqrt(abs(gained) / _MOST_GAIN), gained)


@lru_cache(maxsize=16)
def _remembered(fixed: tuple[Any, ...]) -> Places:
    """Return what was computed of a map, which a move along its axes does not change."""
    return {}


def draw(values: Values, send: Send) -> None:
    """Draw the map from a coarse grid, then from finer ones."""
    across, up = values["x_axis"], values["y_axis"]
    if across == up:
        raise ValueError("the two axes must differ")
    now = f"at the cross {_text(*_errors(values, [values['alpha']]))}"
    xs, ys = along(across, _SIZE[0]), along(up, _SIZE[1])
    grids = [(_every(xs, right), _every(ys, above)) for right, above in _STRIDES]
    pairs_at = _remembered(tuple((n, v) for n, v in values.items() if n not in (across, up)))
    for grid, finer in zip(grids, [*grids[1:], None], strict=True):
        for cases in _missing(values, *grid, pairs_at):
            pairs = _errors(cases[0], [case["alpha"] for case in cases])
            pairs_at |= {(c[across], c[up]): pair for c, pair in zip(cases, pairs, strict=True)}
            send(Line())  # a visitor may have moved on
        if finer is None or _missing(values, *finer, pairs_at):
            sentence = f"{now.capitalize()}; the map is being drawn."
            if finer is None:  # an unfinished map would give other fractions
                sentence = _sentence(values, pairs_at, now)
            picture = _picture(values, *grid, pairs_at) | Line(sentence=sentence)
            send(picture)
    (drawn,) = picture["figures"]
    for best in _best_possible(values):
        send(Line(figures=[drawn | {"data": [*drawn["data"], best]}]))


def _missing(
    values: Values, columns: list[float], rows: list[float], pairs_at: Places
) -> list[list[Values]]:
    """Return what a grid has more than the map so far: alphas together, one from the next."""
    across, up = values["x_axis"], values["y_axis"]
    axes = {across: columns, up: rows}
    alphas = axes.pop("alpha", [values["alpha"]])
    missing = []
    for others in product(*axes.values()):
        cases = [values | dict(zip(axes, others, strict=True)) | {"alpha": a} for a in alphas]
        new = [case for case in cases if (case[across], case[up]) not in pairs_at]
        missing.append([case for case in new if case["n_signal"] <= case["n_tokens"]])
    return [cases for cases in missing if cases]


def _best_possible(values: Values) -> list[fig.Trace]:
    """Return the line below which no learner reaches the target, if samples are an axis."""
    across, up, target = values["x_axis"], values["y_axis"], values["error"]
    if "alpha" not in (across, up):
        return []
    other, metric = up if across == "alpha" else across, get_metric("error")
    line = []
    for place in along(other, _LEARNERS):
        case = values | {other: place}
        quick, rate = case["n_signal"] == 1 and has_optimum(case), case["positive_rate"]
        if quick and case["signal"] > 0.0 and target < min(rate, 1.0 - rate):
            alpha = least_alpha(make_problem(case), metric, target, slider("alpha"))
            if 0.0 < alpha < math.inf:
                line.append({other: float(place), "alpha": alpha})
    x, y = ([place[name] for place in line] for name in (across, up))
    return [fig.curve(f"best possible: {per_cent(target)} error", x, y, COLORS[2])] if line else []


def _every(places: list[float], stride: int) -> list[float]:
    """Return every so many of the places, and the last."""
    return [*places[:-1:stride], places[-1]]


def _picture(values: Values, columns: list[float], rows: list[float], pairs_at: Places) -> Line:
    across, up, dim = values["x_axis"], values["y_axis"], values["features"]
    looks = _ON_MAP, "x", 11
    cross = fig.markers("now", [values[across]], [values[up]], *looks, showlegend=False)
    traces = [*_map(columns, rows, [[pairs_at.get((x, y)) for x in columns] for y in rows]), cross]
    x_axis = fig.quantity_axis(across, (columns[0], columns[-1]), dim)
    y_axis = fig.quantity_axis(up, (rows[0], rows[-1]), dim)
    table = [(x, y, *map(float, pair)) for (x, y), pair in pairs_at.items()]
    return Line(
        figures=[fig.figure(x_axis, y_axis, traces)],
        table=fig.by_column((across, up, "two-step", "pooled"), table),
    )


def _map(x: list[float], y: list[float], pairs: list[list[Errors | None]]) -> Iterator[fig.Trace]:
    """Yield colors, those of pooling at −1 to those of attention at 1, and lines where they part.

    The colors are as light on a dark page, so that the lines are black there, too.
    """
    z = [[pair and shade(gain(pair)) for pair in row] for row in pairs]
    over = {"x": x, "y": y, "z": z}
    ends = (bytes.fromhex(look(model).color[1:]) for model in ("pooled", "two-step"))
    low, high = (f"rgb{tuple(channels)}" for channels in ends)
    colors = {"colorscale": [[0, low], [0.5, "rgb(244, 244, 242)"], [1, high]], "zmin": -1}
    ticks = {text: shade(math.log10(ratio)) for text, ratio in _TICKS.items()}
    bar: Any = {"title": {"text": "pooled error / attention error", "side": "right"}}
    bar |= {"tickvals": [*ticks.values()], "ticktext": [*ticks], "outlinewidth": 0, "thickness": 12}
    hover: Any = {"hoverongaps": False, "hovertemplate": "%{text}<extra></extra>"}
    hover["text"] = [[pair and _text(pair) for pair in row] for row in pairs]
    looks = {"zmax": 1, "zsmooth": "best", "colorbar": bar}
    yield {"type": "heatmap"} | over | colors | hover | looks
    for at in (shade(-_EDGE), shade(_EDGE)):
        line = {"color": _ON_MAP, "width": 2, "smoothing": 1.3}
        contours = {"start": at, "end": at, "size": 1, "coloring": "none"}
        hidden = {"showscale": False, "showlegend": False, "hoverinfo": "skip"}
        yield {"type": "contour", "line": line, "contours": contours} | over | hidden


def _text(pair: Errors) -> str:
    return f"attention errs on {per_cent(pair[0])}, pooling on {per_cent(pair[1])}"


def _sentence(values: Values, pairs_at: Places, now: str) -> str:
    gains = list(map(gain, pairs_at.values()))
    won, lost = (per_cent(sum(g * s > _EDGE for g in gains) / len(gains)) for s in (1, -1))
    across, up = PARAMETERS[values["x_axis"]].label, PARAMETERS[values["y_axis"]].label
    return (
        f"Over {across} and {up}, attention beats pooling on {won} of the map and pooling beats "
        f"attention on {lost}; {now}."
    )


_CONTROLS: tuple[str, ...] = ("x_axis", "y_axis", "error", "features", "Problem", "alpha")
_CONTROLS += ("split", "loss", "reg", *group("two steps"))
_QUESTION = "Where does attention beat pooling?"
VIEW = View("phase", "Phase diagram", _QUESTION, _CONTROLS, _PYTHON, draw)
