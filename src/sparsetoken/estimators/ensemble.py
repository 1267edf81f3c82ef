"""What the classifiers for real data share: heads of several kinds, weighed by held-out scores."""

from copy import copy
from functools import partial
from numbers import Real
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, softmax
from sklearn.base import clone
from sklearn.kernel_approximation import Nystroem
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import compute_class_weight

from sparsetoken._validation import check_count, check_real
from sparsetoken.estimators.base import SequenceClassifier
from sparsetoken.estimators.head_passes import Heads, linear_scores
from sparsetoken.estimators.heads import Candidate, Job, fit_heads
from sparsetoken.estimators.insight import HeadMaps, InsightMixin, reliability
from sparsetoken.estimators.randomness import generator
from sparsetoken.estimators.search import Fold, check_groups, split, tuning_rows
from sparsetoken.estimators.serving import ServingMixin
from sparsetoken.estimators.threads import one_blas_thread
from sparsetoken.estimators.trial import Others, Trial, class_signs, in_data, run_trial
from sparsetoken.sequences.data import Data, MemoryData

__all__ = ["Ensemble", "Head"]

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]

_SHRINKAGES = (1.0, 0.3)
_REGS = (0.1, 0.03)
_REGS_OF_COMMON_SCALE = (0.1, 0.03, 0.01)
_POOLED_REGS = (0.1, 0.01)
_LARGEST_COVARIANCE = 1000  # features; the cost of whitening grows with their third power
_COMPONENTS = 200  # of the kernel map that token_map="auto" tries


class Head(NamedTuple):
    """One of several heads: its score is ⟨coef, Xᵀ softmax(X query)⟩ + intercept, within limits."""

    model: str
    """Which kind: "attention", or "pooled", whose query is zero."""
    shrinkage: float | None
    reg: float
    auc: float | None
    """Of held-out samples, None if there were too few; of several classes the mean."""
    weight: float
    """Its part in the score."""
    query: Floats
    """(d,), or (classes, d) for more than two."""
    coef: Floats
    intercept: Any
    limits: tuple[Any, Any]
    """Scores beyond count as these: a little wider than the scores of held-out samples."""


