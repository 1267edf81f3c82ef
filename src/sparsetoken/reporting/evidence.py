"""What a report shows, computed: scores of sequences that training did not see, and the rest."""

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.metrics import confusion_matrix, roc_curve

from sparsetoken import planner
from sparsetoken._types import Array, Bools, Floats, Indices
from sparsetoken.estimators import Sequences
from sparsetoken.estimators.answers import Explanation
from sparsetoken.estimators.base import SequenceClassifier
from sparsetoken.estimators.folds import check_groups, held_out, natural_order, split
from sparsetoken.inspection.diagnosis import diagnose
from sparsetoken.inspection.measures import Measure, each_class, fraction, judge, why_no_recall
from sparsetoken.sequences.data import MemoryData
from sparsetoken.sequences.passes import seen_in_fit
from sparsetoken.sequences.sequences import as_sequences

_FOLDS = 5
_BINS = 6
_SHOWN = 4  # sequences of each kind
_ENOUGH_NEW = 10  # sequences of each class: the model is judged by these, without refits


class Shown(NamedTuple):
    """A sequence worth a look, explained for the class that is predicted for it."""

    name: str
    label: str
    probability: float
    explanation: Explanation
    """All tokens, by position."""


Steps = list[tuple[float, Measure]]
"""The bins of a curve: where each lies, and the fraction observed there."""


@dataclass(frozen=True)
class Evidence:
    """Everything on the page, as plain numbers."""

    classifier: str
    classes: dict[str, int]
    """Sequences of each class among those that judge."""
    n_tokens: tuple[int, int, int]
    """Shortest, median and longest sequence."""
    dim: int
    n_refits: int
    """How many fits gave the scores; 0 if it was the model itself."""
    how: str
    """Where the scores come from, in a sentence."""
    measures: list[Measure]
    """Accuracy, AUC, and recall at the false-positive rate, with intervals."""
    no_recall: str
    """Why recall is not among them, or ""."""
    majority: float
    """Accuracy of always predicting the commonest class."""
    roc: dict[str, tuple[Floats, Floats]]
    """By class; of two classes, of the second alone."""
    confusion: Indices
    calibration: Steps
    by_length: Steps
    members: dict[str, float]
    findings: list[str]
    right: list[Shown]
    wrong: list[Shown]
    plan: Any
    """A plan from this data as a pilot, or None."""


def gather(
    classifier: SequenceClassifier,
    X: Any,
    y: Any,
    *,
    groups: Any = None,
    fpr: float = 0.01,
    error: float | None = None,
    plan: bool = True,
    random_state: int = 0,
) -> Evidence:
    """Score the sequences by fits that did not see them, and collect what the page shows."""
    X, y, classes = as_sequences(X), np.asarray(y), classifier.classes_
    rows, scores, table, n_refits, how = _score(classifier, X, y, groups, random_state)
    sequences, labels = X[rows], y[rows]
    predicted, probability = classes[table.argmax(axis=1)], table.max(axis=1)
    correct = predicted == labels
    surest = np.argsort(-probability, kind="stable")
    lengths = sequences.lengths
    pilot = None
    if plan:
        target = error if error is not None else max(0.5 * float((~correct).mean()), 0.005)
        options: Any = {"error": target, "groups": groups, "random_state": random_state}
        pilot = planner.plan.from_pilot(X, y, estimator=clone(classifier), **options)

    def show(places: Indices) -> list[Shown]:
        shown = []
        for i in places[:_SHOWN]:
            name = rows[i] if X.ids is None else sequences.ids[i]  # as the caller counts
            (one,) = classifier.explain(sequences[[i]], int(lengths[i]), predicted[i])
            shown.append(Shown(str(name), str(labels[i]), probability[i], one.by_position()))
        return shown

    return Evidence(
        classifier=type(classifier).__name__,
        classes={str(c): int((labels == c).sum()) for c in classes},
        n_tokens=(int(lengths.min()), int(np.median(lengths)), int(lengths.max())),
        dim=sequences.dim,
        n_refits=n_refits,
        how=how,
        measures=judge(labels, predicted, scores, classes, fpr),
        no_recall=why_no_recall(labels, classes, fpr),
        majority=max(float((labels == c).mean()) for c in classes),
        roc=_roc(labels, classes, scores),
        confusion=confusion_matrix(labels, predicted, labels=classes),
        calibration=_binned(probability, correct),
        by_length=_binned(lengths.astype(float), ~correct),
        members=classifier.members_,
        findings=_findings(classifier, sequences, labels, scores if n_refits else None, plan),
        right=show(surest[correct[surest]]),
        wrong=show(surest[~correct[surest]]),
        plan=pilot,
    )


