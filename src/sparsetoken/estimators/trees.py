"""Trees on statistics of a sequence's tokens: for labels that the sequence as a whole decides."""

from dataclasses import dataclass, field, replace
from typing import Annotated, Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from sklearn import config_context
from sklearn.ensemble import ExtraTreesClassifier

from sparsetoken._njit import njit
from sparsetoken._types import Array, Floats, Indices
from sparsetoken.estimators.folds import Fold
from sparsetoken.estimators.members import Member, TrainingSamples
from sparsetoken.sequences.data import Data
from sparsetoken.sequences.passes import (
    in_units,
    largest_magnitudes,
    token_fractions,
    token_statistics,
)

_TRIED = 0.1  # of the features, or their root if that is more, compete for a split, but
_MOST_TRIED = 300  # at most, for the time that it takes
# Deviations from a feature's mean; not round, since round features have tokens just there.
_LEVELS = (-0.97, 0.03, 1.03, 2.03)
_SURE = 0.02  # added to both probabilities: so many trees cannot be surer


class Forest(NamedTuple):
    """Trees of scikit-learn as arrays, which files can hold without pickle."""

    roots: Annotated[Any, "t"]  # the first node of each tree
    left: Annotated[Any, "n"]  # the next node if the feature is at most the threshold; −1 in leaves
    right: Annotated[Any, "n"]
    feature: Annotated[Any, "n"]
    threshold: Annotated[Any, "n"]
    value: Annotated[Any, "nc"]  # chances of the classes


