"""Which layer of a model to probe: held-out AUC by layer, on the same folds for all."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from sparsetoken._types import Array, Floats
from sparsetoken._validation import shown
from sparsetoken.estimators.classifiers import AttentionClassifier
from sparsetoken.estimators.folds import (
    auc_influence,
    check_groups,
    class_signs,
    generator,
    held_out,
    split,
)
from sparsetoken.inspection.measures import NORMAL_95, Measure, auc_measure
from sparsetoken.sequences.grouping import align_labels
from sparsetoken.sequences.sequences import Sequences, as_sequences


@dataclass(frozen=True, repr=False)
class LayerChoice:
    """Held-out AUC of each layer; ``print`` it for a table.

    Attributes
    ----------
    auc : dict
        Of each layer, the AUC of held-out sequences with its 95 % interval, ``value``, ``low`` and
        ``high``. With more than two classes, the mean of each against the others.
    behind : dict
        Of each layer, how far its AUC is below that of the best, with a 95 % interval. It is much
        narrower than two intervals of the AUC, since all layers are judged by the same sequences.
    scores : dict
        Of each layer, the held-out scores: shape (n,), or (n, classes) for more than two.
    """

    auc: dict[Any, Measure]
    behind: dict[Any, Measure]
    scores: dict[Any, Floats]

    @property
    def best(self) -> Any:
        """The layer of the largest AUC."""
        return max(self.auc, key=lambda layer: self.auc[layer].value)

    @property
    def as_good(self) -> list[Any]:
        """The layers that may be as good as the best, it included."""
        return [layer for layer, behind in self.behind.items() if behind.low <= 0.0]

    def __str__(self) -> str:
        width = max(5, *(len(str(layer)) for layer in self.auc))
        lines = [f"{'layer':<{width}}  {'held-out AUC':<21}  behind the best"]
        for layer, auc in self.auc.items():
            behind = "best" if layer == self.best else str(self.behind[layer])
            lines.append(f"{layer!s:<{width}}  {auc!s:<21}  {behind}")
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"LayerChoice(best={self.best!r}, AUC {self.auc[self.best]})"


def choose_layer(
    X_by_layer: Mapping[Any, Any],
    y: Any,
    groups: Any = None,
    *,
    estimator: Any = None,
    cv: Any = 5,
    random_state: Any = 0,
) -> LayerChoice:
    """Judge the layers of a model by how well a probe of each tells held-out sequences apart.

    All layers are cut into the same folds, so that they can be compared sequence by sequence. The
    AUC of the best of many layers is a little too good: judge the final probe on other data.

    Parameters
    ----------
    X_by_layer : dict
        For each layer the activations of the same sequences, in any form that ``fit`` takes.
    y : array-like of shape (n,)
        Labels of two or more classes.
    groups : array-like of shape (n,), optional
        What each sequence belongs to, such as a document: no group is on both sides of a fold, and
        the intervals count groups instead of sequences.
    estimator : classifier, optional
        What is fitted to each layer; by default an AttentionClassifier.
    cv : int, splitter or iterable, default=5
        Folds, as in scikit-learn.
    random_state : int, Generator, RandomState or None, default=0
        Decides the folds.

    Returns
    -------
    choice : LayerChoice
        With ``best``, ``auc`` and ``behind``.

    Examples
    --------
    >>> import sparsetoken as st
    >>> problem = st.SparseTokenProblem(n_tokens=10, signal=3.0)
    >>> X, y = problem.sample(120, 10, random_state=0)
    >>> choice = st.choose_layer({"12": X[..., 5:], "20": X}, y)
    >>> choice.best
    '20'
    >>> [measure.value > 0.5 for measure in choice.auc.values()]
    [True, True]
    """
    layers = _as_layers(X_by_layer)
    first = next(iter(layers.values()))
    y, groups = np.asarray(align_labels(first, y)), align_labels(first, groups, "groups")
    if y.shape != (len(first),):
        raise ValueError(f"y must have shape ({len(first)},), one per sequence, got {y.shape}")
    index = np.unique(y, return_inverse=True)[1]
    if index.max() < 1:
        raise ValueError(f"y must hold two classes, got one class: {y.tolist()[0]!r}")
    codes, rng = check_groups(groups, len(y)), generator(random_state)
    folds = split(cv, index, np.ones(len(y)), codes, np.arange(len(y)), rng)
    if not folds:
        units = "sequences" if groups is None else "groups"
        raise ValueError(f"each class in y must have at least two {units}, to hold one out")
    if estimator is None:
        estimator = AttentionClassifier(random_state=int(rng.integers(2**31)))
    elif not hasattr(estimator, "decision_function") or not hasattr(estimator, "get_params"):
        raise ValueError(
            f"estimator must be a classifier with a decision_function, got {shown(estimator)}"
        )
    scores = {
        layer: held_out(estimator, folds, X, y, codes, "decision_function")[0]
        for layer, X in layers.items()
    }
    return _compare(scores, index, codes)


def _as_layers(X_by_layer: Any) -> dict[Any, Sequences]:
    if not isinstance(X_by_layer, Mapping) or not X_by_layer:
        raise ValueError(
            'X_by_layer must be a dict with the sequences of each layer, {"12": X12, "20": X20}, '
            f"got {type(X_by_layer).__name__}"
        )
    layers = {}
    for layer, X in X_by_layer.items():
        try:
            layers[layer] = as_sequences(X)
        except ValueError as error:
            raise ValueError(f"layer {layer!r}: {error}") from None
    counts = {layer: len(X) for layer, X in layers.items()}
    if len(set(counts.values())) > 1:
        raise ValueError(f"X_by_layer must hold the same sequences for each layer, got {counts}")
    return layers


def _compare(scores: dict[Any, Floats], index: Array, groups: Any) -> LayerChoice:
    """Return the AUC of each layer and what it lacks of the best, from the same sequences."""
    columns = {layer: score.reshape(len(index), -1) for layer, score in scores.items()}
    tested = np.isfinite(next(iter(columns.values()))).all(axis=1)
    signs, units, inflation = class_signs(index)[tested], np.arange(tested.sum()), 1.0
    if groups is not None:
        units = np.unique(groups[tested], return_inverse=True)[1]
        inflation = np.sqrt((units.max() + 1) / units.max())
    fewest = min(np.unique(units[index[tested] == c]).size for c in np.unique(index))
    aucs: dict[Any, Measure] = {}
    influences: dict[Any, Any] = {}
    for layer, score in columns.items():
        auc, influence = auc_influence(score[tested], signs)
        influences[layer] = inflation * np.bincount(units, influence)
        aucs[layer] = auc_measure(str(layer), auc, influences[layer], fewest)
    best = max(aucs, key=lambda layer: aucs[layer].value)
    behind = {}
    for layer, measure in aucs.items():
        lead = aucs[best].value - measure.value
        half = NORMAL_95 * float(np.linalg.norm(influences[best] - influences[layer]))
        behind[layer] = Measure(str(layer), lead, lead - half, lead + half)
    return LayerChoice(aucs, behind, scores)
