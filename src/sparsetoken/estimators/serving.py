"""Scores in use: thresholds that hold a false-positive rate, and windows of long sequences."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from sparsetoken._validation import check_count, check_real
from sparsetoken.estimators.data import Data, MemoryData, StoredData
from sparsetoken.estimators.sequences import Sequences
from sparsetoken.estimators.trial import Trial

__all__ = ["ServingMixin"]

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]

_KEPT_NUMBERS = 2**20  # in the held-out tokens that thresholds for other lengths are drawn from
_DRAWS = 4000  # sequences that such a threshold is the quantile of
_BATCH_NUMBERS = 2**22
_BLUR = 1.06
_TAIL = 0.1  # part of the scores that the tail is fitted to, where the quantile is beyond them


class ServingMixin:
    """Thresholds and windows of a classifier that kept scores and tokens held out from ``fit``."""

    classes_: NDArray[Any]
    held_out_scores_: Floats
    held_out_classes_: Indices

    def decision_function(self, X: Any, window: int | None = None) -> Floats:
        """Return the score of each sequence.

        Parameters
        ----------
        X : as in ``fit``
            The sequences.
        window : int, optional
            Cut sequences into windows of at most so many tokens, and return the largest score of
            a sequence's windows: for sequences much longer than those of ``fit``.

        Returns
        -------
        scores : ndarray of shape (n,), or (n, classes) for more than two
            The log-odds of ``classes_[1]``; of several classes, each one's score.
        """
        check_is_fitted(self)
        data: Data = self._check_data(X, reset=False)  # type: ignore[attr-defined]
        return self._windowed(data, window)

    def threshold(
        self,
        fpr: float,
        n_tokens: int | None = None,
        window: int | None = None,
        label: Any = None,
    ) -> float:
        """Return the score that a share ``fpr`` of the negative sequences exceeds.

        Parameters
        ----------
        fpr : float
            The false-positive rate to hold, in (0, 1).
        n_tokens : int, optional
            The length of the sequences to be scored. By default they are like those of ``fit``,
            and the threshold is a quantile of the scores of negatives that were held out. For
            another length, sequences of that many tokens are drawn from the negatives' tokens in
            ``fit``, slightly blurred. Rates far below one over their number are uncertain by a
            factor of a few.
        window : int, optional
            As in :meth:`decision_function`, where the threshold is to be used.
        label : optional
            The class whose scores are meant: needed for more than two classes.

        Returns
        -------
        threshold : float
            To be compared with :meth:`decision_function`. Where ``fpr`` is smaller than the
            held-out negatives can show, the tail of their scores is continued exponentially.
        """
        check_is_fitted(self)
        fpr = check_real("fpr", fpr, low=0.0, high=1.0, above=True)
        column, negative = self._column_of(label)  # type: ignore[attr-defined]
        if n_tokens is None and window is None:
            chosen = negative[self.held_out_classes_] & np.isfinite(
                self.held_out_scores_[:, column]
            )
            scores = self.held_out_scores_[chosen, column]
        else:
            scores = self._drawn_scores(n_tokens, window, column, negative)
        if not scores.size:
            raise ValueError(
                "threshold needs negatives that were held out in fit, got too few samples"
            )
        return _upper_quantile(scores, fpr)

    def _keep_for_serving(
        self, best: Trial, few: MemoryData, index: Indices, rng: np.random.Generator
    ) -> None:
        self.held_out_scores_, self.held_out_classes_ = best.held_out, index
        order = rng.permutation(len(index))
        fits = np.cumsum(few.lengths[order]) * few.dim <= _KEPT_NUMBERS
        kept = few.sequences[np.sort(order[fits])]
        self.kept_tokens_ = kept.tokens.copy()
        self.kept_classes_ = np.repeat(index[np.sort(order[fits])], kept.lengths)
        self.kept_length_ = float(np.mean(few.lengths))

    def _drawn_scores(
        self, n_tokens: int | None, window: int | None, column: int, negative: NDArray[np.bool_]
    ) -> Floats:
        length = check_count("n_tokens", round(self.kept_length_) if n_tokens is None else n_tokens)
        rows = np.flatnonzero(negative[self.kept_classes_])
        if not rows.size:
            return np.empty(0)
        rng = np.random.default_rng(0)
        # A kernel density in place of the tokens: long sequences hold rarer ones than were seen,
        # and those that were seen in fit score too low.
        blur = _BLUR * self.kept_tokens_[rows].std(axis=0) * len(rows) ** -0.2
        batch = max(1, _BATCH_NUMBERS // (length * self.kept_tokens_.shape[1]))
        parts = []
        for low in range(0, _DRAWS, batch):
            count = min(batch, _DRAWS - low)
            tokens = self.kept_tokens_[rng.choice(rows, count * length)]
            tokens += blur * rng.standard_normal(tokens.shape, dtype=tokens.dtype)
            found = self._windowed(
                MemoryData(Sequences(tokens, np.arange(count + 1) * length)), window
            )
            parts.append(found if found.ndim == 1 else found[:, column])
        return np.concatenate(parts)

    def _windowed(self, data: Data, window: int | None) -> Floats:
        if window is None:
            return self._decide(data)  # type: ignore[attr-defined]
        window = check_count("window", window)
        if not isinstance(data, MemoryData | StoredData):
            raise ValueError("window needs X in memory or in a folder, got a Dask array")
        counts = -(-data.lengths // window)
        first = np.concatenate([[0], np.cumsum(counts)])[:-1]
        within = np.arange(counts.sum()) - np.repeat(first, counts)
        ends = np.cumsum(data.lengths)
        starts = np.repeat(ends - data.lengths, counts) + within * np.repeat(
            data.lengths, counts
        ) // np.repeat(counts, counts)
        cut = data.cut(np.append(starts, ends[-1]))
        return np.maximum.reduceat(self._decide(cut), first)  # type: ignore[attr-defined]


def _upper_quantile(scores: Floats, share: float) -> float:
    """Return the value that a share of the scores exceeds, beyond them by an exponential tail."""
    scores = np.sort(scores)
    if share * len(scores) >= 5.0 or len(scores) < 20:
        return float(np.quantile(scores, 1.0 - share, method="weibull"))
    count = max(10, round(_TAIL * len(scores)))
    start, excess = scores[-count - 1], scores[-count:] - scores[-count - 1]
    rate = float(np.log(count / len(scores) / share))
    return float(start + max(rate, 0.0) * excess.mean())