@dataclass
class Trees(Member):
    """Extra trees on statistics of the tokens, feature by feature.

    It gives two scores. Half of the trees see mean, largest, smallest and deviation, the others
    what fraction of the tokens exceeds each of several levels: a histogram tells a few tokens of a
    kind from many. Both see how many tokens there are. Together the forests of the folds are the
    member, as in bagging: there is no second fit to all samples.
    """

    name = "statistics"
    n_trees: int = 500  # in the forests of all folds together
    unit: Annotated[Any, "d"] = None  # powers of two that bring features into single precision
    levels: Annotated[Any, "ld"] = None  # which tokens are counted beyond
    forests: list[Forest] = field(default_factory=list)  # two for each fold
    stand_together: bool = False  # of a fit that has seen no sample that is held out

    def __post_init__(self) -> None:
        for forest in self.forests:
            _check(forest, 1 + (4 + len(self.levels)) * len(self.unit))

    def fit(self, training: TrainingSamples) -> Floats:
        """Grow forests without each fold, or of all samples if there are no folds."""
        magnitude = training.data.per_sample(largest_magnitudes).max(axis=0)
        self.unit = np.ldexp(1.0, -np.frexp(np.maximum(magnitude, 1e-290))[1]) * (magnitude > 0)
        with np.errstate(divide="ignore", invalid="ignore"):
            deviation = np.where(training.standard.scale > 0, 1.0 / training.standard.scale, np.inf)
            steps = np.outer(_LEVELS, deviation)
        self.levels = np.where(np.isfinite(steps), training.standard.mean + steps, np.inf)
        rows = self._rows(training.data)
        numbers, n_statistics = np.arange(rows.shape[1]), 1 + 4 * len(self.unit)
        halves = numbers[:n_statistics], np.append(0, numbers[n_statistics:])  # 0: the length
        order = training.order[training.weights[training.order] > 0]
        # Classes are numbered as they come in that order: their names decide nothing.
        _, first, number = np.unique(training.index[order], return_index=True, return_inverse=True)
        place = np.argsort(np.argsort(first))
        labels = np.empty_like(training.index)
        labels[order] = place[number]
        folds = training.folds or [Fold(order, np.arange(0))]
        n_trees = -(-self.n_trees // (2 * len(folds)))
        rng = np.random.default_rng(training.seed)
        for fold in folds:
            used = order[np.isin(order, fold.rows)]
            weights = training.weights[used] / training.weights[used].max()
            equal = np.ptp(weights) <= 1e-12
            for half in halves:
                seen = rows[used][:, half]
                n_tried = max(int(np.sqrt(len(half))), min(int(_TRIED * len(half)), _MOST_TRIED))
                options = {"max_features": n_tried, "random_state": int(rng.integers(2**31))}
                trees = ExtraTreesClassifier(n_trees, n_jobs=training.n_jobs, **options)
                # Each tree would check again what is known to be right. Equal weights are left
                # out: sums of whole numbers do not round, and ties between splits stay ties.
                with config_context(assume_finite=True, skip_parameter_validation=True):
                    trees.fit(seen, labels[used], sample_weight=None if equal else weights)
                self.forests.append(_as_arrays(trees, place, half))
        return self.held_out(training)

    def refine(self, training: TrainingSamples) -> None:
        """Let the forests of some of the samples stand together for those without the fold."""
        self.stand_together = True

    def scores(self, data: Data) -> Floats:
        """Return the scores (n, 2, C) of sequences."""
        return forest_scores(self._rows(data), self.forests)

    n_scores = 2

    def _rows(self, data: Data) -> NDArray[np.float32]:
        counts = data.lengths[:, np.newaxis].astype(np.float32)
        statistics = data.per_sample(token_statistics, self.unit)
        fractions = data.per_sample(token_fractions, self.levels)
        return np.concatenate([counts, statistics, fractions], axis=1)

    def without_fold(self, fold: int) -> Self:
        """Return the forests that were grown without a fold."""
        kept = self.forests if self.stand_together else self.forests[2 * fold : 2 * fold + 2]
        return replace(self, forests=kept)

    def summarize(self, token: Array) -> Any:
        """Return count, mean, squared deviations, those beyond levels, largest and smallest."""
        scaled = in_units(token, self.unit)
        beyond = (token > self.levels).astype(np.float64)
        return 1, scaled, np.zeros_like(scaled), beyond, scaled, scaled

    def join(self, earlier: Any, later: Any) -> Any:
        """Return the summary of tokens followed by others, without differences of large sums."""
        n, mean, squares, beyond, *ends = earlier
        m, later_mean, later_squares, later_beyond, *later_ends = later
        step = (later_mean - mean) * (m / (n + m))
        squares = squares + later_squares + n * step * (later_mean - mean)
        largest = np.maximum(ends[0], later_ends[0])
        smallest = np.minimum(ends[1], later_ends[1])
        return n + m, mean + step, squares, beyond + later_beyond, largest, smallest

    def scores_of(self, summary: Any, n_tokens: int) -> Floats:
        """Return the scores (2, C) of the tokens of a summary."""
        count, mean, squares, beyond, largest, smallest = summary
        statistics = [[count], mean, largest, smallest, np.sqrt(squares / count)]
        parts = [*statistics, beyond.ravel() / count]
        rows = np.concatenate(parts, dtype=np.float32, casting="same_kind")[np.newaxis]
        return forest_scores(rows, self.forests)[0]


def forest_scores(rows: NDArray[np.float32], forests: list[Forest]) -> Floats:
    """Return log-odds (n, 2, 1), or log-probabilities of several classes, by both forests."""
    chances = np.zeros((2, len(rows), forests[0].value.shape[1]))
    for half in (0, 1):
        for forest in forests[half::2]:
            _add_chances(rows, chances[half], forest)
        chances[half] /= sum(len(forest.roots) for forest in forests[half::2])
    logs = np.log(chances + _SURE).swapaxes(0, 1)
    return logs[..., 1:] - logs[..., :1] if logs.shape[2] == 2 else logs


def _check(forest: Forest, n_features: int) -> None:
    """Refuse arrays, from a file perhaps, that are no trees: a walk in them might never end."""
    n_nodes, inner = len(forest.left), np.flatnonzero(forest.left >= 0)
    if not np.isfinite(forest.value).all():
        raise ValueError("a tree has leaves that are not finite")
    children = np.stack([forest.left[inner], forest.right[inner]])
    if ((children <= inner) | (children >= n_nodes)).any():
        raise ValueError("a tree's node must come before its children")
    numbers = ("feature", forest.feature[inner], n_features), ("node", forest.roots, n_nodes)
    for name, values, end in numbers:
        if ((values < 0) | (values >= end)).any():
            raise ValueError(f"a tree speaks of a {name} that does not exist")


def _as_arrays(trees: ExtraTreesClassifier, place: Indices, features: Indices) -> Forest:
    """Return a forest that saw some features; class c had the label ``place[c]``."""
    grown = [tree.tree_ for tree in trees.estimators_]
    sizes = np.array([tree.node_count for tree in grown])
    roots = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    value = np.zeros((sizes.sum(), len(place)), dtype=np.float32)
    value[:, np.argsort(place)[trees.classes_]] = np.concatenate([t.value[:, 0] for t in grown])
    first = np.repeat(roots, sizes)
    left, right = (
        np.concatenate([getattr(tree, name) for tree in grown])
        for name in ("children_left", "children_right")
    )
    return Forest(
        roots=roots.astype(np.int32),
        left=np.where(left < 0, -1, left + first).astype(np.int32),
        right=np.where(right < 0, -1, right + first).astype(np.int32),
        feature=features[np.concatenate([tree.feature for tree in grown])].astype(np.int32),
        threshold=np.concatenate([tree.threshold for tree in grown]),
        value=value,
    )


@njit(nogil=True)
def _add_chances(rows, chances, forest):  # type: ignore[no-untyped-def]
    roots, left, right, feature, threshold, value = forest
    for i in range(rows.shape[0]):
        for root in roots:
            node = root
            while left[node] >= 0:
                node = left[node] if rows[i, feature[node]] <= threshold[node] else right[node]
            for c in range(value.shape[1]):
                chances[i, c] += value[node, c]
