"""What a report shows, computed: honest scores, and what follows from them."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.metrics import confusion_matrix, roc_curve
from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold

from sparsetoken.estimators import Sequences
from sparsetoken.inspection.measures import Measure, fraction, judge
from sparsetoken.sequences.fingerprints import seen_in_fit
from sparsetoken.sequences.sequences import as_sequences

__all__ = ["Evidence", "Shown", "gather"]

Floats = NDArray[np.float64]

_FOLDS = 5
_BINS = 6
_SHOWN = 4  # sequences of each kind


class Shown(NamedTuple):
    """A sequence worth a look."""

    name: str
    label: str
    predicted: str
    probability: float
    weights: Floats
    contributions: Floats
    """What each token adds to the score of the predicted class."""


class Step(NamedTuple):
    """One bin of a curve: where it lies, and the fraction observed there."""

    x: float
    fraction: Measure


@dataclass(frozen=True)
class Evidence:
    """Everything on the page, as plain numbers."""

    classifier: str
    classes: dict[str, int]
    n_tokens: tuple[int, int, int]
    """Shortest, median and longest sequence."""
    dim: int
    how: str
    """Where the held-out scores come from, in a sentence."""
    measures: list[Measure]
    """Accuracy, AUC, and recall at the false-positive rate, with intervals."""
    majority: float
    """Accuracy of always predicting the commonest class."""
    roc: dict[str, tuple[Floats, Floats]]
    """By class; of two classes, of the second alone."""
    confusion: NDArray[np.int64]
    calibration: list[Step]
    by_length: list[Step]
    members: dict[str, float]
    findings: list[str]
    right: list[Shown]
    wrong: list[Shown]
    plan: Any
    """A plan from this data as a pilot, or None."""


def gather(
    classifier: Any,
    X: Any,
    y: Any,
    *,
    groups: Any = None,
    fpr: float = 0.01,
    error: float | None = None,
    plan: bool = True,
    random_state: int = 0,
) -> Evidence:
    """Score the sequences honestly and collect what the page shows."""
    sequences = as_sequences(X)
    labels = np.asarray(y)
    classes = classifier.classes_
    probability, how = _honest(classifier, sequences, labels, groups, random_state)
    predicted = classes[probability.argmax(axis=1)]
    correct = predicted == labels
    shown = [str(name) for name in classes]
    two = len(classes) == 2
    measures = judge(labels, predicted, probability[:, 1] if two else probability, classes, fpr)
    sure = np.argsort(-probability.max(axis=1), kind="stable")
    describe = _describer(classifier, sequences, labels, predicted, probability)
    lengths = np.diff(sequences.offsets)
    return Evidence(
        classifier=type(classifier).__name__,
        classes={name: int((labels == c).sum()) for name, c in zip(shown, classes, strict=True)},
        n_tokens=(int(lengths.min()), int(np.median(lengths)), int(lengths.max())),
        dim=sequences.dim,
        how=how,
        measures=measures,
        majority=max(float((labels == c).mean()) for c in classes),
        roc=_roc(labels, classes, probability),
        confusion=confusion_matrix(labels, predicted, labels=classes),
        calibration=_binned(probability.max(axis=1), correct),
        by_length=_binned(lengths.astype(float), ~correct),
        members=dict(getattr(classifier, "members_", {})),
        findings=_findings(classifier, sequences, labels),
        right=[describe(i) for i in sure[correct[sure]][:_SHOWN]],
        wrong=[describe(i) for i in sure[~correct[sure]][:_SHOWN]],
        plan=_planned(classifier, sequences, labels, groups, error, correct, random_state)
        if plan
        else None,
    )


def _honest(
    classifier: Any, X: Sequences, y: NDArray[Any], groups: Any, random_state: int
) -> tuple[Floats, str]:
    """Return probabilities that the training did not see, and how they were had."""
    seen = int(seen_in_fit(classifier, X).sum())
    if seen == 0:
        return classifier.predict_proba(X), (
            f"None of these {len(X)} sequences was used for training: the model scored them as "
            "it is."
        )
    folds = min(_FOLDS, *(int((y == c).sum()) for c in classifier.classes_))
    if folds < 2:
        raise ValueError("y must have at least two sequences of each class for a fair report")
    kind = StratifiedKFold if groups is None else StratifiedGroupKFold
    split = kind(folds, shuffle=True, random_state=random_state).split(np.zeros(len(y)), y, groups)
    found = np.full((len(y), len(classifier.classes_)), np.nan)
    for rows, held_out in split:
        found[held_out] = clone(classifier).fit(X[rows], y[rows]).predict_proba(X[held_out])
    kept = "" if groups is None else ", groups kept together"
    return found, (
        f"{seen} of these {len(X)} sequences were used for training, so the scores come from "
        f"{folds} refits, each judged on sequences it did not see{kept}."
    )


def _roc(
    y: NDArray[Any], classes: NDArray[Any], probability: Floats
) -> dict[str, tuple[Floats, Floats]]:
    chosen = [1] if len(classes) == 2 else range(len(classes))
    return {
        str(classes[k]): roc_curve(y == classes[k], probability[:, k])[:2]
        for k in chosen
        if 0 < (y == classes[k]).sum() < len(y)
    }


def _binned(x: Floats, hits: NDArray[np.bool_]) -> list[Step]:
    """Return the rate of hits in bins of about equal size."""
    edges = np.unique(np.quantile(x, np.linspace(0.0, 1.0, _BINS + 1)))
    if len(edges) < 2:
        return [Step(float(x[0]), fraction("", hits))]
    which = np.clip(np.searchsorted(edges, x, side="right") - 1, 0, len(edges) - 2)
    return [
        Step(float(x[which == k].mean()), fraction("", hits[which == k]))
        for k in range(len(edges) - 1)
        if (which == k).any()
    ]


def _findings(classifier: Any, X: Sequences, y: NDArray[Any]) -> list[str]:
    if not hasattr(classifier, "diagnose"):
        return []
    return str(classifier.diagnose(X, y)).splitlines()


def _describer(
    classifier: Any, X: Sequences, y: NDArray[Any], predicted: NDArray[Any], probability: Floats
) -> Any:
    names = X.ids if X.ids is not None else np.arange(len(X))

    def describe(i: int) -> Shown:
        length = int(np.diff(X.offsets)[i])
        weights, contributions = np.zeros(length), np.zeros(length)
        if hasattr(classifier, "explain"):
            (found,) = classifier.explain(X[[i]], top=length)
            weights[found.tokens], contributions[found.tokens] = found.weights, found.contributions
            contributions *= 1.0 if found.label == predicted[i] else -1.0
        chance = float(probability[i].max())
        told = str(names[i]), str(y[i]), str(predicted[i])
        return Shown(*told, chance, weights, contributions)

    return describe


def _planned(
    classifier: Any,
    X: Sequences,
    y: NDArray[Any],
    groups: Any,
    error: float | None,
    correct: NDArray[np.bool_],
    random_state: int,
) -> Any:
    from sparsetoken.planner import plan

    target = error if error is not None else max(0.5 * float((~correct).mean()), 0.005)
    return plan.from_pilot(
        X, y, error=target, estimator=clone(classifier), groups=groups, random_state=random_state
    )
