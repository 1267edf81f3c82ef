"""Held-out errors of a classifier that is trained on parts of a pilot.

The pilot is cut into folds, a few times anew. The classifier is trained on one fold, on two
neighbouring ones, and so on, and tested on all the others; each fold takes its turn. So every
sequence is tested equally often at each size, and no group is on both sides.
"""

from collections.abc import Sequence
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
    seeds: Sequence[int] = (0, 1),
    progress: Progress = silent,
) -> Observed:
    """Train ``estimator`` on parts of the pilot and test it on the others.

    The pilot is cut anew with each of ``seeds``. A part that it cannot be trained on is left out,
    and so is a size at which some sequence was never tested. If nothing is left, ValueError says
    why.
    """
    labels = np.unique(y, return_inverse=True)[1]
    cuts = [_cut(labels, groups, seed) for seed in seeds]
    n_folds = len(cuts[0])
    starts = [(folds, first) for folds in cuts for first in range(n_folds)]
    shape = (n_folds - 1, len(starts), labels.size)
    size, wrong, scores = np.zeros(shape[:2]), np.full(shape, np.nan), np.full(shape, np.nan)
    reason: object = "each part has sequences of one class only"
    for step in range(n_folds - 1):
        for row, (folds, first) in enumerate(starts):
            count = step * len(starts) + row + 1
            progress(f"training {count} of {size.size} on parts of the pilot")
            turned = [*folds[first:], *folds[:first]]
            train = np.sort(np.concatenate(turned[: step + 1]))
            test = np.concatenate(turned[step + 1 :])
            size[step, row] = train.size
            if np.unique(labels[train]).size <= labels.max():
                continue
            try:
                fitted = clone(estimator).fit(X[train], y[train])
            except (ValueError, ArithmeticError, np.linalg.LinAlgError) as failure:
                reason = failure
                continue
            wrong[step, row, test] = fitted.predict(X[test]) != y[test]
            if labels.max() == 1:
                scores[step, row, test] = _score(fitted, X[test])
    tested = np.isfinite(wrong).any(axis=1).all(axis=1)
    if not tested.any():
        raise ValueError(f"X must have parts to train on and to test on: {reason}")
    return Observed(labels, size.mean(axis=1)[tested], wrong[tested], scores[tested])


def _cut(labels: NDArray[np.int64], groups: ArrayLike | None, seed: int) -> list[NDArray[np.int64]]:
    """Return the folds: stratified, and with no group in two of them."""
    n_folds = min(_FOLDS, int(np.bincount(labels).min()))
    if groups is None:
        cut = StratifiedKFold(n_folds, shuffle=True, random_state=seed)
    else:
        n_folds = min(n_folds, np.unique(groups).size)
        if n_folds < 2:
            raise ValueError("groups must be at least two, got one")
        cut = StratifiedGroupKFold(n_folds, shuffle=True, random_state=seed)
    return [part for _, part in cut.split(labels, labels, groups)]


def _score(fitted: Any, X: Any) -> Array:
    if hasattr(fitted, "decision_function"):
        return np.asarray(fitted.decision_function(X), dtype=float)
    return np.asarray(fitted.predict_proba(X)[:, 1], dtype=float)
