"""What a report shows, computed: honest scores, and what follows from them."""

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm
from sklearn.base import clone
from sklearn.metrics import roc_auc_score, roc_curve
from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold

from sparsetoken.estimators import Sequences
from sparsetoken.estimators.sequences import as_sequences

__all__ = ["Evidence", "Rate", "Shown", "gather"]

Floats = NDArray[np.float64]

_FOLDS = 5
_BINS = 6
_SHOWN = 4  # sequences of each kind


class Rate(NamedTuple):
    """A fraction with its 95 % interval (Wilson's)."""

    value: float
    low: float
    high: float
    count: int

    @classmethod
    def of(cls, hits: NDArray[np.bool_]) -> "Rate":
        """Return the fraction of hits."""
        n = int(hits.size)
        if n == 0:
            return cls(math.nan, 0.0, 1.0, 0)
        z = float(norm.ppf(0.975))
        p = float(hits.mean())
        centre = (p + z * z / (2 * n)) / (1 + z * z / n)
        half = z / (1 + z * z / n) * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
        return cls(p, max(centre - half, 0.0), min(centre + half, 1.0), n)

    def __str__(self) -> str:
        return f"{self.value:.1%} ({self.low:.1%} to {self.high:.1%})"


class Shown(NamedTuple):
    """A sequence worth a look."""

    name: str
    label: str
    predicted: str
    probability: float
    weights: Floats
    contributions: Floats


class Step(NamedTuple):
    """One bin of a curve: where it lies, and the observed rate there."""

    x: float
    rate: Rate


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
    accuracy: Rate
    majority: float
    auc: dict[str, float]
    """By class; of two classes, the second alone."""
    roc: dict[str, tuple[Floats, Floats]]
    confusion: NDArray[np.int64]
    fpr: float
    recall: Rate | None
    """Of two classes: recall at the threshold that holds ``fpr``, and what it held."""
    alarms: Rate | None
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
    curves = _curves(labels, classes, probability)
    recall, alarms = _at_rate(labels, classes, probability, fpr)
    sure = np.argsort(-probability.max(axis=1), kind="stable")
    describe = _describer(classifier, sequences, labels, predicted, probability)
    lengths = np.diff(sequences.offsets)
    return Evidence(
        classifier=type(classifier).__name__,
        classes={name: int((labels == c).sum()) for name, c in zip(shown, classes, strict=True)},
        n_tokens=(int(lengths.min()), int(np.median(lengths)), int(lengths.max())),
        dim=sequences.dim,
        how=how,
        accuracy=Rate.of(correct),
        majority=max(float((labels == c).mean()) for c in classes),
        auc={name: area for name, (_, _, area) in curves.items()},
        roc={name: (false, true) for name, (false, true, _) in curves.items()},
        confusion=np.array(
            [[int(((labels == a) & (predicted == b)).sum()) for b in classes] for a in classes]
        ),
        fpr=fpr,
        recall=recall,
        alarms=alarms,
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
    known = getattr(classifier, "fingerprints_", None)
    seen = int(np.isin(X.fingerprints(), known).sum()) if known is not None else 0
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


def _curves(
    y: NDArray[Any], classes: NDArray[Any], probability: Floats
) -> dict[str, tuple[Floats, Floats, float]]:
    chosen = [1] if len(classes) == 2 else range(len(classes))
    found = {}
    for k in chosen:
        positive = y == classes[k]
        if positive.all() or not positive.any():
            continue
        false, true, _ = roc_curve(positive, probability[:, k])
        area = float(roc_auc_score(positive, probability[:, k]))
        found[str(classes[k])] = (false, true, area)
    return found


def _at_rate(
    y: NDArray[Any], classes: NDArray[Any], probability: Floats, fpr: float
) -> tuple[Rate | None, Rate | None]:
    if len(classes) != 2 or np.unique(y).size < 2:
        return None, None
    score, positive = probability[:, 1], y == classes[1]
    negatives = np.sort(score[~positive])[::-1]
    allowed = int(math.floor(fpr * len(negatives)))
    threshold = negatives[min(allowed, len(negatives) - 1)]
    return Rate.of(score[positive] > threshold), Rate.of(score[~positive] > threshold)


def _binned(x: Floats, hits: NDArray[np.bool_]) -> list[Step]:
    """Return the rate of hits in bins of about equal size."""
    edges = np.unique(np.quantile(x, np.linspace(0.0, 1.0, _BINS + 1)))
    if len(edges) < 2:
        return [Step(float(x[0]), Rate.of(hits))]
    which = np.clip(np.searchsorted(edges, x, side="right") - 1, 0, len(edges) - 2)
    return [
        Step(float(x[which == k].mean()), Rate.of(hits[which == k]))
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
        chance = float(probability[i].max())
        return Shown(str(names[i]), str(y[i]), str(predicted[i]), chance, weights, contributions)

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
