"""What a report shows, computed: scores of sequences that training did not see, and the rest."""

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.metrics import confusion_matrix, roc_curve
from sklearn.utils.validation import has_fit_parameter

from sparsetoken import planner
from sparsetoken._types import Array, Bools, Floats, Indices
from sparsetoken.estimators import Sequences
from sparsetoken.estimators.folds import check_groups, natural_order, split
from sparsetoken.inspection.diagnose import diagnose
from sparsetoken.inspection.measures import Measure, fraction, judge, why_no_recall
from sparsetoken.sequences.data import MemoryData
from sparsetoken.sequences.fingerprints import seen_in_fit
from sparsetoken.sequences.sequences import as_sequences

_FOLDS = 5
_BINS = 6
_SHOWN = 4  # sequences of each kind
_ENOUGH_NEW = 10  # sequences of each class: the model is judged by these, without refits


class Shown(NamedTuple):
    """A sequence worth a look."""

    name: str
    label: str
    predicted: str
    probability: float
    weights: Floats
    """Attention on each token; empty for a model that does not explain itself."""
    contributions: Floats
    """What each token adds to the score of the predicted class."""


class Judged(NamedTuple):
    """Sequences with scores that training did not see."""

    rows: Indices
    """Which of the report's sequences they are."""
    scores: Floats
    """As ``decision_function`` gives them."""
    probability: Floats
    n_refits: int
    """How many fits gave the scores; 0 if it was the model itself."""
    how: str
    """Where the scores come from, in a sentence."""


class Step(NamedTuple):
    """One bin of a curve: where it lies, and the fraction observed there."""

    x: float
    fraction: Measure


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
    """Score the sequences by fits that did not see them, and collect what the page shows."""
    X, y, classes = as_sequences(X), np.asarray(y), classifier.classes_
    judged = _judged(classifier, X, y, groups, random_state)
    sequences, labels = X[judged.rows], y[judged.rows]
    predicted, probability = classes[judged.probability.argmax(axis=1)], judged.probability.max(1)
    correct = predicted == labels
    surest = np.argsort(-probability, kind="stable")
    lengths = sequences.lengths
    target = error if error is not None else max(0.5 * float((~correct).mean()), 0.005)
    pilot: Any = {"error": target, "groups": groups, "random_state": random_state}
    pilot["estimator"] = clone(classifier)

    def show(rows: Indices) -> list[Shown]:
        shown = [(i, labels[i], predicted[i], probability[i]) for i in rows[:_SHOWN]]
        return [_describe(classifier, sequences, *one) for one in shown]

    return Evidence(
        classifier=type(classifier).__name__,
        classes={str(c): int((labels == c).sum()) for c in classes},
        n_tokens=(int(lengths.min()), int(np.median(lengths)), int(lengths.max())),
        dim=sequences.dim,
        n_refits=judged.n_refits,
        how=judged.how,
        measures=judge(labels, predicted, judged.scores, classes, fpr),
        no_recall=why_no_recall(labels, classes, fpr),
        majority=max(float((labels == c).mean()) for c in classes),
        roc=_roc(labels, classes, judged.scores),
        confusion=confusion_matrix(labels, predicted, labels=classes),
        calibration=_binned(probability, correct),
        by_length=_binned(lengths.astype(float), ~correct),
        members=dict(getattr(classifier, "members_", {})),
        findings=_findings(classifier, sequences, labels, judged, plan),
        right=show(surest[correct[surest]]),
        wrong=show(surest[~correct[surest]]),
        plan=None if not plan else planner.plan.from_pilot(X, y, **pilot),
    )


def _judged(classifier: Any, X: Sequences, y: Array, groups: Any, random_state: int) -> Judged:
    """Score new sequences by the model; if there are too few, all of them by refits."""
    seen = seen_in_fit(classifier, X)
    n_seen, new = int(seen.sum()), np.flatnonzero(~seen)
    fewest = min(int((y[new] == c).sum()) for c in np.unique(y))
    if n_seen and fewest < _ENOUGH_NEW:
        return _refitted(classifier, X, y, groups, random_state, n_seen)
    how = f"None of these {len(X)} sequences was used for training: the model scored them as it is."
    if n_seen:
        how = (
            f"{n_seen} of {len(X)} sequences were used for training and are left out: the model "
            f"scored the other {len(new)} as it is."
        )
    return Judged(
        new, classifier.decision_function(X[new]), classifier.predict_proba(X[new]), 0, how
    )


