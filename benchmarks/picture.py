"""The README's picture: ``python -m benchmarks.picture STORE [FILE]``.

``STORE`` is what ``python -m benchmarks.bags --data FOLDER --store STORE`` has kept. On the left
the accuracy of each kind of classifier on real bags; on the right the best possible learner, ours
and the published protocol on samples of the model.
"""

import json
import sys
from collections import defaultdict
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes

from sparsetoken import SparseTokenClassifier, SparseTokenProblem
from sparsetoken.models import look
from sparsetoken.plotting import new_figure, plain_log, save_picture, styled
from sparsetoken.theory import optimal, two_step_risk
from sparsetoken.vocabulary import COLORS, MARKERS

SETS = {
    "needle": "one 9 among\n20 digits",
    "tiger": "tiger:\nimage regions",
    "fox": "fox:\nimage regions",
    "musk1": "musk1:\nmolecules",
}
PEERS = {
    "sparsetoken": "SparseTokenClassifier",
    "extra": "extra trees on bag statistics",
    "mean": "logistic regression of the mean",
}
PROBLEM = SparseTokenProblem(n_tokens=20, signal=6.0)
DIM, DRAWS = 100, 8


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


def fitted_errors(n_samples: int) -> list[float]:
    """Return test errors of the default classifier, told nothing but the samples."""
    errors = []
    for draw in range(DRAWS):
        X, y, truth = PROBLEM.sample(n_samples, DIM, random_state=draw, return_truth=True)
        new, labels = PROBLEM.sample(4000, DIM, random_state=1000 + draw, direction=truth.direction)
        clf = SparseTokenClassifier(random_state=0).fit(X, y)
        errors.append(1.0 - clf.score(new, labels))
    return errors


def draw_learners(axes: Axes) -> None:
    line, points = np.geomspace(0.4, 8.0, 40), [0.5, 1.0, 2.0, 4.0, 8.0]
    best = look("optimal")
    errors = [
        two_step_risk(PROBLEM, alpha0=a / 2, alpha1=a / 2, reg=1e-2).test_error
        for a in line.tolist()
    ]
    axes.plot(line, errors, color=COLORS[3], label="published two-step protocol (theory)")
    found = np.array([fitted_errors(round(alpha * DIM)) for alpha in points])
    bars = found.std(axis=1, ddof=1) / np.sqrt(DRAWS)
    axes.errorbar(
        points,
        found.mean(axis=1),
        yerr=bars,
        fmt=MARKERS[0],
        color=COLORS[0],
        label="SparseTokenClassifier (measured)",
    )
    errors = [point.test_error for point in optimal(PROBLEM, line.tolist())]
    axes.plot(line, errors, color=best.color, label="best possible learner (theory)", zorder=1)
    axes.set_xscale("log")
    axes.set_yscale("log")
    plain_log(axes.xaxis)
    plain_log(axes.yaxis)
    axes.set_xlabel("samples per dimension")
    axes.set_ylabel("test error")
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.2))


def main(store: str, path: str = "docs/_static/readme.png") -> None:
    with styled():
        figure, axes = new_figure(1, 2, height=2.9)
        draw_bags(axes[0, 0], Path(store))
        draw_learners(axes[0, 1])
    save_picture(figure, path)


if __name__ == "__main__":
    main(*sys.argv[1:])
