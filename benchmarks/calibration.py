"""How near the learned threshold is to the best one, and how right probabilities are.

``python -m benchmarks.calibration`` takes about ten minutes: 24 simulated settings, twelve families
with 10 to 50 % positives and 40 to 300 samples, ``--repeats`` training sets each, judged on 8,000
new sequences. The best threshold is found on one half of them and counts on the other, so that
finding it is no advantage. The first twelve settings are for choosing a form of the classifiers by,
the others for reporting.

With ``--data FOLDER`` also the held-out bags of the sets of ``benchmarks.bags``, whose ``--store``
it shares; with ``--repeats 0`` only these.
"""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from benchmarks.bags import FOLDS, fit_all, folds_of
from benchmarks.families import SIMULATED, STORED, Labels, Simulated, bag_sets, generator
from benchmarks.peers import MODELS
from benchmarks.report import Kept, Table, plus_minus, run

Floats = NDArray[np.float64]
SETTINGS = {
    "for choosing": ("heavy", "strengths", "mislabelled", "majority", "dense", "either"),
    "for reporting": ("bursts", "scales", "weak", "unequal", "drifting", "variance"),
}
RATES = (0.1, 0.2, 0.3, 0.5, 0.1, 0.2, 0.3, 0.5, 0.1, 0.2, 0.3, 0.5)
SIZES = (40, 80, 150, 300, 80, 150, 300, 150, 300, 40, 40, 80)
TESTED = 8000


def draw(family: Simulated, n: int, rate: float, rng: np.random.Generator) -> tuple[Any, Labels]:
    """Return ``n`` sequences, of which a fraction ``rate`` is positive."""
    X, y = family.sample(2 * n, rng)
    counts = n - round(rate * n), round(rate * n)
    rows = [np.flatnonzero(y == label)[:count] for label, count in enumerate(counts)]
    order = rng.permutation(np.concatenate(rows))
    return X[order], y[order]


def best_on_other_half(scores: Floats, y: Labels) -> float:
    """Return the accuracy at the threshold that is best for the other half of the samples."""
    halves = [(scores[first::2], y[first::2]) for first in (0, 1)]
    accuracies = []
    for (known, labels), (others, truth) in (halves, halves[::-1]):
        order = np.argsort(known)
        right = np.cumsum(np.where(labels[order] == 1, -1, 1))
        place = int(right.argmax())
        threshold = known[order[place]] if right[place] > 0 else -np.inf
        accuracies.append(np.mean((others > threshold) == truth))
    return float(np.mean(accuracies))


def judge(scores: Floats, y: Labels) -> list[float]:
    """Return accuracy, that at the best threshold, and calibration error in bins of equal size."""
    chance = expit(scores)
    bins = np.array_split(np.argsort(chance, kind="stable"), 10)
    off = sum(len(rows) * abs(chance[rows].mean() - y[rows].mean()) for rows in bins) / len(y)
    return [float(np.mean((scores > 0) == y)), best_on_other_half(scores, y), float(off)]


Judged = list[list[float]]
"""Of several fits."""


def judge_simulated(name: str, rate: float, size: int, model: str, repeats: int) -> Judged:
    judged = []
    for index in range(repeats):
        rng = generator(name, rate, size, index)
        X, y = draw(SIMULATED[name], size, rate, rng)
        X_new, y_new = draw(SIMULATED[name], TESTED, rate, rng)
        scores = MODELS[model]().fit(X, y).decision_function(X_new)
        judged.append(judge(scores, y_new))
    return judged


def judge_bags(name: str, X: Any, y: Labels, model: str, seeds: int, store: Kept) -> Judged:
    """Return what was seen of all bags, each when it was held out, in each round of ten folds."""
    fits = fit_all(name, X, y, model, seeds, store)
    tests = [test for _, _, test in folds_of(y, seeds)]
    judged = []
    for first in range(0, len(fits), FOLDS):
        scores = np.concatenate([scores for *_, scores in fits[first : first + FOLDS]])
        labels = y[np.concatenate(tests[first : first + FOLDS])]
        judged.append(judge(scores, labels))
    return judged


def row(judged: Judged) -> list[Any]:
    right, best, off = np.array(judged).T
    return [right.mean(), best.mean(), plus_minus(best - right), off.mean()]


def summary(name: str, settings: list[Judged]) -> str:
    """Return gap and calibration error, averaged over settings."""
    right, best, off = np.array([np.mean(judged, axis=0) for judged in settings]).T
    gaps = best - right
    mean = plus_minus(gaps, form=".4f")
    return f"{name}: gap {mean}, largest {gaps.max():.3f}; off {off.mean():.3f}"


def main(
    *,
    model: str = "sparsetoken",
    repeats: int = 8,
    data: Path | None = None,
    seeds: int = 5,
    store: Path | None = None,
) -> None:
    table = Table("set:14", "positive:8.0%", "n:5d", "accuracy:9.3f", "at the best:11.3f",
                  "gap ± s.e.:13s", "off:6.3f")  # fmt: skip
    summaries = []
    for part, names in SETTINGS.items() if repeats else ():
        judged = []
        for setting in zip(names + names, RATES, SIZES, strict=True):
            judged.append(judge_simulated(*setting, model, repeats))
            table.add(*setting, *row(judged[-1]))
        summaries.append(summary(part, judged))
    if data is not None:
        judged = []
        for name, (X, y) in bag_sets(data, ["needle", *STORED]).items():
            judged.append(judge_bags(name, X, y, model, seeds, Kept(store)))
            table.add(name, float(y.mean()), len(y), *row(judged[-1]))
        summaries.append(summary("development sets", judged))
    print("\n".join(summaries))


if __name__ == "__main__":
    run(main)
