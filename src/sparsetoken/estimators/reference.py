"""What a fit keeps of its held-out samples: their scores, how good these are, and some tokens."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import rankdata

from sparsetoken._types import Bools, Floats, Indices
from sparsetoken.estimators.folds import Fold
from sparsetoken.sequences.data import Data
from sparsetoken.sequences.sequences import Sequences

_KEPT_NUMBERS = 2**21  # in the tokens that thresholds for other lengths are found from


@dataclass
class Reference:
    """What ``fit`` remembers for thresholds: held-out scores, and some of its tokens.

    The sequences of ``tokens`` and ``offsets`` have the classes ``kept_classes``; the folds that
    held them out are ``kept_folds``, or −1.
    """

    scores: Any  # (n, C): scores of samples when they were held out; NaN for those that never were
    classes: Any  # (n,)
    tokens: Any  # as they were given; None in a model saved without them
    offsets: Any
    kept_classes: Any
    kept_folds: Any
    lengths: Any  # (2,): mean length of a sequence, and the length that a tenth stays below

    def check(self, n_classes: int) -> None:
        """Refuse numbers, of a file perhaps, that do not go together."""
        classes = np.concatenate([self.classes, self.kept_classes])
        if classes.dtype.kind not in "iu" or self.kept_folds.dtype.kind not in "iu":
            raise ValueError("classes and folds of held-out sequences must be integers")
        if not np.isin(classes, np.arange(n_classes)).all():
            raise ValueError("a held-out sequence is of a class that does not exist")
        kept = 0 if self.tokens is None else len(Sequences(self.tokens, self.offsets))
        if self.tokens is not None and kept != len(self.kept_classes):
            raise ValueError("the kept tokens are not those of the kept sequences")

    def held_out(self, column: int, is_negative: Bools) -> Floats:
        """Return a column of scores of the negatives that were held out."""
        scores: Floats = self.scores[is_negative[self.classes], column]
        return scores[np.isfinite(scores)]


def remember(
    data: Data, index: Indices, folds: list[Fold], held_out: Floats, order: Indices
) -> Reference:
    """Return the reference of a fit to these samples; tokens are kept in this random order."""
    rows = np.sort(order[np.cumsum(data.lengths[order]) * data.dim <= _KEPT_NUMBERS])
    kept = data.take(rows).sequences if len(rows) else Sequences(np.empty((0, data.dim)), [0])
    fold_of = np.full(len(index), -1)
    for number, fold in enumerate(folds):
        fold_of[fold.held_out] = number
    lengths = np.array([np.mean(data.lengths), np.quantile(data.lengths, 0.1)])
    samples = kept.tokens, kept.offsets, index[rows], fold_of[rows]
    return Reference(held_out, index, *samples, lengths)


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
