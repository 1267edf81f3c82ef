"""The README's picture: ``python -m benchmarks.picture TEXTS STORE [FILE]``.

``TEXTS`` and ``STORE`` are those of ``python -m benchmarks.activations TEXTS --store STORE``. On
the left a comment that the classifier has not seen, with the weight of each word, and how well
probes of a real transformer do; on the right the best possible learner, ours and the published
protocol on samples of the model.
"""

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from benchmarks.activations import LAYER, Texts, read_store
from benchmarks.optimal import fits
from benchmarks.peers import OURS
from benchmarks.report import Kept, run
from sparsetoken import SparseTokenProblem
from sparsetoken.models import look
from sparsetoken.plotting import COLUMN, Picture, plain_log, save_picture, styled
from sparsetoken.theory import optimal, two_step_risk
from sparsetoken.vocabulary import COLORS, MARKERS

COMMENT = "Tip: if someone believes EVERYONE"  # how the comment that is shown begins
BARS = (
    *("mean token", "attention probe", "attention probe, 8 heads", "MultiMax, 8 heads"),
    *("rolling means, 8 heads", "AttentionClassifier", "SparseTokenClassifier"),
)
PROBLEM = SparseTokenProblem(n_tokens=20, signal=6.0)
DIM, DRAWS = 100, 8
SIZE, LINE = 7.0, 48  # of the comment: points, characters


def draw_words(axes: Axes, texts: Texts, number: int, text: str) -> None:
    """Write a comment, each word on a ground as dark as its weight."""
    others = np.delete(np.arange(len(texts.y)), number)
    clf = OURS["attention"]().fit(texts.layer(others, LAYER), texts.y[others])
    weights = clf.attention(texts.layer([number], LAYER))[0]
    pieces: list[tuple[str, float]] = []
    start = 0
    for word in text.split():
        low = text.index(word, start)
        start = low + len(word)
        inside = [low <= a < start for a, _ in texts.spans[number]]
        pieces.append((word, float(weights[inside].sum())))
    axes.axis("off")

    def write(words: str, right: float, down: float, **options: Any) -> None:
        """Write at a place in points, without a part in the layout."""
        coordinates: Any = ("figure fraction", "axes fraction")
        place: Any = {"xycoords": coordinates, "textcoords": "offset points"}
        written = axes.annotate(words, (0.02, 1.0), xytext=(right, -down), **place, **options)
        written.set_in_layout(False)

    place, line, most = 0, 0, max(weight for _, weight in pieces)
    for word, weight in pieces:
        if place + len(word) > LINE:
            place, line = 0, line + 1
        ground = {"facecolor": COLORS[0], "alpha": 0.8 * weight / most, "edgecolor": "none"}
        down = 3.2 * SIZE + 1.8 * SIZE * line
        style: Any = {"family": "monospace", "size": SIZE, "bbox": ground | {"pad": 1.2}}
        write(word, 0.602 * SIZE * place, down, **style)
        place += len(word) + 1
    write("A comment that the probe has not seen: weight of each word", 0.0, SIZE)


def draw_bars(axes: Axes, store: Path) -> None:
    """Draw the area under the curve of each method, and how often it points at marked words."""
    found = read_store(Kept(store))
    means = np.array([found["all", method][[1, 3]] for method in BARS])
    rows = np.arange(len(BARS))
    labels = ("AUC", "strongest token was marked")
    for values, shift, color, label in zip(means.T, (-0.19, 0.19), COLORS, labels, strict=False):
        axes.barh(rows + shift, values, 0.36, color=color, label=label)
        for row, value in enumerate(values):
            if np.isfinite(value):
                axes.text(value + 0.01, row + shift, f"{value:.2f}", va="center", size=5.5)
    axes.set_yticks(rows, BARS)
    for tick, method in zip(axes.get_yticklabels(), BARS, strict=True):
        tick.set_fontweight("bold" if method.endswith("Classifier") else "normal")
    axes.set(xlim=(0.0, 1.0), xlabel=f"layer {LAYER} of a transformer, comments kept aside")
    axes.invert_yaxis()
    axes.legend(loc="lower left", bbox_to_anchor=(-0.05, 0.98), ncols=2, columnspacing=1.0)


def fitted_errors(n_samples: int) -> list[float]:
    """Return test errors of the default classifier, told nothing but the samples."""
    seeds, ours = [(draw, 1000 + draw) for draw in range(DRAWS)], {"": OURS["sparsetoken"]}
    return [error for *_, error in fits(ours, PROBLEM, (n_samples, DIM), 4000, seeds)]


def draw_learners(axes: Axes, store: Kept) -> None:
    """Draw the optimum, the classifier's measured errors and the published protocol."""
    line, points = np.geomspace(0.4, 8.0, 40), [0.5, 1.0, 2.0, 4.0, 8.0]
    best = look("optimal")
    halves = [{"alpha0": a / 2, "alpha1": a / 2} for a in line.tolist()]
    errors = [two_step_risk(PROBLEM, **half, reg=1e-2).test_error for half in halves]
    axes.plot(line, errors, color=COLORS[3], label="published two-step protocol (theory)")
    sizes = [round(alpha * DIM) for alpha in points]
    found = np.array([store.get(f"{n} samples", partial(fitted_errors, n)) for n in sizes])
    bars = found.std(axis=1, ddof=1) / np.sqrt(DRAWS)
    style: Any = {"fmt": MARKERS[0], "color": COLORS[0]}
    words = "SparseTokenClassifier (measured)"
    axes.errorbar(points, found.mean(axis=1), yerr=bars, label=words, **style)
    errors = [point.test_error for point in optimal(PROBLEM, line.tolist())]
    axes.plot(line, errors, color=best.color, label="best possible learner (theory)", zorder=1)
    axes.set_xscale("log")
    axes.set_yscale("log")
    plain_log(axes.xaxis)
    plain_log(axes.yaxis)
    title = "One of 20 tokens carries a weak signal"
    axes.set(title=title, xlabel="samples per dimension", ylabel="test error")
    axes.legend(loc="upper right")


def main(texts: Path, store: Path, picture: str = "docs/_static/readme.png") -> None:
    table = pd.read_csv(texts)
    number = int(np.flatnonzero(table["text"].str.startswith(COMMENT))[0])
    with styled():
        figure = Picture(figsize=(2 * COLUMN, 3.1), layout="constrained")
        panels: Any = [["words", "curves"], ["bars", "curves"]]
        axes = figure.subplot_mosaic(panels, height_ratios=(1, 4))
        draw_words(axes["words"], Texts(table), number, table["text"][number])
        draw_bars(axes["bars"], store)
        draw_learners(axes["curves"], Kept(store.with_suffix(".curve.jsonl")))
    save_picture(figure, picture)


if __name__ == "__main__":
    run(main)
