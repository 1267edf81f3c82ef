"""Folds of samples: which are held out together, what fits say of them, and how good that is."""

from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import rankdata
from sklearn.base import clone
from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold, check_cv
from sklearn.utils import _safe_indexing, check_random_state
from sklearn.utils.validation import has_fit_parameter

from sparsetoken._types import Bools, Floats, Indices
from sparsetoken._validation import check_count
from sparsetoken.sequences.data import Data
from sparsetoken.sequences.passes import pooled_features
from sparsetoken.sequences.sequences import Sequences

_ENOUGH_NUMBERS = 2**22  # numbers in the tokens that the choice is made on, or
_ENOUGH_SEQUENCES = 2000  # so many sequences, if these fit into
_MOST_NUMBERS = 2**25
_ENOUGH_OF_A_CLASS = 100
_FAR = 100.0  # times as far from the median mean token
_OF_WHICH = 100  # sequences one may be far out
_ROUNDING = 1e-9  # features whose means differ by less, of their magnitude, do not vary


class Fold(NamedTuple):
    """The samples of a fit and those that judge it."""

    rows: Indices
    held_out: Indices


def generator(random_state: Any) -> np.random.Generator:
    """Return a Generator for an int, a Generator, a RandomState or None.

    None draws from NumPy's global state, as in scikit-learn.
    """
    if isinstance(random_state, np.random.Generator):
        return random_state
    return np.random.default_rng(check_random_state(random_state).randint(2**31))


def natural_order(data: Data) -> Indices:
    """Return the samples ordered by their tokens alone, alike for any shift or scale."""
    means = data.per_sample(pooled_features)
    magnitude = np.abs(means).max(axis=0)
    means -= means.mean(axis=0)
    spread = np.abs(means).max(axis=0)
    varies = spread > _ROUNDING * magnitude
    unit = np.where(varies, 1.0 / np.where(varies, spread, 1.0), 0.0)
    weights = np.random.default_rng(0).standard_normal(data.dim)
    return np.argsort((means * unit) @ weights, kind="stable")


def split(
    cv: Any, index: Indices, weights: Floats, groups: Any, order: Indices, rng: np.random.Generator
) -> list[Fold]:
    """Return the folds: none if a class has too few samples, or groups, to hold any out.

    ``cv`` is as in scikit-learn; a number means stratified folds, drawn in ``order``. Samples
    without weight are in no fold, and those of one of the ``groups`` stay together.
    """
    n_classes = int(index.max()) + 1

    def complete(folds: list[Fold]) -> bool:
        fitted = (rows[weights[rows] > 0] for rows, _ in folds)
        return all(np.unique(index[rows]).size == n_classes for rows in fitted)

    if not isinstance(cv, Integral):
        folds = [Fold(*fold) for fold in check_cv(cv).split(index, index, groups)]
        if not complete(folds):
            raise ValueError("cv must leave samples of every class to every fit")
        return folds
    order = order[weights[order] > 0]
    units = order if groups is None else groups[order]
    used = [np.unique(units[index[order] == c]).size for c in range(n_classes)]
    most = min(check_count("cv", cv, minimum=2), *used)
    kind = StratifiedKFold if groups is None else StratifiedGroupKFold
    seed = int(rng.integers(2**31))
    for count in range(most, 1, -1):  # groups may crowd a class into too few folds
        splitter = kind(count, shuffle=True, random_state=seed)
        drawn = splitter.split(order, index[order], None if groups is None else units)
        folds = [Fold(*(np.sort(order[rows]) for rows in pair)) for pair in drawn]
        if complete(folds):
            return folds
    return []


def fit_rows(estimator: Any, rows: Any, X: Any, y: Any, groups: Any) -> Any:
    """Return a copy of the estimator fitted to these rows, with their groups if it takes them."""
    takes_groups = groups is not None and has_fit_parameter(estimator, "groups")
    options = {"groups": np.asarray(groups)[rows]} if takes_groups else {}
    return clone(estimator).fit(take_rows(X, rows), y[rows], **options)


def take_rows(X: Any, rows: Indices) -> Any:
    """Return some samples of sequences, or of anything that scikit-learn takes rows of."""
    return X[rows] if hasattr(X, "offsets") else _safe_indexing(X, rows)


def held_out(
    estimator: Any, folds: list[Fold], X: Any, y: Any, groups: Any, *methods: str
) -> list[Floats]:
    """Return what each method says of the sequences by fits without their fold, NaN if never."""
    values: dict[str, Floats] = {}
    for rows, tested in folds:
        fitted = fit_rows(estimator, rows, X, y, groups)
        for method in methods:
            answer = getattr(fitted, method)(take_rows(X, tested))
            values.setdefault(method, np.full((len(y), *answer.shape[1:]), np.nan))[tested] = answer
    return list(values.values())


def check_groups(groups: Any, n_samples: int) -> Any:
    """Return ``groups`` as integers, or None."""
    if groups is None:
        return None
    groups = np.asarray(groups)
    if groups.shape != (n_samples,):
        raise ValueError(
            f"groups must have shape ({n_samples},), one per sequence, got {groups.shape}"
        )
    kinds = sorted({type(group).__name__ for group in groups.tolist()})
    if len(kinds) > 1:
        raise ValueError(f"groups must be of one kind, one per sequence, got {' and '.join(kinds)}")
    return np.unique(groups, return_inverse=True)[1]


