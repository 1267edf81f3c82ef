"""How far the theory of fresh samples carries when samples are reused, or training goes on."""

import numpy as np
from matplotlib.figure import Figure

from sparsetoken.experiments.figures import Rows, figure
from sparsetoken.experiments.sweep import Grid, Sweep
from sparsetoken.plotting import caption, curve, label_axes, new_figure, select
from sparsetoken.vocabulary import look

__all__ = ["draw", "sweep"]

_PROBLEM = {"n_tokens": 10, "n_signal": 1, "signal": 5.0, "positive_rate": 0.5, "reg": 1e-2}
_QUANTITIES = ("test_error", "cosine")
_AS_IF_FRESH = "as if fresh"
_MODELS = ("two-step", "two-step-reused", "joint")


def sweep(*, lines: list[float], points: list[float], dim: int, trials: int) -> Sweep:
    """Return the theory of fresh halves, and of fresh samples as many as are reused.

    The theory of reused samples takes them for fresh ones: its rows have the model "as if fresh",
    and ``alpha`` is the number that is reused.
    """
    fixed = _PROBLEM | {"dim": dim, "trials": trials}
    axes = {"model": _MODELS, "alpha": points}
    return Sweep(
        [
            Grid(_QUANTITIES, {"alpha": lines}, fixed | {"model": "two-step"}, ["theory"]),
            Grid(_QUANTITIES, axes, fixed, ["simulation"]),
            *(
                Grid(
                    _QUANTITIES,
                    {},
                    fixed | {"alpha0": alpha, "alpha1": alpha},
                    ["theory"],
                    {"model": _AS_IF_FRESH, "alpha": alpha},
                )
                for alpha in lines
            ),
        ]
    )


@figure(
    "joint-training",
    "two-step protocol, the same with samples reused, and joint refinement",
    data=sweep,
    full={
        "lines": np.geomspace(0.5, 16.0, 31).tolist(),
        "points": [0.5, 1.0, 2.0, 4.0, 8.0, 16.0],
        "dim": 200,
        "trials": 16,
    },
    quick={
        "lines": np.geomspace(0.5, 8.0, 16).tolist(),
        "points": [0.5, 1.0, 2.0, 4.0, 8.0],
        "dim": 80,
        "trials": 8,
    },
)
def draw(rows: Rows) -> Figure:
    """Draw test error and cosine, the protocols beyond the theory beside its prediction."""
    drawn, axes = new_figure(1, 2, height=2.7)
    labels = {
        "two-step": "two steps on one half, readout on the other",
        "two-step-reused": "both on all samples",
        "joint": "the same, then refined jointly",
    }
    for ax, quantity in zip(axes[0], _QUANTITIES, strict=True):
        for model, label in labels.items():
            chosen = select(rows, quantity=quantity, model=model)
            curve(ax, chosen, "alpha", look(model).color, look(model).marker, label)
        chosen = select(rows, quantity=quantity, model=_AS_IF_FRESH)
        color = look("two-step-reused").color
        curve(ax, chosen, "alpha", color, label="theory taking reused for fresh", dashes="--")
        label_axes(ax, "alpha", quantity)
    axes[0][1].legend(loc="lower right")
    caption(drawn, rows, "How far the theory of fresh samples carries")
    return drawn
