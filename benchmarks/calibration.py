"""How near the learned threshold is to the best one, and how right probabilities are.

``python -m benchmarks.calibration`` takes about ten minutes: 24 simulated settings, twelve families
of ``pilot_truth`` with 10 to 50 % positives and 40 to 300 samples, eight training sets each. The
best threshold of a fit is found on one half of 8,000 new sequences and counts on the other half, so
that finding it is no advantage. The first twelve settings are for choosing a form of the
classifiers by, the others for reporting.

With ``--data FOLDER`` also the held-out bags of the sets of ``benchmarks.bags``, whose ``--store``
it shares. There the best threshold is that of the very bags it is judged on. ``by chance`` is what
that alone is worth: the gap for labels drawn with the predicted probabilities, when zero is best.
With ``--repeats 0`` only these sets.

Below is a table of predicted and observed frequencies in bins of the probability.
"""

import argparse
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from benchmarks.bags import (
    MODELS,
    STORED,
    best_accuracy,
    calibration_error,
    fit_all,
    folds_of,
    sets,
)
from benchmarks.pilot_truth import Simulated, families, generator
from benchmarks.report import Kept, Table, mean_and_error

Floats = NDArray[np.float64]
Labels = NDArray[np.int64]
FOR_CHOOSING = ("heavy", "strengths", "mislabelled", "majority", "dense", "either")
FOR_REPORTING = ("bursts", "scales", "weak", "unequal", "drifting", "variance")
RATES = (0.1, 0.2, 0.3, 0.5, 0.1, 0.2, 0.3, 0.5, 0.1, 0.2, 0.3, 0.5)
SIZES = (40, 80, 150, 300, 80, 150, 300, 150, 300, 40, 40, 80)
TESTED = 8000
EDGES = np.linspace(0.0, 1.0, 11)


class Setting(NamedTuple):
    """A family of sequences, the fraction of positives among them, and how many there are."""

    family: str
    rate: float
    size: int


def settings(names: tuple[str, ...]) -> list[Setting]:
    """Return two settings a family."""
    return [Setting(*one) for one in zip(names + names, RATES, SIZES, strict=True)]


def draw(family: Simulated, n: int, rate: float, rng: np.random.Generator) -> tuple[Any, Labels]:
    """Return ``n`` sequences, of which a fraction ``rate`` is positive."""
    X, y = family.pilot(2 * n, rng)
    n_positive = round(rate * n)
    rows = [
        np.flatnonzero(y == label)[:count]
        for label, count in enumerate((n - n_positive, n_positive))
    ]
    order = rng.permutation(np.concatenate(rows))
    return X[order], y[order]


class Judged(NamedTuple):
    """What one fit did on new sequences."""

    accuracy: float
    best: float
    off: float
    """Expected calibration error."""
    by_chance: float
    """What of the gap is due to a best threshold found on the same samples."""
    counts: Floats
    """For bins of the probability: sequences, their summed probability, and positives, (3, 10)."""


def judge(scores: Floats, y: Labels, best: float, by_chance: float = 0.0) -> Judged:
    chance = expit(scores)
    counts = [np.histogram(chance, EDGES, weights=w)[0] for w in (None, chance, y.astype(float))]
    off = calibration_error(chance, y)
    return Judged(accuracy(scores, y), best, off, by_chance, np.array(counts, dtype=float))


def accuracy(scores: Floats, y: Labels) -> float:
    return float(np.mean((scores > 0) == y))


def gap_by_chance(scores: Floats) -> float:
    """Return the gap that labels with the predicted probabilities have on average."""
    rng, gaps = np.random.default_rng(0), []
    for _ in range(100):
        y = (rng.random(len(scores)) < expit(scores)).astype(np.int64)
        gaps.append(best_accuracy(scores, y) - accuracy(scores, y))
    return float(np.mean(gaps))


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