class Ensemble(InsightMixin, ServingMixin, SequenceClassifier):
    """Heads of attention and pooling, and perhaps another member, as one classifier."""

    _multi_class = True
    reg: Any = "auto"
    shrinkage: Any = "auto"
    token_map: Any = None
    class_weight: Any
    cv: Any
    refine_steps: int
    random_state: Any
    n_jobs: int | None
    verbose: int

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
            data, index, share = self._check_fit(X, y, sample_weight)
            self._learn(data, index, share, check_groups(groups, len(data)))
        self.n_passes_ = data.passes.count
        return self

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the predicted label of each sequence."""
        score = self.decision_function(X)
        index = (score > 0).astype(int) if score.ndim == 1 else score.argmax(axis=1)
        return self.classes_[index]

    def predict_proba(self, X: Any) -> Floats:
        """Return the probability of each class, calibrated on samples held out from ``fit``."""
        score = self.decision_function(X)
        if score.ndim == 2:
            return softmax(score, axis=1)
        return np.stack([expit(-score), expit(score)], axis=1)

    @property
    def heads_(self) -> list[Head]:
        """The heads, in no particular order; ``query_``, ``coef_``, ``intercept_`` are those of
        the one with the largest weight.
        """  # noqa: D205
        several = len(self.classes_) > 2
        return [
            Head(
                model,
                shrinkage,
                reg,
                auc,
                float(weight),
                query if several else query[0],
                coef if several else coef[0],
                intercept if several else float(intercept[0]),
                tuple(limits if several else limits[:, 0].tolist()),
            )
            for (model, shrinkage, reg, auc), weight, query, coef, intercept, limits in zip(
                self.head_kinds_,
                self.head_weights_,
                self.head_queries_,
                self.head_coefs_,
                self.head_intercepts_,
                self.head_limits_.swapaxes(0, 1),
                strict=True,
            )
        ]

    def _learn(self, data: Data, index: Indices, share: Floats, groups: Any) -> None:
        steps = check_count("refine_steps", self.refine_steps)
        rng = generator(self.random_state)
        share = share * self._class_weights(index)
        share = share / share.sum()
        rows, stands_for = tuning_rows(data, index, rng)
        few, some, part = data.take(rows), index[rows], share[rows] * stands_for
        part = part / part.sum()
        folds = split(self.cv, some, part, None if groups is None else groups[rows], rng)
        seed = int(rng.integers(2**31))
        trials = [
            run_trial(
                few.mapped(token_map),
                token_map,
                some,
                part,
                self._candidates(few.mapped(token_map), token_map is not None),
                folds,
                steps,
                partial(self._fit_others, index=some, share=part, folds=folds, seed=seed),
            )
            for token_map in self._token_maps(few, seed)
        ]
        best = min(trials, key=lambda trial: trial.loss)
        heads = best.search.heads
        if len(rows) < len(data):  # from there a few steps on all samples
            jobs = [Job(c, k, 0) for c in best.candidates for k in range(best.signs.shape[1])]
            heads = fit_heads(
                data.mapped(best.token_map),
                class_signs(index),
                share[:, np.newaxis],
                best.standard,
                jobs,
                steps,
                heads,
            )
        self._keep(best, heads)
        self._keep_for_serving(best, few, some, folds, rng)
        found = best.half_fits(some, part, steps, rng)
        self.half_auc_ = None if found is None else found[1]
        self.query_reliability_ = (
            0.0 if found is None else reliability(found[0], 0.5 * len(rows) / len(data))
        )

    def _token_maps(self, few: MemoryData, seed: int) -> list[Any]:
        """Return fitted maps to choose from, each with the scaling before it; None is no map."""
        if self.token_map is None:
            return [None]
        tokens, maps = few.sequences.tokens, [self.token_map]
        if isinstance(self.token_map, str):
            if self.token_map != "auto":
                raise ValueError(
                    f'token_map must be "auto", None or a transformer, got {self.token_map!r}'
                )
            count = min(_COMPONENTS, len(tokens))
            maps = [None, Nystroem(n_components=count, random_state=seed)]
        return [
            None if one is None else make_pipeline(StandardScaler(), clone(one)).fit(tokens)
            for one in maps
        ]

    def _candidates(self, data: Data, mapped: bool) -> list[Candidate]:
        """Return the heads to fit."""
        shrinkages: tuple[float | None, ...]
        if self.shrinkage != "auto":
            shrinkages = (_check_shrinkage(self.shrinkage),)
        elif mapped:  # a map's outputs come in a geometry of their own
            shrinkages = (None,)
        else:
            shrinkages = _SHRINKAGES if data.dim <= _LARGEST_COVARIANCE else _SHRINKAGES[:1]
        regs: tuple[float, ...] = _REGS if None not in shrinkages else _REGS_OF_COMMON_SCALE
        if self.reg != "auto":
            if isinstance(self.reg, str):
                raise ValueError(f'reg must be "auto" or a number > 0, got {self.reg!r}')
            regs = (check_real("reg", self.reg, low=0.0, above=True),)
        attention = [Candidate("attention", s, reg) for s in shrinkages for reg in regs]
        pooled = [Candidate("pooled", s, reg) for s in shrinkages for reg in _POOLED_REGS]
        if data.n_tokens == 1:  # nothing to attend to
            return pooled
        return attention if "auto" not in (self.reg, self.shrinkage) else attention + pooled

    def _fit_others(
        self,
        data: MemoryData,
        index: Indices,
        share: Floats,
        folds: list[Fold],
        seed: int,
    ) -> Others:
        """Fit members that are no heads to scaled tokens: none here."""
        return Others(None, np.empty((0, len(index), class_signs(index).shape[1])))

    def _keep(self, best: Trial, heads: Heads) -> None:
        """Set the learned attributes: heads in the coordinates of the data, calibrated."""
        n_heads = len(best.candidates)
        self.token_map_ = best.token_map
        self.token_mean_, self.token_scale_ = best.standard.mean, best.standard.scale
        self.head_kinds_ = [
            (*candidate, auc) for candidate, auc in zip(best.candidates, best.aucs, strict=True)
        ]
        self.head_weights_ = best.stack.weights[:n_heads]
        self.head_queries_, self.head_coefs_, self.head_intercepts_, self.head_limits_ = in_data(
            heads, best.standard, best.stack, best.limits
        )
        self.fold_heads_ = [
            in_data(part, best.standard, best.stack, best.limits)[:3]
            for part in best.search.fold_heads
        ]
        found = self.heads_
        leading = found[int(np.argmax(self.head_weights_))]
        self.query_, self.coef_, self.intercept_ = leading.query, leading.coef, leading.intercept
        self.chosen_ = {
            name: getattr(leading, name) for name in ("model", "shrinkage", "reg", "auc")
        }
        for head in found:
            auc = "" if head.auc is None else f", AUC {head.auc:.4f}"
            self._report(f"{Candidate(*head[:3])}{auc}, weight {head.weight:.3f}")

    def _class_weights(self, index: Indices) -> Floats:
        weights = compute_class_weight(
            self.class_weight, classes=self.classes_, y=self.classes_[index]
        )
        return weights[index]

    def _decide(self, data: Data) -> Floats:
        score = self._decide_mapped(data.mapped(self.token_map_))
        return score[:, 0] if score.shape[1] == 1 else score

    def _decide_mapped(self, data: Data) -> Floats:
        """Return the scores (n, classes) of mapped tokens by all members."""
        found = np.clip(self._head_scores(data), *self.head_limits_)
        return self._weigh(found) + self._other_scores(data)

    def _head_scores(self, data: Data) -> Floats:
        """Return the scores (n, heads, classes) before they are limited."""
        n_heads, n_classes, dim = self.head_queries_.shape
        columns = (part.reshape(-1, dim).T for part in (self.head_queries_, self.head_coefs_))
        parts = data.per_sample(linear_scores, *columns).reshape(-1, n_heads, n_classes)
        return parts + self.head_intercepts_

    def _weigh(self, parts: Floats) -> Floats:
        return np.einsum("nmc,m->nc", parts, self.head_weights_)

    def _other_scores(self, data: Data) -> Any:
        """Return what members that are no heads add to the scores, (n, classes): nothing here."""
        return 0.0

    def _whole_scores(self, data: Data) -> Floats:
        parts = self._head_scores(data)
        beyond = np.clip(parts, *self.head_limits_) - parts
        return self._weigh(beyond) + self._other_scores(data)

    def _tail_direction(self, column: int) -> Floats | None:
        """Return the direction in which tokens stand out, if they are not mapped."""
        if self.token_map_ is not None:
            return None
        leading = int(np.argmax(self.head_weights_))
        query, coef = self.head_queries_[leading, column], self.head_coefs_[leading, column]
        return query if query.any() else coef

    def _without_fold(self, fold: int) -> Self:
        """Return the classifier that was fitted without a fold."""
        other = copy(self)
        other.head_queries_, other.head_coefs_, other.head_intercepts_ = self.fold_heads_[fold]
        return other

    def _linear(self, label: int) -> HeadMaps:
        return HeadMaps(
            self.head_queries_[:, label].T,
            self.head_coefs_[:, label].T,
            self.head_intercepts_[:, label],
            self.head_weights_,
            self.token_mean_,
            np.broadcast_to(self.head_limits_, (2, *self.head_intercepts_.shape))[:, :, label],
        )

    def _leading_queries(self) -> Floats:
        return np.atleast_2d(self.query_)

    def _report(self, line: str) -> None:
        if self.verbose:
            print(f"[{type(self).__name__}] {line}", flush=True)


def _check_shrinkage(shrinkage: Any) -> float | None:
    if shrinkage is None or (isinstance(shrinkage, Real) and 0.0 < float(shrinkage) <= 1.0):
        return None if shrinkage is None else float(shrinkage)
    raise ValueError(f'shrinkage must be "auto", None or a number in (0, 1], got {shrinkage!r}')