def _refitted(
    classifier: Any, X: Sequences, y: Array, groups: Any, random_state: int, n_seen: int
) -> Judged:
    index = np.searchsorted(classifier.classes_, y)
    groups = check_groups(groups, len(y))
    order = natural_order(MemoryData(X))
    rng = np.random.default_rng(random_state)
    folds = split(_FOLDS, index, np.ones(len(y)), groups, order, rng)
    if not folds or len(np.unique(index)) < len(classifier.classes_):
        unit = "sequences" if groups is None else "groups"
        raise ValueError(
            f"X was used for training, and y has too few {unit} of a class for a fit without a "
            f"part of them: pass sequences that were not used for training, {_ENOUGH_NEW} of each "
            "class"
        )
    takes_groups = groups is not None and has_fit_parameter(classifier, "groups")
    probability = np.empty((len(y), len(classifier.classes_)))
    scores = np.empty(probability.shape if len(classifier.classes_) > 2 else len(y))
    for rows, held_out in folds:
        options = {"groups": groups[rows]} if takes_groups else {}
        refit = clone(classifier).fit(X[rows], y[rows], **options)
        scores[held_out] = refit.decision_function(X[held_out])
        probability[held_out] = refit.predict_proba(X[held_out])
    kept = "" if groups is None else ", groups kept together"
    how = (
        f"{n_seen} of these {len(X)} sequences were used for training, so the scores come from "
        f"{len(folds)} refits, each judged on sequences it did not see{kept}."
    )
    return Judged(np.arange(len(y)), scores, probability, len(folds), how)


def _roc(y: Array, classes: Array, scores: Floats) -> dict[str, tuple[Floats, Floats]]:
    names = classes[1:] if len(classes) == 2 else classes
    columns = scores.reshape(len(y), -1).T
    return {
        str(name): roc_curve(y == name, column)[:2]
        for name, column in zip(names, columns, strict=True)
        if 0 < (y == name).sum() < len(y)
    }


def _binned(x: Floats, hits: Bools) -> list[Step]:
    """Return the rate of hits in bins of about equal size."""
    edges = np.unique(np.quantile(x, np.linspace(0.0, 1.0, _BINS + 1)))
    which = np.searchsorted(edges[1:-1], x, side="right")
    return [
        Step(float(x[which == k].mean()), fraction("", hits[which == k])) for k in np.unique(which)
    ]


def _findings(classifier: Any, X: Sequences, y: Array, judged: Judged, plan: bool) -> list[str]:
    """Return the diagnosis line by line; what more samples bring is left to the plan, if any."""
    if not hasattr(classifier, "diagnose"):
        return []
    index = np.searchsorted(classifier.classes_, y)
    if np.bincount(index, minlength=len(classifier.classes_)).min() < 2:
        return ["A diagnosis needs two sequences of each class."]
    refitted = judged.scores if judged.n_refits else None
    diagnosis = diagnose(classifier, MemoryData(X), index, refitted)
    return str(replace(diagnosis, more_samples=None) if plan else diagnosis).splitlines()


def _describe(
    classifier: Any, X: Sequences, i: int, label: Any, predicted: Any, probability: float
) -> Shown:
    """Return a sequence with what its tokens say of the predicted class, if anything."""
    name = str(i if X.ids is None else X.ids[i])
    weights = contributions = np.empty(0)
    if hasattr(classifier, "explain"):
        (explanation,) = classifier.explain(X[[i]], top=int(X.lengths[i]), label=predicted)
        _, weights, contributions, *_ = explanation.by_position()
    return Shown(name, str(label), str(predicted), float(probability), weights, contributions)