def tokens_far_out(data: Data, names: Any = None) -> tuple[Bools, str]:
    """Return which sequences have a token far beyond those of others, and words about the worst.

    It is more than a hundred times as far out, and would decide the scale of all.
    """
    center = np.median(data.per_sample(pooled_features), axis=0)
    reach = data.per_sample(_largest_deviations, center)
    feature, largest = reach.argmax(axis=1), reach.max(axis=1)
    rank = 1 + len(reach) // _OF_WHICH
    usual = -np.partition(-largest, rank)[rank]
    worst = int(largest.argmax())
    times = f"{largest[worst] / max(usual, 1e-300):.2g} times as far out in feature"
    name = feature[worst] if names is None else names[feature[worst]]
    words = f"sequence {worst} has a token {times} {name} as those of other sequences"
    return largest > _FAR * usual, words


def _largest_deviations(sequences: Sequences, center: Floats) -> Floats:
    tokens, starts = sequences.tokens, sequences.offsets[:-1]
    above = np.maximum.reduceat(tokens, starts) - center
    return np.maximum(above, center - np.minimum.reduceat(tokens, starts))


def selection_rows(
    data: Data, index: Indices, order: Indices, rng: np.random.Generator
) -> tuple[Indices, Floats]:
    """Return those of the rows ``order`` that tell enough, with how many each stands for.

    They are all, unless there are very many samples; of a rare class more than its fraction.
    """
    enough = _ENOUGH_SEQUENCES * data.size / len(data)
    numbers = max(_ENOUGH_NUMBERS, min(enough, _MOST_NUMBERS, data.size / 5))
    if numbers >= data.size:
        return np.sort(order), np.ones(len(order))
    counts = np.bincount(index[order])
    wanted = (numbers / data.size * np.bincount(index)).astype(int)
    wanted = np.minimum(np.maximum(wanted, _ENOUGH_OF_A_CLASS), counts)
    drawn = order[rng.permutation(len(order))]
    rows = np.sort(np.concatenate([drawn[index[drawn] == c][:n] for c, n in enumerate(wanted)]))
    return rows, (counts / np.maximum(wanted, 1))[index[rows]]


def halves(
    index: Indices, weights: Floats, order: Indices, rng: np.random.Generator
) -> Floats | None:
    """Return the weights of two stratified halves, a column each; None if a class has one only."""
    drawn = order[rng.permutation(len(order))]
    drawn = drawn[weights[drawn] > 0]
    first = np.zeros(len(index), dtype=bool)
    for label in np.unique(index[drawn]):
        rows = drawn[index[drawn] == label]
        if len(rows) < 2:
            return None
        first[rows[::2]] = True
    columns = np.stack([np.where(half, weights, 0.0) for half in (first, ~first)], axis=1)
    return columns / columns.sum(axis=0)


def reliability(queries: Floats, fraction: float) -> float:
    """Estimate the cosine between a query and the one that unlimited data would give.

    Queries (2, classes, d) learned on two halves have the cosine 1/(1 + t) with t the squared error
    over the squared length of the limit. The fit has 1/fraction times the samples: t falls by that.
    """
    norms = np.linalg.norm(queries, axis=2).prod(axis=0)
    products = (queries[0] * queries[1]).sum(axis=1)
    cosines = np.divide(products, norms, out=np.zeros_like(norms), where=norms > 0)
    agree = np.maximum(cosines, 1e-300)
    return float(np.mean((cosines > 0) / np.sqrt(1.0 + fraction * (1.0 / agree - 1.0))))


def class_signs(index: Indices) -> Floats:
    """Return labels ±1: one column for two classes, else one for each."""
    n_classes = int(index.max()) + 1
    columns = np.arange(1, 2) if n_classes == 2 else np.arange(n_classes)
    return np.where(index[:, np.newaxis] == columns, 1.0, -1.0)


def mean_auc(scores: Floats, signs: Floats) -> float:
    """Return the AUC, averaged over the columns in which both signs occur."""
    both = np.ptp(signs, axis=0) > 0
    return auc_influence(scores[:, both], signs[:, both])[0] if both.any() else 0.5


def auc_influence(scores: Floats, signs: Floats) -> tuple[float, Floats]:
    """Return the AUC of scores and labels ±1 (n, C), averaged, and how far each sample moves it.

    The squares of the latter sum to the variance of the AUC, estimated from the placements of the
    samples (DeLong); of two classifiers, the squares of the differences do to that of the
    difference. A class of one sample moves nothing. Both labels occur in each column.
    """
    aucs, influence = [], np.zeros(len(scores))
    for score, positive in zip(scores.T, signs.T > 0, strict=True):
        m, n = int(positive.sum()), int((~positive).sum())
        ranks = rankdata(score)
        above = (ranks[positive] - rankdata(score[positive])) / n
        below = 1.0 - (ranks[~positive] - rankdata(score[~positive])) / m
        aucs.append(float(above.mean()))
        if min(m, n) > 1:
            influence[positive] += (above - aucs[-1]) / np.sqrt(m * (m - 1))
            influence[~positive] += (below - aucs[-1]) / np.sqrt(n * (n - 1))
    return float(np.mean(aucs)), influence / len(aucs)
