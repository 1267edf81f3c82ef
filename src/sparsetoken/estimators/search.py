"""Folds of samples, and the scores that fits to the others give to those held out."""

from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold, check_cv

from sparsetoken._validation import check_count
from sparsetoken.estimators.head_passes import Heads
from sparsetoken.estimators.heads import Candidate, Job, fit_heads, score_heads
from sparsetoken.estimators.standardize import Standard
from sparsetoken.sequences.data import Data

__all__ = ["Fold", "Search", "check_groups", "cross_fit", "halves", "split", "tuning_rows"]

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]

_ENOUGH_NUMBERS = 2**22  # numbers in the tokens that the choice is made on, or
_ENOUGH_SEQUENCES = 2000  # so many sequences, if these fit into
_MOST_NUMBERS = 2**25
_ENOUGH_OF_A_CLASS = 100


class Fold(NamedTuple):
    """The samples of a fit and those that judge it."""

    rows: Indices
    held_out: Indices


class Search(NamedTuple):
    """Heads of all candidates, and what fits without a fold say about it."""

    heads: Heads
    """Fitted to all samples: a column for each candidate and class, classes running faster."""
    fold_heads: list[Heads]
    """The same, fitted without each fold."""
    scores: Floats
    """(candidates, n, classes): from fits without the sample; NaN if it was never held out."""


def split(
    cv: Any, index: Indices, share: Floats, groups: Any, rng: np.random.Generator
) -> list[Fold]:
    """Return the folds: none if a class has too few samples, or groups, to hold any out."""
    n_classes = int(index.max()) + 1
    if not isinstance(cv, Integral):
        folds = [Fold(*fold) for fold in check_cv(cv).split(index, index, groups)]
        if any(_misses_a_class(fold, index, share, n_classes) for fold in folds):
            raise ValueError("cv must leave samples of every class to every fit")
        return folds
    units = np.arange(len(index)) if groups is None else groups
    used = [np.unique(units[(index == c) & (share > 0)]).size for c in range(n_classes)]
    most = min(check_count("cv", cv, minimum=2), *used)
    kind = StratifiedKFold if groups is None else StratifiedGroupKFold
    seed = int(rng.integers(2**31))
    for count in range(most, 1, -1):  # groups may crowd a class into too few folds
        splitter = kind(count, shuffle=True, random_state=seed)
        folds = [Fold(*fold) for fold in splitter.split(index, index, groups)]
        if not any(_misses_a_class(fold, index, share, n_classes) for fold in folds):
            return folds
    return []


def check_groups(groups: Any, n_samples: int) -> Any:
    """Return ``groups`` as integers, or None."""
    if groups is None:
        return None
    groups = np.asarray(groups)
    if groups.shape != (n_samples,):
        raise ValueError(
            f"groups must have shape ({n_samples},), one per sequence, got {groups.shape}"
        )
    return np.unique(groups, return_inverse=True)[1]


def tuning_rows(data: Data, index: Indices, rng: np.random.Generator) -> tuple[Indices, Floats]:
    """Return the samples that the choice is made on, and how many each of them stands for.

    They are all samples, unless there are very many. Of a rare class more than its share are
    chosen: without them nothing could be said about it.
    """
    n_samples, each = len(data), data.size / len(data)
    most = min(_MOST_NUMBERS, data.size / 5)
    numbers = max(_ENOUGH_NUMBERS, min(_ENOUGH_SEQUENCES * each, most))
    if numbers >= data.size and data.size <= data.room:
        return np.arange(n_samples), np.ones(n_samples)
    counts = np.bincount(index)
    least = int(min(_ENOUGH_OF_A_CLASS, data.room / each / len(counts)))
    if least < 2:
        raise ValueError(
            f"memory_limit must hold some sequences of each class, of {each:g} numbers on average; "
            f"got room for {int(data.room)} numbers"
        )
    part = min(numbers, data.room) / data.size
    chosen = np.maximum((part * counts).astype(int), np.minimum(counts, least))
    found = [
        rng.choice(np.flatnonzero(index == c), chosen[c], replace=False) for c in range(len(counts))
    ]
    rows = np.sort(np.concatenate(found))
    return rows, (counts / np.maximum(chosen, 1))[index[rows]]


def cross_fit(
    data: Data,
    signs: Floats,
    share: Floats,
    standard: Standard,
    candidates: list[Candidate],
    folds: list[Fold],
    steps: int,
) -> Search:
    """Fit every candidate and class to all samples and without each fold, all of them together.

    A held-out sample has share zero in the fit, so that no fold copies any tokens.
    """
    n_classes, n_fits = signs.shape[1], len(folds) + 1
    shares = np.zeros((len(share), n_fits))
    shares[:, 0] = share
    for number, fold in enumerate(folds, start=1):
        shares[fold.rows, number] = share[fold.rows] / share[fold.rows].sum()
    kinds = [(candidate, c) for candidate in candidates for c in range(n_classes)]
    jobs = [Job(candidate, c, f) for f in range(n_fits) for candidate, c in kinds]
    heads = fit_heads(data, signs, shares, standard, jobs, steps)
    scores = np.full((len(candidates), len(share), n_classes), np.nan)
    if folds:
        found = score_heads(data, heads).reshape(len(share), n_fits, len(candidates), n_classes)
        for number, fold in enumerate(folds, start=1):
            scores[:, fold.held_out] = found[fold.held_out, number].swapaxes(0, 1)
    each = [heads.some(slice(f * len(kinds), (f + 1) * len(kinds))) for f in range(n_fits)]
    return Search(each[0], each[1:], scores)


def halves(index: Indices, share: Floats, rng: np.random.Generator) -> Floats | None:
    """Return the weights of two stratified halves, a column each; None if a class has one only."""
    first = np.zeros(len(index), dtype=bool)
    for label in np.unique(index):
        rows = rng.permutation(np.flatnonzero((index == label) & (share > 0)))
        if len(rows) < 2:
            return None
        first[rows[::2]] = True
    parts = np.stack([np.where(half, share, 0.0) for half in (first, ~first)], axis=1)
    return parts / parts.sum(axis=0)


def _misses_a_class(fold: Fold, index: Indices, share: Floats, n_classes: int) -> bool:
    return np.unique(index[fold.rows][share[fold.rows] > 0]).size < n_classes
