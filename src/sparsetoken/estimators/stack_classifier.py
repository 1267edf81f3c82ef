"""What the classifiers for real data share: members weighed by held-out scores."""

import warnings
from typing import Any, Self

import numpy as np
from scipy.special import expit, softmax
from sklearn.utils import compute_class_weight
from sklearn.utils.validation import check_is_fitted

from sparsetoken._types import Bools, Floats, Indices
from sparsetoken._validation import check_count, check_real
from sparsetoken.estimate import Estimate
from sparsetoken.estimators.attending import AttendingClassifier
from sparsetoken.estimators.attention_heads import AttentionHeads, Head
from sparsetoken.estimators.folds import (
    check_groups,
    generator,
    halves,
    natural_order,
    selection_rows,
    split,
    tokens_far_out,
)
from sparsetoken.estimators.members import Member, TrainingSamples
from sparsetoken.estimators.stack import Stack, fit_stack
from sparsetoken.inspection import ScoreStream
from sparsetoken.inspection.explain import reliability
from sparsetoken.inspection.stream import stream_checks
from sparsetoken.inspection.thresholds import (
    Reference,
    Scoring,
    drawn_threshold,
    held_out_threshold,
    remember,
    windowed_scores,
)
from sparsetoken.sequences.data import Data, MemoryData
from sparsetoken.sequences.grouping import align_labels
from sparsetoken.sequences.threads import one_blas_thread


