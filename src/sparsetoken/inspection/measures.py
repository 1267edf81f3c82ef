"""How good predictions on held-out sequences are, with 95 % intervals."""

from typing import NamedTuple

import numpy as np
from sklearn.model_selection import StratifiedGroupKFold, train_test_split

from sparsetoken._types import Array, Bools, Floats, Indices
from sparsetoken.estimators.folds import auc_influence

NORMAL_95 = 1.959963984540054
_RESAMPLES = 1000


class Measure(NamedTuple):
    """A measure of predictions, and where it lies in 95 % of studies like this one."""

    name: str
    value: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.value:.3f} ({self.low:.3f}…{self.high:.3f})"


def hold_out(
    labels: Array, groups: Array | None, fraction: float, random_state: int
) -> tuple[Indices, Indices]:
    """Return the sequences to fit and the fraction to judge by, with the same mix of classes.

    No group is on both sides.
    """
    rows, classes = np.arange(len(labels)), np.unique(labels)
    if groups is None:
        if np.unique(labels, return_counts=True)[1].min() < 2:
            raise ValueError("a class has one sequence only, too few to hold any out")
        kept, tested = train_test_split(
            rows, test_size=fraction, stratify=labels, random_state=random_state
        )
        return kept, tested
    folds, n_groups = round(1.0 / min(fraction, 1.0 - fraction)), len(np.unique(groups))
    if n_groups < folds:
        raise ValueError(f"{n_groups} groups are too few to hold {fraction:g} of them out")
    splitter = StratifiedGroupKFold(folds, shuffle=True, random_state=random_state)
    kept, tested = next(splitter.split(rows, labels, groups))
    if any(len(np.unique(labels[side])) < len(classes) for side in (kept, tested)):
        raise ValueError("the groups cannot be split so that both parts have all classes")
    return (tested, kept) if fraction > 0.5 else (kept, tested)


def judge(
    labels: Array, predicted: Array, scores: Floats, classes: Array, fpr: float = 0.01
) -> list[Measure]:
    """Return accuracy, AUC, and recall at a false-positive rate, given what a classifier says.

    With more than two classes, AUC and recall are of each class against the others. Recall is left
    out with fewer than ``1 / fpr`` negatives, which cannot tell it.
    """
    measures = [fraction("accuracy", labels == predicted)]
    columns = scores.reshape(len(labels), -1)
    for c, (name, is_class) in enumerate(each_class(labels, classes)):
        of_class = f" of {name}" if len(classes) > 2 else ""
        positive, negative = columns[is_class, c], columns[~is_class, c]
        fewest = min(len(positive), len(negative))
        if fewest == 0:
            continue
        signs = np.where(is_class, 1.0, -1.0)[:, np.newaxis]
        auc = auc_influence(columns[:, [c]], signs)
        measures.append(auc_measure(f"AUC{of_class}", *auc, fewest))
        if len(negative) >= 1.0 / fpr:
            measures.append(_recall(_recall_name(of_class, fpr), positive, negative, fpr))
    return measures


def why_no_recall(labels: Array, classes: Array, fpr: float) -> str:
    """Say why :func:`judge` leaves recall out; "" if it does not."""
    negatives = {name: int((~is_class).sum()) for name, is_class in each_class(labels, classes)}
    few = {name: count for name, count in negatives.items() if count < 1.0 / fpr}
    if not few:
        return ""
    of_class, others = f" of {', '.join(few)}", "other classes"
    if len(classes) == 2:
        of_class, others = "", "the other class"
    return (
        f"No {_recall_name(of_class, fpr)}: that takes {np.ceil(1.0 / fpr):g} sequences of "
        f"{others}, not {max(few.values())}."
    )


def each_class(labels: Array, classes: Array) -> list[tuple[str, Bools]]:
    """Return the name of each class, the second alone of two, and which samples are of it."""
    return [(str(c), labels == c) for c in (classes[1:] if len(classes) == 2 else classes)]


def _recall_name(of_class: str, fpr: float) -> str:
    return f"recall{of_class} at {100 * fpr:g} % false positives"


def _wilson(rate: float, count: float) -> tuple[float, float]:
    """Return Wilson's interval of a rate of hits among ``count`` trials."""
    center = rate + NORMAL_95**2 / (2 * count)
    half = NORMAL_95 * np.sqrt(rate * (1 - rate) / count + NORMAL_95**2 / (4 * count**2))
    scale = 1 + NORMAL_95**2 / count
    return max(0.0, float(center - half) / scale), min(1.0, float(center + half) / scale)


def fraction(name: str, hits: Bools) -> Measure:
    """Return the fraction of hits."""
    return Measure(name, float(hits.mean()), *_wilson(float(hits.mean()), len(hits)))


def auc_measure(name: str, auc: float, influence: Floats, fewest: float) -> Measure:
    """Return an AUC with its interval.

    Wilson's interval for that variance stays within [0, 1]. Where the variance cannot be estimated,
    at an AUC of 0 or 1 say, ``fewest`` counts, the size of the smallest class.
    """
    count, variance = float(fewest), float(influence @ influence)
    if variance > 0.0:
        count = min(max(auc * (1 - auc) / variance, 1.0), float(len(influence)))
    return Measure(name, auc, *_wilson(auc, count))


def _recall(name: str, positive: Floats, negative: Floats, fpr: float) -> Measure:
    """Return the fraction of positives above the threshold that the negatives set.

    The interval holds both sources of chance: it is the union of Wilson's, for the positives, and
    of what resampling both classes gives.
    """
    rng = np.random.default_rng(0)
    recall = _recall_of(positive, negative, fpr)
    draws = [
        _recall_of(rng.choice(positive, len(positive)), rng.choice(negative, len(negative)), fpr)
        for _ in range(_RESAMPLES)
    ]
    low, high = np.quantile(draws, [0.025, 0.975])
    least, most = _wilson(recall, len(positive))
    return Measure(name, recall, min(float(low), least), max(float(high), most))


def _recall_of(positive: Floats, negative: Floats, fpr: float) -> float:
    place = len(negative) - 1 - int(fpr * len(negative) + 1e-9)
    return float((positive > np.partition(negative, place)[place]).mean())
