"""What the classifiers for real data share: members weighed by held-out scores."""

from dataclasses import KW_ONLY, dataclass, replace
from numbers import Integral
from typing import Any, Self

import numpy as np
from scipy.special import expit, softmax
from sklearn.utils import compute_class_weight

from sparsetoken._types import Floats, Indices
from sparsetoken.estimators.attention_heads import AttentionHeads, Head
from sparsetoken.estimators.base import SequenceClassifier
from sparsetoken.estimators.folds import (
    Fold,
    check_groups,
    generator,
    halves,
    natural_order,
    reliability,
    split,
    tokens_far_out,
)
from sparsetoken.estimators.members import Member, TrainingSamples
from sparsetoken.estimators.posterior_heads import likely_kinds
from sparsetoken.estimators.stack import Stack, remember, weigh_members
from sparsetoken.sequences.checks import warn_caller
from sparsetoken.sequences.data import Data, MemoryData, one_blas_thread
from sparsetoken.sequences.grouping import align_labels


@dataclass(eq=False, repr=False)
class StackClassifier(SequenceClassifier):
    """A classifier that is a list of members, weighed by their scores of held-out samples."""

    _: KW_ONLY
    class_weight: Any = None
    cv: Any = 5
    random_state: Any = None
    n_jobs: int | None = None
    _multi_class = True

    def as_stack(self) -> Stack:
        """Return the fitted stack of members."""
        return self.stack_

    @property
    def token_mean_(self) -> Floats:
        """The mean token, what contributions are counted from."""
        return self.stack_.center

    def _members(self, n_tokens: int | None) -> list[Member]:
        """Return the unfitted members; sequences have ``n_tokens`` tokens, None if it varies."""
        raise NotImplementedError

    def fit(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> Self:
        """Fit to sequences and their labels.

        Parameters
        ----------
        X, y
            As in :meth:`PooledClassifier.fit`; labels of two or more classes.
        sample_weight : array-like of shape (n,), optional
            Non-negative weights of the sequences. Only their ratios matter: a weight of two is not
            a sequence that is there twice, since calibration counts sequences. Of scikit-learn's
            ``check_estimator`` the checks of that equivalence therefore fail.
        groups : array-like of shape (n,), optional
            What each sequence belongs to, such as a patient or a document: samples of one group
            are never on both sides of a fold.
        """
        with one_blas_thread():
            data, index, weights = self._check_fit(X, y, sample_weight)
            groups = check_groups(align_labels(X, groups, "groups"), len(data))
            labelled, unlabelled, cv = np.flatnonzero(index >= 0), None, self.cv
            far, words = tokens_far_out(data, getattr(self, "feature_names_in_", None))
            used = weights > 0
            # Some of each class must remain.
            if far.any() and not np.setdiff1d(index[used], index[used & ~far]).size:
                words = f"{words}; fit leaves out {int(far.sum())} such of {len(data)}"
                warn_caller(f"{words}: mend or clip these values if they should count", UserWarning)
                weights = np.where(far, 0.0, weights)
            if len(labelled) < len(data):
                if not isinstance(data, MemoryData):
                    raise ValueError("X must fit into memory if y holds -1 for unlabelled ones")
                unlabelled = data.take(np.flatnonzero((index < 0) & (weights > 0)))
                data, index, weights = data.take(labelled), index[labelled], weights[labelled]
                groups = None if groups is None else groups[labelled]
                if not isinstance(cv, Integral) and not hasattr(cv, "split"):  # row numbers of X
                    places = np.full(len(far), -1)
                    places[labelled] = np.arange(len(labelled))
                    cv = [[places[rows][places[rows] >= 0] for rows in fold] for fold in cv]
            labels = self.classes_[index[weights > 0]]
            of_class = compute_class_weight(self.class_weight, classes=self.classes_, y=labels)
            if not (of_class > 0).all():
                given = repr(self.class_weight)
                raise ValueError(f"class_weight must be positive for every class, got {given}")
            weights = weights * of_class[index]
            self._learn(data, index, weights / weights.sum(), groups, unlabelled, cv)
        self.n_passes_ = data.passes.count
        return self

    def predict_proba(self, X: Any) -> Floats:
        """Return the probability of each class, calibrated on samples held out from ``fit``."""
        score = self.decision_function(X)
        if score.ndim == 2:
            return softmax(score, axis=1)
        return np.stack([expit(-score), expit(score)], axis=1)

    @property
    def n_kinds_(self) -> int:
        """How many kinds of signal the posterior heads find; one if there are no such heads."""
        return likely_kinds(self.stack_) or 1

    @property
    def heads_(self) -> list[Head]:
        """The heads of attention and pooling, with their weights."""
        return [
            head
            for member, weights, scales in self.stack_.parts()
            if isinstance(member, AttentionHeads)
            for head in member.heads(weights, scales, self.stack_.shift)
        ]

    def _learn(
        self, data: Data, index: Indices, weights: Floats, groups: Any, unlabelled: Any, cv: Any
    ) -> tuple[TrainingSamples, Floats]:
        """Fit the stack; return the samples that weighed its members, and its scores of these."""
        rng = generator(self.random_state)
        order, members = natural_order(data), self._members(data.n_tokens)
        everyone = TrainingSamples(data, index, weights, [], order, 0, self.n_jobs, unlabelled)
        part, rows = everyone.enough(rng)
        unseen, folds = list[Fold](), split(cv, index, weights, groups, order, rng)
        fraction = float(part.counts().sum() / everyone.counts().sum())
        if fraction < 1.0:
            for fold in folds[:1]:
                if (everyone.counts(fold.held_out) >= part.counts()).all():
                    # As many of each class that no fit sees can weigh the members: a fairer judge.
                    part, rows = everyone.enough(rng, fold.rows)
                    unseen = [fold]
            folds = _folds_within(part, rows, folds)
        seed = int(rng.integers(2**31))
        judged = part = replace(part, folds=folds, seed=seed)
        scores, center = [member.fit(part) for member in members], part.standard.mean
        self.stack_, held_out = weigh_members(members, part, scores, center)
        if fraction < 1.0:  # from there a few steps on all samples
            everyone = replace(everyone, folds=unseen, seed=seed)
            for member in members:
                member.refine(everyone)
            if unseen:
                judged, _ = everyone.enough(rng, unseen[0].held_out)
                judged.folds = [Fold(np.arange(0), np.flatnonzero(judged.weights))]
                scores = [member.held_out(judged) for member in members]
                center = everyone.standard.mean
                self.stack_, held_out = weigh_members(members, judged, scores, center)
        self.token_scale_ = part.standard.scale
        kept = judged.order[rng.permutation(len(judged.order))]
        kept = kept[judged.weights[kept] > 0]
        self.reference_ = remember(judged.data, judged.index, judged.folds, held_out, kept)
        self._name_the_leading_head(part, fraction, rng)
        return judged, held_out

    def _name_the_leading_head(
        self, training: TrainingSamples, fraction: float, rng: np.random.Generator
    ) -> None:
        """Find the head of largest weight in the leading kind, and by halves its reliability."""
        heads, of_kind = self.heads_, self.members_
        members = [m for m in self.stack_.members if isinstance(m, AttentionHeads)]
        sources = [(m, spec) for m in members for spec in m.specs for _ in range(spec.n_kinds)]
        leading, (member, spec) = max(
            zip(heads, sources, strict=True),
            key=lambda pair: (of_kind[pair[1][0].name], pair[0].weight),
        )
        self.query_, self.coef_, self.intercept_ = leading.query, leading.coef, leading.intercept
        names = ("model", "shrinkage", "reg", "auc")
        self.chosen_ = {name: getattr(leading, name) for name in names}
        self.half_auc_, self.query_reliability_ = None, 0.0
        columns = halves(training.index, training.weights, training.order, rng)
        if columns is not None and not member.pooled:
            queries, self.half_auc_ = member.half_fits(training, spec, columns)
            self.query_reliability_ = reliability(queries, 0.5 * fraction)


def _folds_within(part: TrainingSamples, rows: Indices, folds: list[Fold]) -> list[Fold]:
    """Return folds of all samples as folds of ``rows``, but none that fits without a class."""
    used = part.weights > 0
    pairs = ([np.isin(rows, of_fold) & used for of_fold in fold] for fold in folds)
    return [
        Fold(np.flatnonzero(fitted), np.flatnonzero(held_out))
        for fitted, held_out in pairs
        if held_out.any() and not np.setdiff1d(part.index, part.index[fitted]).size
    ]
