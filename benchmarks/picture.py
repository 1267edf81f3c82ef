"""The README's picture: ``python -m benchmarks.picture TEXTS STORE [FILE]``.

``TEXTS`` and ``STORE`` are those of ``python -m benchmarks.activations TEXTS --store STORE``. On
the left a comment that the classifier has not seen, with the weight of each word, and how well
probes of a real transformer do; on the right the best possible learner, ours and the published
protocol on samples of the model.
"""

import json
import sys
from collections import defaultdict
from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from benchmarks.activations import LAYER, Texts
from sparsetoken import AttentionClassifier, SparseTokenClassifier, SparseTokenProblem
from sparsetoken.models import look
from sparsetoken.plotting import new_figure, plain_log, save_picture, styled
from sparsetoken.theory import optimal, two_step_risk
from sparsetoken.vocabulary import COLORS, MARKERS

COMMENT = "Tip: if someone believes EVERYONE"  # how the comment that is shown begins
BARS = (
    "mean token",
    "attention probe",
    "attention probe, 8 heads",
    "MultiMax, 8 heads",
    "AttentionClassifier",
    "SparseTokenClassifier",
)
PROBLEM = SparseTokenProblem(n_tokens=20, signal=6.0)
DIM, DRAWS = 100, 8


def draw_words(axes: Axes, texts: Texts, number: int, table: pd.DataFrame) -> None:
    """Write a comment, each word on a ground as dark as its weight."""
    others = np.delete(np.arange(len(texts.y)), number)
    clf = AttentionClassifier(random_state=0).fit(texts.layer(others, LAYER), texts.y[others])
    weights = clf.attention(texts.layer([number], LAYER))[0]
    text, start = table["text"][number], 0
    pieces: list[tuple[str, float]] = []
    for word in text.split():
        low = text.index(word, start)
        start = low + len(word)
        inside = [low <= a < start for a, _ in texts.spans[number]]
        pieces.append((word, float(weights[inside].sum())))
    axes.axis("off")
    place, line, width = 0.0, 0, 45
    most = max(weight for _, weight in pieces)
    for word, weight in pieces:
        if place + len(word) > width:
            place, line = 0.0, line + 1
        axes.text(
            place / width,
            0.9 - 0.3 * line,
            word,
            family="monospace",
            bbox={
                "facecolor": COLORS[0],
                "alpha": 0.8 * weight / most,
                "edgecolor": "none",
                "pad": 1.5,
            },
        )
        place += len(word) + 1
    axes.set_title("weight of each word of a comment judged toxic", loc="left")


def draw_bars(axes: Axes, store: Path) -> None:
    """Draw the area under the curve of each method, and how often it points at marked words."""
    found = defaultdict(list)
    for line in store.read_text().splitlines():
        key, (_, auc, _, hit, _) = json.loads(line)
        question, method = json.loads(key)
        if question.startswith("all"):
            found[method].append((auc, hit))
    means = np.array([np.mean(found[method], axis=0) for method in BARS])
    rows = np.arange(len(BARS))
    axes.barh(rows - 0.19, means[:, 0], 0.36, color=COLORS[0], label="AUC")
    axes.barh(rows + 0.19, means[:, 1], 0.36, color=COLORS[1], label="strongest token was marked")
    for row, pair in enumerate(means):
        for shift, value in zip((-0.19, 0.19), pair, strict=True):
            if np.isfinite(value):
                axes.text(value + 0.01, row + shift, f"{value:.2f}", va="center", size=6)
    axes.set_yticks(rows, BARS)
    axes.set_xlim(0.0, 1.0)
    axes.invert_yaxis()
    axes.legend(loc="upper center", bbox_to_anchor=(0.3, -0.12), ncols=2, columnspacing=1.0)


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


def main(path: str, store: str, picture: str = "docs/_static/readme.png") -> None:
    table = pd.read_csv(path)
    texts = Texts(table)
    number = int(np.flatnonzero(table["text"].str.startswith(COMMENT))[0])
    with styled():
        figure, axes = new_figure(1, 2, height=3.1)
        axes[0, 0].axis("off")
        draw_words(axes[0, 0].inset_axes((-0.1, 0.78, 1.1, 0.22)), texts, number, table)
        draw_bars(axes[0, 0].inset_axes((0.42, 0.0, 0.58, 0.7)), Path(store))
        draw_learners(axes[0, 1])
    save_picture(figure, picture)


if __name__ == "__main__":
    main(*sys.argv[1:])
