"""Several kinds of signal: a direction for each of them (docs/theory, section 19).

A single direction that expects its kind in a part of the positives only, and noise in the others,
finds one of the kinds by itself. So many are started from long tokens, those that end far from each
other become a head, and further ones start from sequences that this head does not explain. All
kinds of a head are then iterated together. A start that fails ends with little evidence.
"""

from copy import copy
from functools import partial, reduce

import numpy as np
from scipy.special import logit, logsumexp

from sparsetoken._types import Floats, Indices
from sparsetoken.estimators.folds import Fold
from sparsetoken.estimators.head_pooling import EvidencePooling, linear_scores, pooled_scores
from sparsetoken.estimators.posterior_iteration import LAST, Columns, Iteration
from sparsetoken.estimators.posterior_passes import largest_tokens
from sparsetoken.sequences.data import Data

MOST_KINDS = 5
_STARTS = 10  # tokens that single directions start from, in each round
_STEPS = 12  # of a single direction
_ALONE = 1 / 3  # part of the positives that a single direction expects its kind in
_TOGETHER = 10  # steps of the kinds of a head
_LEAST_GAIN = 1.0  # of the log-likelihood of held-out labels, by each kind
_NEVER = 1e-12  # frequency of a kind that is nothing
_APART = 0.9  # least sine between a direction and those of other kinds
_LONG = 0.4  # least length of a direction, of that of the longest


def discover_kinds(
    iteration: Iteration, single: Columns, folds: list[Fold], least: float
) -> Columns | None:
    """Return a head of several kinds for each group of samples; None if one kind does as well.

    ``single`` is a head of one kind for each. The evidence of the labels must exceed ``least``, and
    kinds that do not help with held-out samples are left out.
    """
    heads = _with_fewer(iteration, _find_kinds(iteration, single, MOST_KINDS))
    joined = reduce(Columns.followed_by, heads)
    iteration.run(joined, _TOGETHER)
    evidence = joined.all_evidence
    first = joined.take(joined.head == evidence.argmax())
    if len(first.group) == 1 or evidence.max() < least:
        return None
    columns = _in_all_groups(iteration, first)
    helpful = _helpful_kinds(iteration, columns, folds)
    if len(helpful) == len(first.group) or len(helpful) == 1:
        return columns if len(helpful) > 1 else None
    columns = _together(columns, np.flatnonzero(np.isin(columns.kind, helpful)), len(helpful))
    iteration.run(columns, LAST)
    return columns


def fit_kinds(iteration: Iteration, single: Columns, n_kinds: int) -> Columns:
    """Return a head of so many kinds for each group of samples."""
    head = _find_kinds(iteration, single, n_kinds)
    iteration.run(head, _TOGETHER)
    return with_kinds(_in_all_groups(iteration, head), n_kinds)


