"""Scores in use: thresholds that hold a false-positive rate, and windows of long sequences."""

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri
from sklearn.utils.validation import check_is_fitted

from sparsetoken._validation import check_count, check_real
from sparsetoken.estimate import ConvergenceWarning, Estimate
from sparsetoken.estimators.search import Fold
from sparsetoken.estimators.trial import Trial
from sparsetoken.sequences.data import Data, MemoryData, StoredData
from sparsetoken.sequences.sequences import Sequences

__all__ = ["ServingMixin"]

Array = NDArray[Any]
Floats = NDArray[np.float64]
Indices = NDArray[np.int64]

_KEPT_NUMBERS = 2**21  # in the held-out tokens that thresholds for other lengths are drawn from
_DRAWS = 4000  # sequences that such a threshold is the quantile of
_BATCH_NUMBERS = 2**22
_IN_TAIL = 10.0  # tokens or scores that are enough to tell how rare they are
_LEAST_BEYOND = 0.25  # expected number of negatives' tokens beyond; with fewer it is a guess


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
            Cut each sequence into windows of at most this many tokens, and return the largest score
            of its windows: for sequences much longer than those of ``fit``.

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
    ) -> Estimate:
        """Return the score that a fraction ``fpr`` of the negative sequences exceeds.

        Parameters
        ----------
        fpr : float
            The false-positive rate to hold, in (0, 1).
        n_tokens : int, optional
            The length of the sequences to be scored. By default they are like those of ``fit``,
            and the threshold is a quantile of the scores of negatives that were held out. For
            another length, sequences of that many tokens are drawn from the negatives' tokens in
            ``fit``, as if these were independent.
        window : int, optional
            The window of :meth:`decision_function` that the threshold is for.
        label : optional
            The class whose scores it is for; needed for more than two classes.

        Returns
        -------
        threshold : Estimate
            A float to compare with :meth:`decision_function`. Its ``uncertainty`` is the standard
            error: from the number of negatives and, for another length, from how much the folds of
            ``fit`` differ. It is small if it is well below ``threshold(fpr / 2)`` less
            ``threshold(fpr)``. If ``fpr`` is too small for the number of negatives, the tail of
            their scores is taken to be normal.
            A threshold for long sequences depends on rare tokens. If it depends on tokens more than
            four times as rare as the rarest one kept from ``fit``, a warning is given, and
            ``converged`` is False.
        """
        check_is_fitted(self)
        fpr = check_real("fpr", fpr, low=0.0, high=1.0, above=True)
        column, negative = self._column_of(label)  # type: ignore[attr-defined]
        if n_tokens is None and window is None:
            chosen = negative[self.held_out_classes_] & np.isfinite(
                self.held_out_scores_[:, column]
            )
            return _upper_quantile(self.held_out_scores_[chosen, column], fpr)
        length = check_count("n_tokens", round(self.kept_length_) if n_tokens is None else n_tokens)
        return self._drawn_quantile(length, window, fpr, column, negative)

    def _keep_for_serving(
        self,
        best: Trial,
        few: MemoryData,
        index: Indices,
        folds: list[Fold],
        rng: np.random.Generator,
    ) -> None:
        self.held_out_scores_, self.held_out_classes_ = best.held_out, index
        order = rng.permutation(len(index))
        rows = np.sort(order[np.cumsum(few.lengths[order]) * few.dim <= _KEPT_NUMBERS])
        kept = few.sequences[rows]
        fold_of = np.full(len(index), -1)
        for number, fold in enumerate(folds):
            fold_of[fold.held_out] = number
        self.kept_tokens_ = kept.tokens
        self.kept_classes_ = np.repeat(index[rows], kept.lengths)
        self.kept_folds_ = np.repeat(fold_of[rows], kept.lengths)
        self.kept_length_ = float(np.mean(few.lengths))

    def _drawn_quantile(
        self,
        length: int,
        window: int | None,
        share: float,
        column: int,
        negative: NDArray[np.bool_],
    ) -> Estimate:
        """Return the score that a share of sequences exceeds, which are made of negatives' tokens.

        These tokens were seen in ``fit``. How much higher new ones score is known from the fits
        without a fold: by how much they rank the fold's tokens above the others, more than the fit
        to all does, which has seen both.
        """
        tokens, folds = (
            part[negative[self.kept_classes_]] for part in (self.kept_tokens_, self.kept_folds_)
        )
        rng = np.random.default_rng(0)
        direction = self._tail_direction(column)  # type: ignore[attr-defined]
        batch = max(1, _BATCH_NUMBERS // (length * max(1, tokens.shape[1])))

        def scores(tokens: Array, draws: int, *models: Any) -> Floats:
            """Return the scores of the same sequences by several models, a row each."""
            source, parts = TokenSource(tokens, direction), []
            for low in range(0, draws, batch):
                count = min(batch, draws - low)
                drawn = source.draw(count * length, rng)
                data = MemoryData(Sequences(drawn, np.arange(count + 1) * length))
                found = np.stack([model._windowed(data, window) for model in models])
                parts.append(found if found.ndim == 2 else found[..., column])
            return np.concatenate(parts, axis=1)

        if not len(tokens):
            return _upper_quantile(np.empty(0), share)
        enough = len(tokens) * share >= _LEAST_BEYOND * length
        if not enough:
            warnings.warn(
                f"a threshold for fpr={share:g} at {length:,} tokens depends on tokens as rare as "
                f"one in {length / share:,.0f}, but fit kept {len(tokens):,} tokens of negatives: "
                "the rate can be several times off; the result is marked converged=False",
                ConvergenceWarning,
                stacklevel=3,
            )
        gaps, levels = [], []
        for fold in np.unique(folds[folds >= 0]):
            inside = folds == fold
            if not inside.all():
                models = self._without_fold(fold), self  # type: ignore[attr-defined]
                few = _DRAWS // (2 * len(self.fold_heads_))  # type: ignore[attr-defined]
                new, old = (scores(tokens[part], few, *models) for part in (inside, ~inside))
                gaps.append(np.subtract(*new.mean(axis=1)) - np.subtract(*old.mean(axis=1)))
                levels.append(_upper_quantile(new[1], share))
        found = _upper_quantile(scores(tokens, _DRAWS, self)[0], share)
        if not gaps:
            return Estimate(found, found.uncertainty, enough)
        error = np.sqrt((np.var(gaps) + np.var(levels)) / max(1, len(gaps) - 1))
        return Estimate(found + np.mean(gaps), float(error), enough)

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


class TokenSource:
    """Tokens to draw from; the rarest ones along a direction stand for others as rare.

    Long sequences hold rarer tokens than were seen. So the tokens that score highest are moved to
    where the tail of the scores, continued as that of a normal law, has others. That is done as
    often as a new token is none of those seen before, by how many were seen once only.
    """

    def __init__(self, tokens: Array, direction: Floats | None) -> None:
        self.tokens = tokens
        n_tail = min(int(_IN_TAIL), len(tokens) // 20)
        if direction is None or n_tail < 2:
            self.place = None
            return
        scores = tokens @ direction
        order = np.argsort(scores)[::-1]
        self.place = np.full(len(tokens), -1)
        self.place[order[:n_tail]] = np.arange(n_tail)
        self.top = scores[order[:n_tail]]
        self.law = _normal_tail(scores, n_tail / len(tokens))
        self.rarity = n_tail / len(tokens)
        seen = np.unique(scores, return_counts=True)[1]
        self.unseen = float((seen == 1).sum()) / len(tokens)
        along = (scores - scores.mean()) @ (tokens - tokens.mean(axis=0))
        self.step = along / max(float(along @ direction), 1e-300)

    def draw(self, count: int, rng: np.random.Generator) -> Array:
        """Return so many independent tokens."""
        rows = rng.integers(len(self.tokens), size=count)
        drawn = self.tokens[rows]
        if self.place is None:
            return drawn
        moved = np.flatnonzero((self.place[rows] >= 0) & (rng.random(count) < self.unseen))
        slope, start = self.law
        scores = start + slope * ndtri(1.0 - self.rarity * rng.random(len(moved)))
        far = scores - self.top[self.place[rows[moved]]]
        drawn[moved] += (far[:, np.newaxis] * self.step).astype(drawn.dtype)
        return drawn


def _normal_tail(scores: Floats, share: float) -> tuple[float, float]:
    """Return slope and start of the line of scores over normal deviates, for shares from this."""
    shares = np.geomspace(share, min(8.0 * share, 0.5), 16)
    known = np.quantile(scores, 1.0 - shares, method="weibull")
    slope, start = np.polyfit(ndtri(1.0 - shares), known, 1)
    return max(float(slope), 0.0), float(start)


def _upper_quantile(scores: Floats, share: float) -> Estimate:
    """Return the value that a share of the scores exceeds.

    Where fewer than ten lie beyond, the tail is continued as that of a normal law.
    """
    if not scores.size:
        raise ValueError("threshold needs negatives that were held out in fit, got too few samples")
    support = min(_IN_TAIL / len(scores), 0.25)
    # How far off the share of so many scores may be tells how far off the quantile is.
    known = max(share, support)
    noise = np.sqrt(known * (1.0 - known) / len(scores))
    shares = np.clip([known, known - noise, known + noise], 0.1 * known, 1.0)
    at, above, below = np.quantile(scores, 1.0 - shares, method="weibull")
    if share >= support:
        return Estimate(at, 0.5 * float(above - below))
    slope, start = _normal_tail(scores, support)
    beyond = float(ndtri(1.0 - share) / ndtri(1.0 - known))  # a line's error grows with it
    return Estimate(start + slope * ndtri(1.0 - share), 0.5 * float(above - below) * beyond)
