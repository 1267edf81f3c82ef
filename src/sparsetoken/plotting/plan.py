"""Pictures of what the planner answers: plans by theory and from pilot data, sizes.

Each is a matplotlib figure, to be changed, or saved with ``save_picture``.
"""

import math
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from sparsetoken.models import look
from sparsetoken.plotting.picture import one_panel
from sparsetoken.plotting.style import caption, plain_log
from sparsetoken.vocabulary import COLORS, PARAMETERS

_LEAST = 1e-9  # error that is drawn: a plan may have none
_LABEL_HEIGHT = 0.055  # of the axes: labels closer than this would overlap


def draw_plan(data: dict[str, Any]) -> Figure:
    """Draw a plan: the curve, the answer, the target, and other classifiers at the same budget.

    ``data`` is what :meth:`sparsetoken.planner.Plan.to_dict` returns.
    """
    with one_panel() as (figure, ax):
        style, curve = look(data["model"]), data["curve"]
        quantity = curve["quantity"]
        x, errors = zip(*sorted(zip(curve["values"], curve["errors"], strict=True)), strict=True)
        ax.plot(x, errors, marker=style.marker, color=style.color, markerfacecolor="white")
        ax.plot(data[quantity], data["error"], "*", color=style.color, ms=9, zorder=4)
        labels = [(errors[-1], style.label, style.color)]
        for name, error in data["alternatives"].items():
            other = look(name)
            ax.axhline(error, ls=":", lw=0.9, color=other.color, zorder=1)
            labels.append((error, other.label, other.color))
        if data["target"] is not None:
            ax.axhline(data["target"], ls="--", lw=0.8, color="0.55", zorder=1)
            labels.append((data["target"], "target", "0.4"))
        ax.set(xlabel=PARAMETERS[quantity].axis, ylabel=f"expected {data['label']}")
        labels = [(max(height, _LEAST), text, color) for height, text, color in labels]
        heights = [height for height, *_ in labels]
        low, high = max(min(*errors, *heights), _LEAST), max(*errors, *heights)
        room = (high / low) ** 0.06 * 1.02
        _logarithmic(ax, low / room, high * room)
        _label_right(ax, labels)
        notes = [f"n = {data['n_samples']:g}"] if quantity != "n_samples" else []
        fixed = [{name: value for name, value in data.items() if name != quantity}]
        caption(figure, fixed, data["answer"], [*notes, "Star: the plan"])
    return figure


def draw_pilot(data: dict[str, Any]) -> Figure:
    """Draw a plan from pilot data: observed errors, the fan of curves, target and answer.

    ``data`` is what :meth:`sparsetoken.planner.PilotPlan.to_dict` returns.
    """
    with one_panel() as (figure, ax):
        color, curve = COLORS[0], data["curve"]
        x, target = curve["n_samples"], data["target"]
        band = ax.fill_between(x, curve["lower"], curve["upper"], color=color, alpha=0.18, lw=0)
        band.set_label("80 % interval")
        ax.plot(x, curve["median"], color=color, label="expected")
        seen = data["observed"]
        sizes, errors, bars = (
            [row[name] for row in seen] for name in ("n_samples", "error", "standard_error")
        )
        style: Any = {"fmt": "o", "color": "0.2", "markerfacecolor": "white", "capsize": 1.5}
        label = f"seen on the {data['source']} ± s.e."
        ax.errorbar(sizes, errors, yerr=bars, label=label, zorder=3, **style)
        ax.axhline(target, ls="--", lw=0.8, color="0.55", zorder=1, label="target")
        if data["interval"] is not None:
            ax.plot(data["interval"], [target, target], color=COLORS[1], lw=2.5, alpha=0.5)
        if data["n_samples"] is not None:
            ax.plot(data["n_samples"], target, "*", color=COLORS[1], ms=9, label="plan", zorder=4)
        low = min(*curve["median"], target, *errors)
        ax.set(xlabel=PARAMETERS["n_samples"].axis, ylabel=data["label"])
        _logarithmic(ax, max(0.5 * low, 1e-4), 1.15 * max(*curve["upper"], target))
        ax.legend(loc="best")
        caption(figure, [], data["answer"])
    return figure


def draw_test_size(data: dict[str, Any]) -> Figure:
    """Draw the width of an interval, or the power of a test, against the number of test samples.

    ``data`` is what :meth:`sparsetoken.planner.TestSetPlan.to_dict` returns.
    """
    with one_panel() as (figure, ax):
        curve = data["curve"]
        name = "width" if data["null"] is None else "power"
        label = f"width of the {100 * data['level']:g} % interval" if name == "width" else name
        ax.plot(curve["n_samples"], curve[name], color=COLORS[0])
        ax.axhline(data["target"], ls="--", lw=0.8, color="0.55", zorder=1)
        ax.plot(data["n_samples"], data[name], "*", color=COLORS[1], ms=9, zorder=4)
        ax.set(xlabel="test samples", ylabel=label)
        _logarithmic(ax)
        caption(figure, [], data["answer"])
    return figure


def _logarithmic(ax: Axes, low: float | None = None, high: float | None = None) -> None:
    """Make both axes logarithmic, with plain numbers as labels."""
    ax.set(xscale="log", yscale="log")
    ax.set_ylim(low, high)
    for axis in (ax.xaxis, ax.yaxis):
        plain_log(axis)


def _label_right(ax: Axes, labels: list[tuple[float, str, str]]) -> None:
    """Write each label at its height beside the axes, moved apart where they would overlap."""
    low, high = (math.log(limit) for limit in ax.get_ylim())
    previous = -math.inf
    for value, text, color in sorted(labels):
        height = max((math.log(value) - low) / (high - low), previous + _LABEL_HEIGHT)
        previous = height
        place: Any = {"xycoords": "axes fraction", "va": "center", "annotation_clip": False}
        ax.annotate(text, (1.02, height), color=color, fontsize=6.5, **place)
