"""One way to see the tokens, tried: all heads fitted and weighed in it."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from sparsetoken.estimators.head_passes import Heads
from sparsetoken.estimators.heads import Candidate, Job, fit_heads, score_heads
from sparsetoken.estimators.search import Fold, Search, cross_fit, halves
from sparsetoken.estimators.stacking import Stack, log_losses, stack
from sparsetoken.estimators.standardize import Standard, standardize
from sparsetoken.sequences.data import MemoryData

__all__ = ["Others", "Trial", "class_signs", "head_limits", "in_data", "mean_auc", "run_trial"]

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]


class Others(NamedTuple):
    """Members that are no heads."""

    fitted: Any
    scores: Floats
    """(members, n, classes), of held-out samples."""


class Trial(NamedTuple):
    """What was learned with one token map."""

    token_map: Any
    data: MemoryData
    """Mapped and scaled."""
    signs: Floats
    standard: Standard
    candidates: list[Candidate]
    search: Search
    others: Others
    stack: Stack
    held_out: Floats
    """(n, classes): scores of all members together, NaN for samples never held out."""
    loss: float
    """Mean log-loss of the held-out samples, infinite if there were none."""
    aucs: list[float | None]
    """How well each head ranks held-out samples, over classes on average."""
    limits: Floats
    """(2, heads): scores of a head beyond these count as these."""

    def half_fits(
        self, index: Indices, share: Floats, steps: int, rng: np.random.Generator
    ) -> tuple[Floats, float] | None:
        """Fit the leading kind of head to two halves.

        Return the queries (2, classes, d) in standard coordinates, and the AUC of each half's
        scores by the fit to the other; None if a class has one sample only.
        """
        parts = halves(index, share, rng)
        candidate = self.candidates[int(np.argmax(self.stack.weights[: len(self.candidates)]))]
        if parts is None or candidate.model == "pooled":
            return None
        n_classes = self.signs.shape[1]
        jobs = [Job(candidate, c, half) for half in range(2) for c in range(n_classes)]
        heads = fit_heads(self.data, self.signs, parts, self.standard.of_scaled(), jobs, steps)
        scores = score_heads(self.data, heads).reshape(len(index), 2, n_classes)
        auc = [
            mean_auc(scores[parts[:, half] == 0, half], self.signs[parts[:, half] == 0])
            for half in range(2)
        ]
        queries = self.standard.to_standard(heads.queries.T, candidate.shrinkage)
        return queries.reshape(2, n_classes, -1), float(np.mean(auc))


def class_signs(index: Indices) -> Floats:
    """Return labels ±1: one column for two classes, else one for each."""
    n_classes = int(index.max()) + 1
    columns = np.arange(1, 2) if n_classes == 2 else np.arange(n_classes)
    return np.where(index[:, np.newaxis] == columns, 1.0, -1.0)


def run_trial(
    data: MemoryData,
    token_map: Any,
    index: Indices,
    share: Floats,
    candidates: list[Candidate],
    folds: list[Fold],
    steps: int,
    fit_others: Callable[[MemoryData], Others],
) -> Trial:
    """Fit all members to mapped tokens, with and without each fold, and weigh them."""
    signs = class_signs(index)
    shrinkages = tuple(dict.fromkeys(candidate.shrinkage for candidate in candidates))
    standard = standardize(data, share, shrinkages)
    data = data.scaled(standard.mean, standard.scale)  # once, instead of in every pass
    frame = standard.of_scaled()
    search = cross_fit(data, signs, share, frame, candidates, folds, steps)
    others = fit_others(data)
    limits = head_limits(search.scores, index)
    scores = np.concatenate([np.clip(search.scores, *limits[..., None, None]), others.scores])
    stacked = stack(scores, index, share, _prior(candidates, len(others.scores)))
    held_out = stacked.combine(scores)
    seen = np.isfinite(held_out).all(axis=1)
    loss = float(log_losses(held_out[seen], index[seen]).mean()) if seen.any() else np.inf
    aucs = [mean_auc(part[seen], signs[seen]) if seen.any() else None for part in search.scores]
    return Trial(
        token_map,
        data,
        signs,
        standard,
        candidates,
        search,
        others,
        stacked,
        held_out,
        loss,
        aucs,
        limits,
    )


def head_limits(scores: Floats, index: Indices) -> Floats:
    """Return what bounds each head's scores, (2, heads): a rare token may have any score.

    Nine tenths of each class lie within; a quarter of that range is added on both sides.

    Parameters
    ----------
    scores : ndarray of shape (heads, n, classes)
        Of samples that were held out; NaN for those that never were.
    index : ndarray of int, shape (n,)
        The class of each sample.
    """
    seen = np.isfinite(scores).all(axis=(0, 2))
    if not seen.any():
        return np.stack([np.full(len(scores), bound) for bound in (-np.inf, np.inf)])
    ends = [
        np.quantile(scores[:, seen & (index == c)], (_OUTSIDE, 1.0 - _OUTSIDE), axis=1)
        for c in np.unique(index[seen])
    ]
    low, high = np.min(ends, axis=(0, 1, 3)), np.max(ends, axis=(0, 1, 3))
    return np.stack([low - _MARGIN * (high - low), high + _MARGIN * (high - low)])


_OUTSIDE, _MARGIN = 0.05, 0.25


def in_data(
    heads: Heads, standard: Standard, stacked: Stack, limits: Floats
) -> tuple[Floats, Floats, Floats, Floats]:
    """Return queries, coefs (heads, classes, d), intercepts, and limits of scores (2, heads,
    classes): calibrated, and for raw tokens.
    """  # noqa: D205
    n_classes = len(stacked.shift)
    shape = (-1, n_classes, len(heads.queries))
    queries = (heads.queries.T * standard.scale).reshape(shape)
    coefs = (heads.readouts.T * standard.scale).reshape(shape)
    intercepts = heads.biases.reshape(-1, n_classes) - coefs @ standard.mean
    scales = stacked.scales[: len(coefs), np.newaxis]
    return (
        queries,
        coefs * scales[..., np.newaxis],
        intercepts * scales + stacked.shift,
        limits[..., np.newaxis] * scales + stacked.shift,
    )


def _prior(candidates: list[Candidate], n_others: int) -> Floats:
    """Return equal weights of the kinds of members, shared evenly within a kind."""
    kinds = [candidate.model for candidate in candidates] + [f"other {i}" for i in range(n_others)]
    return np.array([1.0 / len(set(kinds)) / kinds.count(kind) for kind in kinds])


def mean_auc(scores: Floats, signs: Floats) -> float:
    """Return the AUC, averaged over the columns in which both signs occur."""
    ranks, positive = rankdata(scores, axis=0), signs > 0
    found = []
    for column in range(signs.shape[1]):
        n_positive = int(positive[:, column].sum())
        pairs = n_positive * (len(signs) - n_positive)
        if pairs:
            above = ranks[positive[:, column], column].sum() - n_positive * (n_positive + 1) / 2
            found.append(above / pairs)
    return float(np.mean(found)) if found else 0.5
