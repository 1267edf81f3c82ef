"""Token weights on sequences drawn from the model, after the two steps."""

from typing import Any

import numpy as np

from sparsetoken import plotting
from sparsetoken.experiments.figures import Rows
from sparsetoken.experiments.token_weights import draw_token_weights
from sparsetoken.problem import SparseTokenProblem
from sparsetoken.vocabulary import COLORS

_PROBLEM: dict[str, Any] = {"n_tokens": 20, "n_signal": 2, "signal": 5.0}

TITLE = "Where the query looks after two steps"
PANELS = (1, 2)
MINUTES = 1
QUICK = {"dim": 300}


def data(
    *,
    alpha0: float = 4.0,
    dim: int = 1000,
    n_sequences: int = 12,
    random_state: int = 0,
) -> list[dict[str, Any]]:
    """Draw a query and as many positive as negative sequences; one row per token."""
    drawn = {"n_sequences": n_sequences, "random_state": random_state}
    weights, carries_signal = draw_token_weights(
        SparseTokenProblem(**_PROBLEM), round(alpha0 * dim), dim, **drawn, lr_query=30.0
    )
    return [
        _PROBLEM
        | {"alpha0": alpha0, "dim": dim}
        | {"label": 1 - index, "sequence": sequence, "token": token}
        | {"carries_signal": bool(carries_signal[index, sequence, token])}
        | {"source": "simulation", "quantity": "weight", "value": float(weight)}
        for (index, sequence, token), weight in np.ndenumerate(weights)
    ]


def draw(rows: Rows, axes: Any) -> list[str]:
    """Draw a map for each class; a dot marks a token that carries the signal."""
    top = max(row["value"] for row in rows)
    for ax, (label, kind) in zip(axes, ((1, "positive"), (0, "negative")), strict=True):
        of_class = plotting.select(rows, label=label)
        shape = [1 + max(row[name] for row in of_class) for name in ("sequence", "token")]
        shown = np.zeros(shape)
        for row in of_class:
            shown[row["sequence"], row["token"]] = row["value"]
        image = ax.pcolormesh(shown, cmap="Blues", vmin=0.0, vmax=top, lw=0)
        marked = plotting.select(of_class, carries_signal=True)
        x, y = ([row[name] + 0.5 for row in marked] for name in ("token", "sequence"))
        ax.plot(x, y, "o", ms=4, color=COLORS[1], markeredgecolor="white", markeredgewidth=0.7)
        ax.set(title=f"{kind} sequences", xlabel="token")
        for axis, count in zip((ax.yaxis, ax.xaxis), shape, strict=True):
            numbers = range(0, count, 5)  # as everywhere, from 0
            axis.set_ticks([number + 0.5 for number in numbers], [str(n) for n in numbers])
            axis.set_tick_params(length=0)
        ax.invert_yaxis()
        ax.spines[:].set_visible(True)
    axes[0].set_ylabel("sequence")
    axes[0].figure.colorbar(image, ax=axes, label="attention weight", shrink=0.8)
    return ["Dots: tokens that carry the signal", f"Before training each weight is 1/{shape[1]}"]
