"""Held-out errors of a classifier that is trained on parts of a pilot.

The pilot is cut into folds, a few times anew. The classifier is trained on one fold, on two
neighbouring ones, and so on, and tested on all the others; each fold takes its turn. So every
sequence is tested equally often at each size, and no group is on both sides.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold

from sparsetoken.planner.request import Progress, silent

__all__ = ["Observed", "observe"]

Array = NDArray[np.float64]

_FOLDS = 5


@dataclass(frozen=True, repr=False)
class Observed:
    """What was seen on the pilot. Arrays have an axis of sizes, one of trainings, one of sequences.

    NaN stands for a sequence that was trained on.
    """

    labels: NDArray[np.int64]
    """Class of each sequence, counted from 0."""
    sizes: Array
    """Mean number of sequences that were trained on, shape (sizes,)."""
    wrong: Array
    """1 for a wrong label, 0 for a right one."""
    scores: Array
    """Score in favour of the second class; all NaN where there are more than two classes."""

    @property
    def counts(self) -> NDArray[np.int64]:
        """Number of sequences of each class."""
        return np.bincount(self.labels)


def observe(
    estimator: Any,
    X: Any,
    y: NDArray[Any],
    *,
    groups: ArrayLike | None = None,
    repeats: int = 2,
    random_state: int = 0,
    progress: Progress = silent,
) -> Observed:
    """Train ``estimator`` on parts of the pilot and test it on the others."""
    labels = np.unique(y, return_inverse=True)[1]
    cuts = [_cut(labels, groups, random_state + repeat) for repeat in range(repeats)]
    n_folds = min(map(len, cuts))
    starts = [(folds, first) for folds in cuts for first in range(n_folds)]
    shape = (n_folds - 1, len(starts), labels.size)
    size, wrong, scores = np.zeros(shape[:2]), np.full(shape, np.nan), np.full(shape, np.nan)
    for step in range(n_folds - 1):
        for row, (folds, first) in enumerate(starts):
            progress(
                f"training {1 + step * len(starts) + row} of {size.size} on parts of the pilot"
            )
            turned = [*folds[first:], *folds[:first]]
            train, test = (
                np.concatenate(part) for part in (turned[: step + 1], turned[step + 1 :])
            )
            size[step, row] = train.size
            fitted = clone(estimator).fit(X[np.sort(train)], y[np.sort(train)])
            wrong[step, row, test] = fitted.predict(X[test]) != y[test]
            if labels.max() == 1:
                scores[step, row, test] = _score(fitted, X[test])
    return Observed(labels, size.mean(axis=1), wrong, scores)


def _cut(
    labels: NDArray[np.int64], groups: ArrayLike | None, random_state: int
) -> list[NDArray[np.int64]]:
    """Return the folds: stratified, and with no group in two of them."""
    n_folds = min(_FOLDS, int(np.bincount(labels).min()))
    if groups is None:
        cut = StratifiedKFold(n_folds, shuffle=True, random_state=random_state)
    else:
        cut = StratifiedGroupKFold(n_folds, shuffle=True, random_state=random_state)
    return [part for _, part in cut.split(labels, labels, groups)]


def _score(fitted: Any, X: Any) -> Array:
    if hasattr(fitted, "decision_function"):
        return np.asarray(fitted.decision_function(X), dtype=float)
    return np.asarray(fitted.predict_proba(X)[:, 1], dtype=float)
