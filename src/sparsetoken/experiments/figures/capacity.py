"""How many samples can be separated: a transition that sharpens with the dimension."""

from typing import Any

import numpy as np

from sparsetoken import plotting
from sparsetoken.experiments.figures import Rows
from sparsetoken.experiments.sweep import Grid, Sweep
from sparsetoken.models import look
from sparsetoken.problem import SparseTokenProblem
from sparsetoken.theory import capacity

_PROBLEM: dict[str, Any] = {"n_tokens": 5, "n_signal": 1, "signal": 2.0, "positive_rate": 0.5}
_MODELS = ("vectorized", "pooled", "attention")
_QUERY: dict[str, Any] = {"cosine": 0.9, "sharpness": 1.0}

TITLE = "Below the capacity α* the training samples are separable"
PANELS = (2, len(_MODELS))
MINUTES = 4
QUICK = {"ratios": [0.5, 0.7, 0.85, 1.0, 1.15, 1.3, 1.5], "dims": [10, 20, 40], "trials": 20}


def data(
    *,
    ratios: list[float] = np.linspace(0.7, 1.3, 13).tolist(),
    lines: list[float] = [
        *np.linspace(0.4, 0.8, 9),
        *np.linspace(0.82, 1.2, 20),
        *np.linspace(1.3, 1.6, 4),
    ],
    dims: list[int] = [20, 40, 80],
    trials: int = 50,
) -> Sweep:
    """Return samples around each model's own capacity: ``ratios`` of it, and ``lines``."""
    grids = []
    for model in _MODELS:
        query = _QUERY if model == "attention" else {}
        limit = capacity(SparseTokenProblem(**_PROBLEM), model, **query)
        fixed = _PROBLEM | query | {"model": model, "trials": trials, "reg": 1e-4}
        axes: dict[str, list[Any]] = {"alpha": _times(ratios, limit), "dim": dims}
        grids += [
            Grid(["capacity"], {}, fixed, ["theory"]),
            Grid(["train_loss"], {"alpha": _times(lines, limit)}, fixed, ["theory"]),
            Grid(["separable", "train_loss"], axes, fixed, ["simulation"]),
        ]
    return Sweep(grids)


def _times(ratios: list[float], limit: float) -> list[float]:
    return [round(ratio * limit, 6) for ratio in ratios]


def draw(rows: Rows, axes: Any) -> list[str]:
    """Draw the separable fraction and the training loss, a column for each model."""
    limits = {row["model"]: row["value"] for row in plotting.select(rows, quantity="capacity")}
    columns = zip(axes[: len(_MODELS)], axes[len(_MODELS) :], strict=True)
    for (above, below), (model, limit) in zip(columns, limits.items(), strict=True):
        near = [
            row | {"ratio": row["alpha"] / limit}
            for row in plotting.select(rows, model=model)
            if "alpha" in row
        ]
        for dim, style in plotting.looks(plotting.present(rows, "dim")):
            fractions = plotting.select(near, quantity="separable", dim=dim)
            fractions.sort(key=lambda row: row["ratio"])
            x, y = ([row[name] for row in fractions] for name in ("ratio", "value"))
            above.plot(x, y, "-", color=style[0], lw=0.5)
            plotting.curve(above, fractions, "ratio", *style, f"d = {dim}")
            losses = plotting.select(near, quantity="train_loss", dim=dim)
            plotting.curve(below, losses, "ratio", *style)
        theory = plotting.select(near, quantity="train_loss", source="theory")
        plotting.curve(below, theory, "ratio", "black", label="theory, d → ∞")
        for ax in (above, below):
            ax.axvline(1.0, color="0.6", lw=0.8, ls="--", zorder=0)
        above.set_title(f"{look(model).label},  α* = {limit:.2f}")
        below.set_title(look(model).label)
        above.sharex(below)
        plotting.label_axes(above, "α / α*", "separable")
        plotting.label_axes(below, "α / α*", "train_loss")
    above.legend(loc="upper right")
    below.legend(loc="lower right")
    return ["Thin lines join the simulations of one dimension: the transition sharpens as d grows"]