class StackClassifier(AttendingClassifier):
    """A classifier that is a list of members, weighed by their scores of held-out samples."""

    _multi_class = True
    class_weight: Any
    cv: Any
    refine_steps: int
    random_state: Any
    n_jobs: int | None
    stack_: Stack
    token_mean_: Floats
    reference_: Reference
    half_auc_: float | None

    def _stack(self) -> Stack:
        return self.stack_

    def _center(self) -> Floats:
        return self.token_mean_

    def _members(self, n_tokens: int | None) -> list[Member]:
        """Return the unfitted members; sequences have ``n_tokens`` tokens, None if it varies."""
        raise NotImplementedError

    def fit(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> Self:
        """Fit to sequences and their labels.

        Parameters
        ----------
        X : array (n, L, d) or (n, d), list of (L_i, d) arrays, Sequences, or Dask array (n, L, d)
            The sequences; (n, d) means one token each.
        y : array-like of shape (n,)
            Labels of two or more classes.
        sample_weight : array-like of shape (n,), optional
            Non-negative weights of the sequences.
        groups : array-like of shape (n,), optional
            What each sequence belongs to, such as a patient or a document: samples of one group
            are never on both sides of a fold.

        Returns
        -------
        self : object
            The fitted classifier.
        """
        with one_blas_thread():
            data, index, weights = self._check_fit(X, y, sample_weight)
            groups = check_groups(align_labels(X, groups, "groups"), len(data))
            labelled, unlabelled = np.flatnonzero(index >= 0), None
            weights = np.where(self._far_out(data, index), 0.0, weights)
            if len(labelled) < len(data):
                if not isinstance(data, MemoryData):
                    raise ValueError("X must fit into memory if y holds -1 for unlabelled ones")
                unlabelled = data.take(np.flatnonzero((index < 0) & (weights > 0)))
                data, index, weights = data.take(labelled), index[labelled], weights[labelled]
                groups = None if groups is None else groups[labelled]
            weights = weights * self._class_weights(index)
            self._learn(data, index, weights / weights.sum(), groups, unlabelled)
        self.n_passes_ = data.passes.count
        return self

    def _far_out(self, data: Data, index: Indices) -> Bools:
        """Return which sequences to leave out, with a warning that names one of them.

        None are left out if that would leave a class without any.
        """
        beyond, feature = tokens_far_out(data)
        far = beyond > 0.0
        if not far.any() or np.setdiff1d(index, index[~far]).size:
            return np.zeros(len(data), dtype=bool)
        worst = int(beyond.argmax())
        name = getattr(self, "feature_names_in_", np.arange(data.dim))[feature[worst]]
        warnings.warn(
            f"sequence {worst} has a token {beyond[worst]:.2g} times as far out in feature {name} "
            f"as those of other sequences; fit leaves out {int(far.sum())} such of {len(data)}: "
            "mend or clip these values if they should count",
            UserWarning,
            stacklevel=3,
        )
        return far

    def predict_proba(self, X: Any) -> Floats:
        """Return the probability of each class, calibrated on samples held out from ``fit``."""
        score = self.decision_function(X)
        if score.ndim == 2:
            return softmax(score, axis=1)
        return np.stack([expit(-score), expit(score)], axis=1)

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
        window = _check_window(window)
        return windowed_scores(self._decide, self._check_data(X, reset=False), window)

    def threshold(
        self, fpr: float, n_tokens: int | None = None, window: int | None = None, label: Any = None
    ) -> Estimate:
        """Return the score that a fraction ``fpr`` of the negative sequences exceeds.

        Parameters
        ----------
        fpr : float
            The false-positive rate to hold, in (0, 1).
        n_tokens : int, optional
            The length of the sequences to be scored. By default they are like those of ``fit``,
            and the threshold is a quantile of the scores of negatives that were held out. For
            another length, sequences of that many tokens are made of negatives of ``fit``, one
            after the other, so that tokens which belong together stay together.
        window : int, optional
            The window of :meth:`decision_function` that the threshold is for. A stream looks at
            more windows than these: :meth:`stream` has a threshold of its own.
        label : optional
            The class whose scores it is for; needed for more than two classes. Of two it is
            ``classes_[1]``.

        Returns
        -------
        threshold : Estimate
            A float to compare with :meth:`decision_function`. Its ``uncertainty`` is the standard
            error: from the number of negatives and, for another length, from how much the folds of
            ``fit`` differ. Where fewer than ten negatives score higher, the tail of their scores is
            continued as that of a normal law.
            The true false-positive rate lies between the two numbers of ``rate_interval`` in 8 of
            10 cases. ``converged`` is False if it may be off by more than a factor of 1.5. To be
            that sure takes about ``10 / fpr`` negatives, and for sequences k times as long as those
            of ``fit`` k times as many. If there are 40 times too few, a warning says how many would
            be enough.
        """
        check_is_fitted(self)
        fpr = check_real("fpr", fpr, low=0.0, high=1.0, above=True)
        labels = self.classes_.tolist()
        if len(labels) == 2 and label == labels[0]:
            raise ValueError(
                f"label must be {labels[1]!r}, the one of two classes that large scores speak for, "
                f"got {label!r}"
            )
        if n_tokens is None and window is None:
            return held_out_threshold(self.reference_.held_out(*self._column_of(label)), fpr)
        length = round(self.reference_.lengths[0]) if n_tokens is None else n_tokens
        length = check_count("n_tokens", length)
        return self._drawn_threshold(fpr, label, length, _check_window(window))

    def stream(
        self, *, fpr: float | None = None, n_tokens: int | None = None, window: int | None = None
    ) -> ScoreStream:
        """Return an object that takes one sequence token by token, and knows its score.

        Parameters
        ----------
        fpr : float, optional
            With it, ``stream.alarm`` becomes True for this fraction of harmless sequences of
            ``n_tokens`` tokens, at any time. The score is looked at up to 32 times, evenly spaced,
            or at least twice a window, and not before there are as many tokens as in the shortest
            tenth of the training sequences, or the window is full.
        n_tokens : int, optional
            The length of a whole sequence; needed with ``fpr``.
        window : int, optional
            Score only the last ``window`` tokens, and keep only these in memory.

        Examples
        --------
        >>> import sparsetoken as st
        >>> X, y = st.SparseTokenProblem(n_tokens=10, signal=5.0).sample(200, 20, random_state=0)
        >>> clf = st.AttentionClassifier(random_state=0).fit(X, y)
        >>> stream = clf.stream(fpr=0.05, n_tokens=10)
        >>> for token in X[y == 1][0]:
        ...     score = stream.update(token)
        >>> stream.alarm
        True
        """
        check_is_fitted(self)
        if fpr is None:
            return super().stream(window=window)
        if n_tokens is None:
            raise ValueError("n_tokens must be given with fpr: how long a whole sequence is")
        if len(self.classes_) > 2:
            raise ValueError("fpr needs a classifier of two classes; compare stream.score yourself")
        fpr = check_real("fpr", fpr, low=0.0, high=1.0, above=True)
        length = check_count("n_tokens", n_tokens)
        window = _check_window(window)
        warm_up = max(2, round(self.reference_.lengths[1])) if window is None else window
        checks = stream_checks(length, warm_up, window)
        threshold = self._drawn_threshold(fpr, None, length, window, checks)
        return ScoreStream(self.stack_, self.n_features_in_, window, threshold, checks)

    @property
    def members_(self) -> dict[str, float]:
        """The weight of each member, of sum one."""
        totals: dict[str, float] = {}
        for member, weights, _ in self.stack_.parts():
            totals[member.name] = totals.get(member.name, 0.0) + float(weights.sum())
        return totals

    @property
    def heads_(self) -> list[Head]:
        """The heads of attention and pooling; ``query_``, ``coef_``, ``intercept_`` are those of
        the one with the largest weight.
        """  # noqa: D205
        return [
            head
            for member, weights, scales in self.stack_.parts()
            if isinstance(member, AttentionHeads)
            for head in member.heads(weights, scales, self.stack_.shift)
        ]

    def _learn(
        self, data: Data, index: Indices, weights: Floats, groups: Any, unlabelled: Any
    ) -> None:
        rng = generator(self.random_state)
        order = natural_order(data)
        rows, stands_for = selection_rows(data, index, order, rng)
        subset, subset_index = data, index
        subset_weights = np.zeros(len(index))
        subset_weights[rows] = weights[rows] * stands_for
        fits = data.lengths[rows].sum() * data.dim <= data.memory_budget  # else by passes over all
        if fits and not (isinstance(data, MemoryData) and len(rows) == len(data)):
            subset, subset_index = data.take(rows), index[rows]
            subset_weights = subset_weights[rows]
            groups = None if groups is None else groups[rows]
            order = np.argsort(order)[rows].argsort()
        subset_weights /= subset_weights.sum()
        folds = split(self.cv, subset_index, subset_weights, groups, order, rng)
        common = int(rng.integers(2**31)), self.n_jobs, unlabelled
        training = TrainingSamples(subset, subset_index, subset_weights, folds, order, *common)
        self.stack_, held_out = fit_stack(self._members(data.n_tokens), training)
        if len(rows) < len(data):  # from there a few steps on all samples
            everyone = np.arange(len(data))
            everything = TrainingSamples(data, index, weights, [], everyone, *common)
            for member in self.stack_.members:
                member.refine(everything)
        self.token_mean_, self.token_scale_ = training.mean, training.scale
        kept = order[rng.permutation(len(order))]
        self.reference_ = remember(subset, subset_index, folds, held_out, kept)
        self._name_the_leading_head(training, len(rows) / len(data), rng)
        self._look_closer(training, held_out)

    def _look_closer(self, training: TrainingSamples, held_out: Floats) -> None:
        """Learn what else a classifier has to say: nothing by default."""

    def _name_the_leading_head(
        self, training: TrainingSamples, fraction: float, rng: np.random.Generator
    ) -> None:
        """Find the head of largest weight in the leading kind, and from halves how reliable it is.

        ``fraction`` says what part of all samples the training ones are.
        """
        heads, of_kind = self.heads_, self.members_
        members = [m for m in self.stack_.members if isinstance(m, AttentionHeads)]
        sources = [(member, spec) for member in members for spec in member.specs]
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

    def _class_weights(self, index: Indices) -> Floats:
        weights = compute_class_weight(
            self.class_weight, classes=self.classes_, y=self.classes_[index]
        )
        if not (weights > 0).all():
            raise ValueError(
                f"class_weight must be positive for every class, got {self.class_weight!r}"
            )
        return weights[index]

    def _drawn_threshold(self, fpr: float, label: Any, *scored: Any) -> Estimate:
        """Return a threshold for scores by length, window and checks."""
        column, is_negative = self._column_of(label)
        query, coef = (np.atleast_2d(rows)[column] for rows in (self.query_, self.coef_))
        scoring = Scoring(column, query if query.any() else coef, *scored)
        return drawn_threshold(self.stack_, self.reference_, is_negative, scoring, fpr)


def _check_window(window: Any) -> int | None:
    return None if window is None else check_count("window", window)
