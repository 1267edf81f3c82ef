"""What several kinds of signal cost: one query, and a learner with a direction for each."""

import math
from typing import Any

from sparsetoken import plotting
from sparsetoken.experiments.figures import Rows, query_rate
from sparsetoken.experiments.sweep import Grid, Sweep
from sparsetoken.models import look
from sparsetoken.problem import SparseTokenProblem

_SIGNAL = 6.0
_ONE_QUERY = ("pooled", "two-step")
_LINES: dict[str, dict[str, Any]] = {"hardmax": {"color": look("two-step").color}}

TITLE = "What several kinds of signal cost"
PANELS = (1, 2)
MINUTES = 8
QUICK = {
    "kinds": [1, 2, 3, 4, 5],
    "points": [1, 2, 3, 5],
    "dims": {"one query": 300, "optimal": 100, "classifier": 20},
    "trials": 4,
}


def data(
    *,
    kinds: list[int] = [1, 2, 3, 4, 5, 6, 7, 8],
    points: list[int] = [1, 2, 3, 5, 8],
    alpha: float = 8.0,
    dims: dict[str, int] = {"one query": 800, "optimal": 300, "classifier": 40},
    trials: int = 8,
    many: list[int] = [1, 2, 3, 5, 8, 12, 20, 30, 50],
) -> Sweep:
    """Return errors at the same number of samples, then required signals of longer sequences.

    The classifier is simulated in fewer dimensions: it is fitted to the tokens themselves.
    """
    error, both = ["test_error"], ["theory", "simulation"]
    fixed = {"signal": _SIGNAL, "alpha": alpha, "trials": trials}
    best = fixed | {"model": "optimal", "dim": dims["optimal"]}
    fitted = fixed | {"model": "sparse-token", "dim": dims["classifier"]}
    grids = [
        Grid(error, {"n_kinds": kinds}, best, ["theory"]),
        Grid(error, {"n_kinds": points}, best, ["simulation"]),
        Grid(error, {"n_kinds": points}, fitted, ["simulation"]),
    ]
    for n_kinds in kinds:
        kind = SparseTokenProblem(10, signal=_SIGNAL, n_kinds=n_kinds)
        steps = {"lr_query": query_rate(kind, 0.5 * alpha, 2.0), "dim": dims["one query"]}
        grids.append(
            Grid(
                error,
                {"model": _ONE_QUERY},
                fixed | steps | {"n_kinds": n_kinds},
                both if n_kinds in points else ["theory"],
            )
        )
    needed = {"error": 0.05, "n_tokens": 100}
    axes: dict[str, Any] = {"model": ["pooled", "hardmax", "bayes"], "n_kinds": many}
    return Sweep([*grids, Grid(["required_signal"], axes, needed, ["theory"])])


def draw(rows: Rows, axes: Any) -> list[str]:
    """Draw errors against the number of kinds, and the signal that is required."""
    left, right = axes
    rows = [{"n_kinds": 1} | row for row in rows]  # what is at its default is left out
    plotting.panel(left, rows, "n_kinds", "test_error")
    errors = plotting.select(rows, quantity="test_error")
    left.set(yscale="log", xticks=plotting.present(errors, "n_kinds"))
    plotting.plain_log(left.yaxis)
    plotting.panel(right, rows, "n_kinds", "required_signal", styles=_LINES)
    required = plotting.select(rows, quantity="required_signal")
    kinds, (length,) = (plotting.present(required, name) for name in ("n_kinds", "n_tokens"))
    one = [math.sqrt(2 * k * math.log(length)) for k in kinds]
    each = [math.sqrt(2 * math.log(k * length)) for k in kinds]
    grey: dict[str, Any] = {"color": "0.45", "lw": 0.6, "zorder": 0}
    right.plot(kinds, one, label=r"$\sqrt{2K\,\log L}$", **grey)
    right.plot(kinds, each, label=r"$\sqrt{2\,\log KL}$", ls="--", **grey)
    right.set(xscale="log", yscale="log")
    plotting.plain_log(right.xaxis)
    plotting.plain_log(right.yaxis)
    plotting.label_axes(right, "n_kinds", "signal θ needed for 5 % error")
    plotting.share_legend(left)
    right.legend(loc="upper left", ncols=2)
    right.set_ylim(top=2000.0)
    return [
        "Attention with one query and pooling see K kinds as one kind of strength θ/√K; the best "
        "learner has a direction for each",
        f"The signal needed is that of the best weights, L = {length}",
    ]