def _find_kinds(iteration: Iteration, single: Columns, most: int) -> Columns:
    """Return a head of at most so many kinds for the first group of samples."""
    # Each sequence's longest token, and the one that speaks most for the mean of all kinds.
    longest, (direction, _) = iteration.longest_tokens(), iteration.in_data(single.take([0]))
    best = iteration.carriers.per_sample(largest_tokens, direction.T)[:, 0]
    orders = (np.argsort(-v, kind="stable") for v in ((longest**2).sum(axis=1), best[:, 0]))
    whites = longest, iteration.white(best[:, 1:])
    tokens = [(white[order], order) for white, order in zip(whites, orders, strict=True)]
    usable = iteration.is_usable(0)
    others = copy(iteration)  # in which explained sequences have no say
    head = single.take(slice(0))
    while usable.any():
        starts = [one[usable[rows]][: _STARTS // 2] for one, rows in tokens]
        pool = head.followed_by(_start(others, np.concatenate(starts), np.array([0])))
        chosen = _distinct(pool, most)
        if len(chosen) <= len(head.group):
            break
        head, rest = _together(pool, chosen), 1.0 / (len(chosen) + 1.0)
        head.frequency *= 1.0 - rest
        iteration.run(head, _TOGETHER)
        if len(chosen) == most:
            break
        odds = _odds(iteration, head, iteration.carriers)[:, 0] - logit(head.rate[0])
        usable &= odds < np.log(rest)
        others.priors = iteration.priors.copy()
        others.priors[iteration.rows[odds > np.log(rest)]] = 0.0
    if not len(head.group):  # tokens that do not vary
        return single.take(single.group == 0)
    return _together(head, np.arange(len(head.group)))


def _in_all_groups(iteration: Iteration, first: Columns) -> Columns:
    """Return a head for each group, given that of the first: others see their own samples only."""
    n_kinds, n_groups = len(first.group), iteration.weights.shape[1]
    iteration.run(first, LAST)
    if n_groups == 1:
        return first
    groups = np.repeat(np.arange(1, n_groups), n_kinds)
    # The tokens that speak most for each kind, among the positives of each other group.
    directions, _ = iteration.in_data(first)
    best = iteration.carriers.per_sample(largest_tokens, directions.T)
    seeds = []
    for group in range(1, n_groups):
        usable = np.flatnonzero(iteration.is_usable(group))
        largest = usable[best[usable, :, 0].argmax(axis=0)]
        seeds.append(best[largest, np.arange(n_kinds), 1:])
    others = _start(iteration, iteration.white(np.concatenate(seeds)), groups)
    others = _together(others, np.arange(len(groups)), n_kinds)
    iteration.run(others, LAST)
    return first.followed_by(others)


def _helpful_kinds(iteration: Iteration, columns: Columns, folds: list[Fold]) -> Indices:
    """Return the kinds without which the labels of held-out samples would be less likely."""
    scores = []
    for number, fold in enumerate(folds, start=1):
        head = columns.take(columns.group == number)
        singles = _together(head, np.arange(len(head.group)), 1)
        singles.frequency = head.frequency
        scores.append(_odds(iteration, singles, iteration.data.take(fold.held_out)))
    held_out = np.concatenate([fold.held_out for fold in folds])
    odds, signs = np.concatenate(scores), np.where(iteration.priors[held_out] > 0, 1.0, -1.0)
    frequency = columns.frequency[columns.group == 0]
    kinds = np.arange(odds.shape[1])
    while len(kinds) > 1:
        trials = [kinds, *(np.delete(kinds, k) for k in range(len(kinds)))]
        likelihoods = []
        for trial in trials:
            of_head = logsumexp(odds[:, trial], axis=1) - np.log(frequency[trial].sum())
            likelihoods.append(label_likelihood(signs * of_head))
        best = int(np.argmax(likelihoods[1:]))
        if likelihoods[1 + best] < likelihoods[0] - _LEAST_GAIN:
            break
        kinds = trials[1 + best]
    return kinds


def with_kinds(columns: Columns, n_kinds: int) -> Columns:
    """Return heads with so many kinds, the last of which may be nothing."""
    count, n_groups = int(columns.kind.max()) + 1, len(columns.heads)
    if count == n_kinds:
        return columns
    rows = np.arange(len(columns.group)).reshape(n_groups, count)
    padded = columns.take(np.pad(rows, ((0, 0), (0, n_kinds - count)), mode="edge").ravel())
    padded.kind = np.tile(np.arange(n_kinds), n_groups)
    padded.vectors[padded.kind >= count] = 0.0
    padded.frequency[padded.kind >= count] = _NEVER
    return padded


def label_likelihood(odds: Floats) -> float:
    """Return the log-likelihood of labels by log-odds of the right ones, or by their half, ..."""
    return max(float(-np.logaddexp(0.0, -part * odds).sum()) for part in (1.0, 0.5, 0.25, 0.125))


def _start(iteration: Iteration, tokens: Floats, group: Indices) -> Columns:
    """Return single directions that started from tokens."""
    columns = iteration.started(tokens, np.resize(group, len(tokens)))
    columns.frequency[:] = _ALONE
    iteration.run(columns, _STEPS)
    return columns


def _distinct(columns: Columns, most: int) -> Indices:
    """Return directions far from each other, the longest first: one that fails stays short."""
    chosen: list[int] = []
    rest = columns.vectors.copy()
    lengths = np.sqrt(columns.squared)
    while len(chosen) < most:
        left = np.linalg.norm(rest, axis=1)
        left[left < _APART * lengths] = 0.0
        longest = int(left.argmax())
        if left[longest] <= _LONG * lengths.max():
            break
        chosen.append(longest)
        along = rest[longest] / left[longest]
        rest -= np.outer(rest @ along, along)
    return np.array(chosen, dtype=int)


def _with_fewer(iteration: Iteration, head: Columns) -> list[Columns]:
    """Return a head with 1, 2, ... of its kinds, without those that the labels miss least."""
    heads = [head]
    while len(head.group) > 1:
        count = len(head.group)
        kept = np.array([np.delete(np.arange(count), k) for k in range(count)])
        trial = _together(head, kept.ravel(), count - 1)
        shares = head.frequency[kept]
        trial.frequency = (shares / shares.sum(axis=1, keepdims=True)).ravel()
        iteration.run(trial, 0)
        head = trial.take(trial.head == trial.evidence[trial.heads].argmax())
        heads.insert(0, head)
    return heads


def _together(columns: Columns, chosen: Indices, n_kinds: int | None = None) -> Columns:
    """Return heads of so many kinds each, by default all of these columns."""
    heads = columns.take(chosen)
    count = n_kinds or len(chosen)
    heads.kind = np.arange(len(chosen)) % count
    heads.frequency = np.full(len(chosen), 1.0 / count)
    return heads


def _odds(iteration: Iteration, heads: Columns, data: Data) -> Floats:
    """Return the log-odds (n, K) of sequences by each head."""
    directions, offsets = iteration.in_data(heads)
    scorer = partial(linear_scores, directions[:, np.newaxis], offsets[:, np.newaxis])
    pooling = EvidencePooling(np.ones(len(offsets)), heads.n_signal, heads=heads.heads)
    return data.per_sample(pooled_scores, scorer, pooling)[:, :, 0]