def fit_and_judge(setting: Setting, family: Simulated, model: str, repeats: int) -> list[Judged]:
    judged = []
    for index in range(repeats):
        rng = generator(*setting, index)
        X, y = draw(family, setting.size, setting.rate, rng)
        X_new, y_new = draw(family, TESTED, setting.rate, rng)
        scores = MODELS[model]().fit(X, y).decision_function(X_new)
        judged.append(judge(scores, y_new, best_on_other_half(scores, y_new)))
    return judged


def judge_bags(name: str, X: Any, y: Labels, model: str, seeds: int, store: Kept) -> list[Judged]:
    """Return what was seen of all bags, each when it was held out, in each round of ten folds."""
    splits = list(folds_of(y, seeds))
    fits = fit_all(name, X, y, model, splits, store)
    judged = []
    for first in range(0, len(splits), 10):
        scores = np.concatenate([fit.scores for fit in fits[first : first + 10]])
        labels = np.concatenate([y[test] for _, _, test in splits[first : first + 10]])
        best = best_accuracy(scores, labels)
        judged.append(judge(scores, labels, best, gap_by_chance(scores)))
    return judged


COLUMNS = (
    *("set:14", "positive:8.0%", "n:5d", "accuracy:9.3f", "at the best:11.3f", "gap ± s.e.:13s"),
    *("by chance:9.3f", "off:6.3f"),
)


def row(name: str, rate: float, size: int, judged: list[Judged]) -> list[Any]:
    right, best, off, by_chance = np.array([one[:4] for one in judged]).T
    gap = "{:.3f} ± {:.3f}".format(*mean_and_error(best - right))
    return [name, rate, size, right.mean(), best.mean(), gap, by_chance.mean(), off.mean()]


def summary(name: str, settings: list[list[Judged]]) -> str:
    """Return gap and calibration error, averaged over settings, and reliability in bins."""
    means = np.array([np.mean([one[:4] for one in judged], axis=0) for judged in settings])
    gaps = means[:, 1] - means[:, 0]
    counts = sum(np.sum([one.counts for one in judged], axis=0) for judged in settings)
    n, predicted, positives = counts
    lines = [
        "\n{}: gap {:.4f} ± {:.4f}, ".format(name, *mean_and_error(gaps))
        + f"by chance {means[:, 3].mean():.4f}, largest {gaps.max():.3f}; "
        f"off {means[:, 2].mean():.3f}",
        "predicted " + " ".join(f"{value:.3f}" for value in predicted / n),
        "observed  " + " ".join(f"{value:.3f}" for value in positives / n),
        "fraction  " + " ".join(f"{value:.3f}" for value in n / n.sum()),
    ]
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", default="sparsetoken", help="one of benchmarks.bags")
    parser.add_argument("--repeats", type=int, default=8, help="training sets of a setting")
    parser.add_argument("--data", type=Path, help="folder with the sets of benchmarks.bags")
    parser.add_argument("--seeds", type=int, default=5, help="rounds of ten folds on these sets")
    parser.add_argument("--store", type=Path, help="file that keeps the result of every such fit")
    options = parser.parse_args()
    by_name = families(None)
    table = Table(*COLUMNS)
    summaries = []
    halves = {"for choosing": FOR_CHOOSING, "for reporting": FOR_REPORTING}
    for part, names in halves.items() if options.repeats else ():
        judged = []
        for setting in settings(names):
            family = by_name[setting.family]
            judged.append(fit_and_judge(setting, family, options.model, options.repeats))
            table.add(*row(*setting, judged[-1]))
        summaries.append(summary(part, judged))
    if options.data is not None:
        judged = []
        for name, X, y in sets(options.data, ["needle", *STORED]):
            store = Kept(options.store)
            judged.append(judge_bags(name, X, y, options.model, options.seeds, store))
            table.add(*row(name, float(y.mean()), len(y), judged[-1]))
        summaries.append(summary("development sets", judged))
    print("\n".join(summaries))


if __name__ == "__main__":
    main()
