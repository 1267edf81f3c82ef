"""How the learning rates, the rate of positives and the temperature decide what is learned."""

from collections.abc import Callable
from typing import Any

import numpy as np

from sparsetoken.experiments.sweep import Grid, Sweep

__all__ = ["FULL", "QUICK", "SUMMARY", "table"]

SUMMARY = "cosine and test error over learning rates, rate of positives and temperature"
_PROBLEM = {"n_tokens": 10, "n_signal": 1, "signal": 5.0, "reg": 1e-2}
_QUANTITIES = ["cosine", "test_error"]

FULL: dict[str, Any] = {
    "readout_rates": np.geomspace(0.2, 20.0, 25).tolist(),
    "bias_rates": np.linspace(0.0, 6.0, 25).tolist(),
    "rare": 0.2,
    "positive_rates": np.linspace(0.05, 0.95, 31).tolist(),
    "positive_points": [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9],
    "betas": np.geomspace(0.1, 10.0, 31).tolist(),
    "beta_points": [0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0],
    "compared_bias_rates": [0.0, 1.0, 4.0],
    "alpha": 4.0,
    "dim": 500,
    "trials": 8,
}
QUICK: dict[str, Any] = FULL | {
    "readout_rates": np.geomspace(0.2, 20.0, 11).tolist(),
    "bias_rates": np.linspace(0.0, 6.0, 11).tolist(),
    "positive_rates": np.linspace(0.05, 0.95, 19).tolist(),
    "positive_points": [0.2, 0.35, 0.5, 0.65, 0.8],
    "betas": np.geomspace(0.1, 10.0, 13).tolist(),
    "beta_points": [0.1, 0.3, 1.0, 3.0, 10.0],
    "dim": 150,
}


def table(
    run: Callable[[Sweep], list[dict[str, Any]]],
    *,
    readout_rates: list[float],
    bias_rates: list[float],
    rare: float,
    positive_rates: list[float],
    positive_points: list[float],
    betas: list[float],
    beta_points: list[float],
    compared_bias_rates: list[float],
    alpha: float,
    dim: int,
    trials: int,
) -> list[dict[str, Any]]:
    """Compute three panels; the column ``panel`` says which: rates, positives or beta."""
    fixed = _PROBLEM | {"alpha": alpha, "dim": dim, "trials": trials}
    bias = {"lr_bias": compared_bias_rates}
    plane = {"lr_readout": readout_rates, "lr_bias": bias_rates}
    panels = {
        "rates": ([(plane, ["theory"])], {"positive_rate": rare}),
        "positives": (
            [
                (bias | {"positive_rate": positive_rates}, ["theory"]),
                (bias | {"positive_rate": positive_points}, ["simulation"]),
            ],
            {},
        ),
        "beta": (
            [({"beta": betas}, ["theory"]), ({"beta": beta_points}, ["simulation"])],
            {"positive_rate": 0.5},
        ),
    }
    rows = []
    for panel, (parts, extra) in panels.items():
        grids = [Grid(_QUANTITIES, axes, fixed | extra, sources) for axes, sources in parts]
        rows += [row | {"panel": panel} for row in run(Sweep(grids))]
    return rows
