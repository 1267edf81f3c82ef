"""Trees on statistics of a sequence's tokens: for labels that the sequence as a whole decides.

scikit-learn grows them; what is kept are plain arrays, which files can hold without pickle.
"""

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray
from sklearn import config_context
from sklearn.ensemble import ExtraTreesClassifier

from sparsetoken.estimators.search import Fold
from sparsetoken.sequences.passes import scaled_tokens
from sparsetoken.sequences.sequences import Sequences

__all__ = [
    "Forest",
    "check_forests",
    "cross_fit_forests",
    "forest_scores",
    "statistics_scores",
    "token_statistics",
]

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]
Forest = dict[str, NDArray[Any]]
"""Trees as arrays: ``roots``, and for every node left, right, feature, threshold and value."""

_TRIED = 0.1  # of the features, or their root if that is more, compete for a split
_SURE = 0.02  # added to both probabilities: so many trees cannot be surer


def token_statistics(
    sequences: Sequences, mean: Floats | None = None, scale: Floats | None = None
) -> NDArray[np.float32]:
    """Return mean, max, min and deviation of each sequence's scaled tokens, by feature."""
    tokens, starts = scaled_tokens(sequences, mean, scale), sequences.offsets[:-1]
    lengths = sequences.lengths[:, np.newaxis]
    means = np.add.reduceat(tokens, starts, dtype=np.float64) / lengths
    squares = np.add.reduceat(tokens**2, starts, dtype=np.float64) / lengths
    spread = np.sqrt(np.maximum(squares - means**2, 0.0))
    ends = (np.maximum.reduceat(tokens, starts), np.minimum.reduceat(tokens, starts))
    return np.concatenate([means, *ends, spread], axis=1, dtype=np.float32, casting="same_kind")


def cross_fit_forests(
    rows: NDArray[np.float32],
    index: Indices,
    share: Floats,
    folds: list[Fold],
    n_trees: int,
    rng: np.random.Generator,
    n_jobs: int | None,
) -> tuple[list[Forest], Floats]:
    """Return a forest for each fold, which has not seen it, and the scores of what it held out.

    Together the forests are the classifier: a tree without a part of the samples is what bagging
    grows anyway, so that no second fit is needed. ``n_trees`` are those of all folds together.
    """
    n_classes = int(index.max()) + 1
    parts = folds or [Fold(np.arange(len(index)), np.arange(0))]
    forests, scores = [], np.full((len(index), n_classes if n_classes > 2 else 1), np.nan)
    for fold in parts:
        used = fold.rows[share[fold.rows] > 0]
        trees = ExtraTreesClassifier(
            -(-n_trees // len(parts)),
            max_features=max(int(np.sqrt(rows.shape[1])), int(_TRIED * rows.shape[1])),
            random_state=int(rng.integers(2**31)),
            n_jobs=n_jobs,
        )
        # Each tree would check again what is known to be right.
        with config_context(assume_finite=True, skip_parameter_validation=True):
            trees.fit(rows[used], index[used], sample_weight=share[used] * len(index))
        forests.append(_as_arrays(trees, n_classes))
        if len(fold.held_out):
            scores[fold.held_out] = forest_scores(rows[fold.held_out], [forests[-1]])
    return forests, scores


def forest_scores(rows: NDArray[np.float32], forests: list[Forest]) -> Floats:
    """Return the log-odds of the second class, or the log-probability of each of several."""
    chances = np.zeros((len(rows), forests[0]["value"].shape[1]))
    for forest in forests:
        _add_chances(rows, chances, *(forest[name] for name in _PARTS))
    chances /= sum(len(forest["roots"]) for forest in forests)
    logs = np.log(chances + _SURE)
    return logs[:, 1:] - logs[:, :1] if logs.shape[1] == 2 else logs


def statistics_scores(
    sequences: Sequences, mean: Floats, scale: Floats, forests: list[Forest]
) -> Floats:
    """Return the forests' scores of sequences."""
    return forest_scores(token_statistics(sequences, mean, scale), forests)


_PARTS = ("roots", "left", "right", "feature", "threshold", "value")


def check_forests(forests: list[Forest], n_features: int) -> None:
    """Refuse arrays, from a file perhaps, that are no trees: a walk in them might never end."""
    for forest in forests:
        _check(forest, n_features)


def _check(forest: Forest, n_features: int) -> None:
    n_nodes = len(forest["left"])
    if any(len(forest[name]) != n_nodes for name in _PARTS[2:]):
        raise ValueError("the arrays of a forest differ in length")
    inner = np.flatnonzero(forest["left"] >= 0)
    for child in (forest["left"][inner], forest["right"][inner]):
        if ((child <= inner) | (child >= n_nodes)).any():
            raise ValueError("a tree's node must come before its children")
    features, roots = forest["feature"][inner], forest["roots"]
    if ((features < 0) | (features >= n_features)).any() or (
        (roots < 0) | (roots >= n_nodes)
    ).any():
        raise ValueError("a tree speaks of features or nodes that do not exist")


def _as_arrays(trees: ExtraTreesClassifier, n_classes: int) -> Forest:
    grown = [tree.tree_ for tree in trees.estimators_]
    sizes = np.array([tree.node_count for tree in grown])
    roots = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    value = np.zeros((sizes.sum(), n_classes), dtype=np.float32)
    value[:, trees.classes_] = np.concatenate([tree.value[:, 0] for tree in grown])
    shift = np.repeat(roots, sizes)
    left = np.concatenate([tree.children_left for tree in grown])
    right = np.concatenate([tree.children_right for tree in grown])
    return {
        "roots": roots.astype(np.int32),
        "left": np.where(left < 0, -1, left + shift).astype(np.int32),
        "right": np.where(right < 0, -1, right + shift).astype(np.int32),
        "feature": np.concatenate([tree.feature for tree in grown]).astype(np.int32),
        "threshold": np.concatenate([tree.threshold for tree in grown]),
        "value": value,
    }


@njit(cache=True, nogil=True)
def _add_chances(  # type: ignore[no-untyped-def]
    rows, chances, roots, left, right, feature, threshold, value
):
    for i in range(rows.shape[0]):
        for root in roots:
            node = root
            while left[node] >= 0:
                node = left[node] if rows[i, feature[node]] <= threshold[node] else right[node]
            for c in range(value.shape[1]):
                chances[i, c] += value[node, c]
