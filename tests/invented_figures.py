"""Figures at tiny size, their numbers invented: every one of them must be on the axes."""

import numpy as np

from sparsetoken.experiments.figures import get_figure

TINY = {
    "alignment": {"signals": [3.0, 8.0], "lines": [1.0, 10.0], "points": [2.0]},
    "attention-map": {"n_sequences": 3, "dim": 20},
    "capacity": {"lines": [0.5, 1.5], "ratios": [0.5, 1.5], "dims": [10, 20]},
    "kinds": {"kinds": [1, 3], "points": [3], "many": [1, 10]},
    "learning-curves": {"lines": [1.0, 4.0], "points": [1.0, 2.0], "vectorized_points": [1.0]},
    "hard-phase": {
        "lengths": [10, 100, 1000],
        "length_points": [30, 300],
        "alphas": [0.1, 1.0],
        "lines": [0.1, 1.0],
        "points": [0.1, 1.0],
    },
    "residual-error": {"lines": [-0.5, 0.5], "points": [0.0], "sharpness": [1.0, 2.0]},
    "scaling": {
        "lengths": [10, 100],
        "longest_integrated": 10,
        "trained_lengths": [4, 40],
        "trained_points": [4, 40],
    },
    "sensitivity": {
        "readout_rates": [0.5, 1.0, 2.0],
        "bias_rates": [0.0, 2.0],
        "positive_rates": [0.2, 0.8],
        "positive_points": [0.5],
        "betas": [0.5, 2.0],
        "beta_points": [1.0],
    },
    "split": {"alphas": [1.0, 2.0], "lines": [0.2, 0.5, 0.8], "points": [0.5]},
}


def invented(name, **settings):
    """Return the table of a figure at tiny size, its numbers drawn at random."""
    data = get_figure(name).data(**TINY[name] | settings)
    if isinstance(data, list):
        return data
    rng = np.random.default_rng(0)
    return [
        cell.values
        | {"source": cell.source, "quantity": quantity, "value": rng.uniform(0.1, 0.9)}
        | {"uncertainty": rng.uniform(0.01, 0.05), "converged": True}
        | dict(columns)
        for cell, columns in data.parts
        for quantity in cell.quantities
    ]


def points_on(ax):
    return {
        (round(x, 9), round(y, 9))
        for line in ax.lines
        for x, y in np.column_stack([line.get_xdata(), line.get_ydata()]).tolist()
    }


def bars_on(ax):
    return {
        tuple(np.round([segment[0, 0], *segment[:, 1]], 9).tolist())
        for container in ax.containers
        for bars in container[2]
        for segment in bars.get_segments()
    }


def assert_shown(ax, rows, x):
    assert rows
    points, bars = points_on(ax), bars_on(ax)
    for row in rows:
        assert (round(row[x], 9), round(row["value"], 9)) in points, row
        if row["source"] == "simulation":
            ends = row["value"] - row["uncertainty"], row["value"] + row["uncertainty"]
            assert tuple(np.round([row[x], *ends], 9).tolist()) in bars, row