def _score(
    classifier: SequenceClassifier, X: Sequences, y: Array, groups: Any, random_state: int
) -> tuple[Indices, Floats, Floats, int, str]:
    """Score new sequences by the model; if there are too few, all of them by refits.

    Returns their rows, scores and probabilities, the number of refits, and a sentence about them.
    """
    methods = "decision_function", "predict_proba"
    seen = seen_in_fit(classifier, X)
    n_seen, new = int(seen.sum()), np.flatnonzero(~seen)
    if not n_seen or min(int((y[new] == c).sum()) for c in np.unique(y)) >= _ENOUGH_NEW:
        scores, table = (getattr(classifier, method)(X[new]) for method in methods)
        how = f"None of these {len(X)} sequences was used for training: the model scored them"
        if n_seen:
            how = (
                f"{n_seen} of {len(X)} sequences were used for training and are left out: the "
                f"model scored the other {len(new)}"
            )
        return new, scores, table, 0, f"{how} as it is."
    index, codes = np.searchsorted(classifier.classes_, y), check_groups(groups, len(y))
    rng = np.random.default_rng(random_state)
    folds = split(_FOLDS, index, np.ones(len(y)), codes, natural_order(MemoryData(X)), rng)
    if not folds or len(np.unique(index)) < len(classifier.classes_):
        units = "sequences" if codes is None else "groups"
        raise ValueError(
            f"X was used for training, and y has too few {units} of a class to refit without some: "
            f"pass sequences that were not used for training, {_ENOUGH_NEW} of each class"
        )
    scores, table = held_out(classifier, folds, X, y, codes, *methods)
    kept = "" if codes is None else ", groups kept together"
    how = (
        f"{n_seen} of these {len(X)} sequences were used for training, so the scores come from "
        f"{len(folds)} refits, each judged on sequences it did not see{kept}."
    )
    return np.arange(len(y)), scores, table, len(folds), how


def _roc(y: Array, classes: Array, scores: Floats) -> dict[str, tuple[Floats, Floats]]:
    columns = scores.reshape(len(y), -1).T
    return {
        name: roc_curve(is_class, column)[:2]
        for (name, is_class), column in zip(each_class(y, classes), columns, strict=True)
        if 0 < is_class.sum() < len(y)
    }


def _binned(x: Floats, hits: Bools) -> Steps:
    """Return the rate of hits in bins of about equal size."""
    edges = np.unique(np.quantile(x, np.linspace(0.0, 1.0, _BINS + 1)))
    which = np.searchsorted(edges[1:-1], x, side="right")
    return [(float(x[which == k].mean()), fraction("", hits[which == k])) for k in np.unique(which)]


def _findings(
    classifier: SequenceClassifier, X: Sequences, y: Array, refitted: Floats | None, plan: bool
) -> list[str]:
    """Return the diagnosis line by line; what more samples bring is left to the plan, if any."""
    index = np.searchsorted(classifier.classes_, y)
    if np.bincount(index, minlength=len(classifier.classes_)).min() < 2:
        return ["A diagnosis needs two sequences of each class."]
    diagnosis = diagnose(classifier, MemoryData(X), index, refitted)
    return str(replace(diagnosis, more_samples=None) if plan else diagnosis).splitlines()
