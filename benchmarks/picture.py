"""The README's picture: ``python -m benchmarks.picture STORE [FILE]``.

``STORE`` is what ``python -m benchmarks.bags --data FOLDER --store STORE`` has kept. On the left
the accuracy of each kind of classifier on real bags; on the right theory beside simulation.
"""

import json
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from sparsetoken.estimate import Estimate
from sparsetoken.experiments import compute, make_cell
from sparsetoken.plotting import new_figure, plain_log, save_picture, styled
from sparsetoken.vocabulary import COLORS, MARKERS, look

SETS = {
    "needle": "one 9 among\n20 digits",
    "tiger": "tiger:\nimage regions",
    "fox": "fox:\nimage regions",
    "musk1": "musk1:\nmolecules",
}
PEERS = {
    "sparsetoken": "SparseTokenClassifier",
    "extra": "extra trees on bag statistics",
    "abmil": "attention network (torchmil)",
    "mean": "logistic regression of the mean",
}
PROBLEM: dict[str, Any] = {"n_tokens": 10, "signal": 5.0, "reg": 1e-2}


def draw_bags(axes: Axes, store: Path) -> None:
    found = defaultdict(list)
    for line in store.read_text().splitlines():
        key, (accuracy, *_) = json.loads(line)
        name, model, split = key.split(", ", 2)
        if "fold" in split:  # not a point of a learning curve
            found[name, model].append(accuracy)
    rows = list(SETS)
    for place, (model, label) in enumerate(PEERS.items()):
        known = [(row, found[name, model]) for row, name in enumerate(rows) if found[name, model]]
        if not known:
            continue
        shift = 0.16 * (place - (len(PEERS) - 1) / 2)
        axes.errorbar(
            [np.mean(values) for _, values in known],
            [row + shift for row, _ in known],
            xerr=[np.std(values, ddof=1) / np.sqrt(10) for _, values in known],
            fmt=MARKERS[place],
            color=COLORS[place],
            label=label,
            elinewidth=0.8,
        )
    axes.set_yticks(range(len(rows)), SETS.values())
    axes.invert_yaxis()
    axes.axvline(0.5, color="0.8", linewidth=0.8, zorder=0)
    axes.set_xlabel("accuracy, five times ten folds (bars: one standard error)")
    axes.legend(loc="upper center", bbox_to_anchor=(0.35, -0.2), ncols=2, columnspacing=1.0)


def test_error(source: str, values: dict[str, Any]) -> Estimate:
    cell = make_cell(source, "test_error", PROBLEM | values)
    assert cell is not None
    return compute(cell)["test_error"]


def draw_theory(axes: Axes) -> None:
    for model in ("pooled", "two-step"):
        line, points = np.geomspace(0.4, 8.0, 60), [0.5, 1.0, 2.0, 4.0, 8.0]
        shown = look(model)
        theory = [test_error("theory", {"model": model, "alpha": float(a)}) for a in line]
        axes.plot(line, theory, color=shown.color, label=shown.label)
        size = {"model": model, "dim": 1000, "trials": 8}
        simulated = [test_error("simulation", size | {"alpha": alpha}) for alpha in points]
        axes.errorbar(
            points,
            simulated,
            yerr=[value.uncertainty for value in simulated],
            fmt=shown.marker,
            color=shown.color,
        )
    axes.set_xscale("log")
    plain_log(axes.xaxis)
    axes.set_ylim(0.0, 0.5)
    axes.set_xlabel("samples per dimension")
    axes.set_ylabel("test error")
    axes.plot([], [], color="0.3", marker="o", linewidth=0.0, label="points: simulation")
    axes.plot([], [], color="0.3", label="lines: theory")
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.2), ncols=2, columnspacing=1.0)


def main(store: str, path: str = "docs/_static/readme.png") -> None:
    with styled():
        figure, axes = new_figure(1, 2, height=2.9)
        draw_bags(axes[0, 0], Path(store))
        draw_theory(axes[0, 1])
    save_picture(figure, path)


if __name__ == "__main__":
    main(*sys.argv[1:])
