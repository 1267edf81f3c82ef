"""Attention for real data."""

from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils import compute_class_weight

from sparsetoken._validation import check_count, check_real
from sparsetoken.estimators.base import SequenceClassifier
from sparsetoken.estimators.data import Data, MemoryData
from sparsetoken.estimators.insight import InsightMixin, query_reliability
from sparsetoken.estimators.passes import attention_features
from sparsetoken.estimators.randomness import generator
from sparsetoken.estimators.search import Candidate, calibrate, choose, cross_validate, split
from sparsetoken.estimators.standardize import standardize

__all__ = ["AttentionClassifier"]

Floats = NDArray[np.float64]

_SHRINKAGES = (1.0, 0.3)
_REGS = (0.03, 0.01, 0.1)  # the first is used where there are too few samples to choose
_REGS_OF_COMMON_SCALE = (0.03, 0.1, 0.01, 0.003)
_POOLED_REGS = (0.01, 0.1, 1.0)
_LARGEST_COVARIANCE = 1000  # features; the cost of whitening grows with their third power
_TUNING_NUMBERS = 2**25  # numbers in the tokens that the choice is made on: 256 MB


class AttentionClassifier(InsightMixin, SequenceClassifier):
    """Attention for real data: finds the few informative tokens, good with default arguments.

    Tokens are centred and scaled, or whitened; a class-balanced two-step query is the start; query
    and readout are then learned together by L-BFGS. Coordinates and ridge are chosen by
    cross-validated AUC, among them mean pooling, which wins if attention does not pay. The scores
    that cross-validation held out calibrate the probabilities.

    Parameters
    ----------
    reg : float or "auto", default="auto"
        Ridge λ on query and readout in standard coordinates.
    shrinkage : float, None or "auto", default="auto"
        How far the tokens' correlations are drawn to zero before whitening: 1 only scales each
        feature, None scales all alike. By default 1 or 0.3, whichever is better; 1 for tokens of
        more than 1000 features; and None with a ``token_map``.
    token_map : transformer or None, default=None
        A scikit-learn transformer applied to each token first, such as ``Nystroem``: for data
        whose informative tokens are not a shifted mean. It is cloned and fitted on the tokens.
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes, as in scikit-learn.
    cv : int, splitter or iterable, default=5
        Folds of the cross-validation, as in scikit-learn; an int means stratified folds, at most
        as many as the smaller class has samples.
    refine_steps : int, default=60
        Most steps of L-BFGS; stopping early is part of the regularisation.
    random_state : int, Generator, RandomState or None, default=None
        Decides the folds.
    n_jobs : int or None, default=None
        Threads for the cross-validation, as in scikit-learn.
    verbose : int, default=0
        Whether to print what the cross-validation found.

    Attributes
    ----------
    query_ : ndarray of shape (d,)
        The query: the token weights are ``softmax(X query_)``. Zero if pooling was chosen.
    coef_, intercept_ : ndarray of shape (d,), float
        The calibrated readout of ``Xᵀ softmax(X query_)``.
    query_reliability_ : float
        Estimated cosine between the query and the one that unlimited data would give: from the
        agreement of queries learned on two halves. Zero if pooling was chosen.
    chosen_ : dict
        What the cross-validation chose: model, shrinkage, reg, and the AUC of held-out samples
        (None if there were too few to choose).
    token_mean_ : ndarray of shape (d,)
        The mean token, what contributions are counted from.
    token_map_ : transformer or None
        The fitted token map; with one, d above is its number of outputs.
    classes_ : ndarray of shape (2,)
        The labels; a positive score means the second.
    n_features_in_ : int
        The dimension of the tokens.

    Notes
    -----
    The choice is made on at most 2²⁵ numbers: of larger data, on samples drawn at random. All data
    are used for the final fit. With a Dask array these samples are the only tokens that come to
    the client; standardisation, start and refinement are sums over its chunks.

    Examples
    --------
    >>> import sparsetoken as st
    >>> problem = st.SparseTokenProblem(n_tokens=10, signal=5.0)
    >>> X, y, truth = problem.sample(200, 20, random_state=0, return_truth=True)
    >>> X_new, y_new = problem.sample(500, 20, random_state=1, direction=truth.direction)
    >>> clf = st.AttentionClassifier(random_state=0).fit(X, y)
    >>> clf.score(X_new, y_new)
    0.97...
    """

    def __init__(
        self,
        reg: float | str = "auto",
        shrinkage: float | str | None = "auto",
        token_map: Any = None,
        class_weight: Any = None,
        cv: Any = 5,
        refine_steps: int = 60,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.reg = reg
        self.shrinkage = shrinkage
        self.token_map = token_map
        self.class_weight = class_weight
        self.cv = cv
        self.refine_steps = refine_steps
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _fit(self, data: Data, sign: Floats, share: Floats) -> None:
        steps = check_count("refine_steps", self.refine_steps)
        rng = generator(self.random_state)
        share = share * self._class_weights(sign)
        share = share / share.sum()
        rows = _tuning_rows(data, rng)
        few, few_sign, few_share = data.take(rows), sign[rows], share[rows] / share[rows].sum()
        self.token_map_ = None
        if self.token_map is not None:
            self.token_map_ = clone(self.token_map).fit(few.sequences.tokens)
        data, few = data.mapped(self.token_map_), few.mapped(self.token_map_)

        candidates = self._candidates(few)
        shrinkages = tuple(dict.fromkeys(candidate.shrinkage for candidate in candidates))
        standards = standardize(few, few_share, shrinkages)
        best = None
        folds = split(self.cv, few_sign, few_share, rng)
        if folds:
            few_data = (few, few_sign, few_share)
            trials = cross_validate(
                candidates, standards, *few_data, folds, steps, self.n_jobs, self._report
            )
            best = choose(trials, few_sign)
        candidate = candidates[0] if best is None else best.candidate
        self._report(f"chosen: {candidate}")
        standard = standards[candidate.shrinkage]
        if len(rows) < len(data):
            (standard,) = standardize(data, share, (candidate.shrinkage,)).values()
        model = candidate.fit(data, sign, share, standard, steps)
        if best is not None:
            model = calibrate(model, best.scores, few_sign, few_share)
        self.query_, self.coef_, self.intercept_ = model[:3]
        self.token_mean_ = standard.mean
        self.chosen_ = {**candidate._asdict(), "auc": None if best is None else best.auc}
        self.query_reliability_ = 0.0
        if candidate.model == "attention":
            self.query_reliability_ = query_reliability(
                lambda half: candidate.fit(data, sign, half, standard, steps).standard_query,
                sign,
                share,
                rng,
            )

    def _candidates(self, data: MemoryData) -> list[Candidate]:
        """Return what to choose from; the first is used where there are too few samples."""
        shrinkages: tuple[float | None, ...]
        if self.shrinkage != "auto":
            shrinkages = (_check_shrinkage(self.shrinkage),)
        elif self.token_map is not None:  # its outputs come in a geometry of their own
            shrinkages = (None,)
        else:
            shrinkages = _SHRINKAGES if data.dim <= _LARGEST_COVARIANCE else _SHRINKAGES[:1]
        regs: tuple[float, ...] = _REGS if None not in shrinkages else _REGS_OF_COMMON_SCALE
        if self.reg != "auto":
            if isinstance(self.reg, str):
                raise ValueError(f'reg must be "auto" or a number > 0, got {self.reg!r}')
            regs = (check_real("reg", self.reg, low=0.0, above=True),)
        pooled = [Candidate("pooled", s, reg) for s in shrinkages for reg in _POOLED_REGS]
        if data.n_tokens == 1:  # nothing to attend to
            return pooled
        return [Candidate("attention", s, reg) for s in shrinkages for reg in regs] + pooled

    def _class_weights(self, sign: Floats) -> Floats:
        index = (sign > 0).astype(int)
        weights = compute_class_weight(
            self.class_weight, classes=self.classes_, y=self.classes_[index]
        )
        return weights[index]

    def _features(self, data: Data) -> Floats:
        return data.mapped(self.token_map_).per_sample(attention_features, self.query_)

    def _reference_token(self) -> Floats:
        return self.token_mean_

    def _report(self, line: str) -> None:
        if self.verbose:
            print(f"[AttentionClassifier] {line}", flush=True)


def _check_shrinkage(shrinkage: Any) -> float | None:
    if shrinkage is None or (isinstance(shrinkage, Real) and 0.0 < float(shrinkage) <= 1.0):
        return None if shrinkage is None else float(shrinkage)
    raise ValueError(f'shrinkage must be "auto", None or a number in (0, 1], got {shrinkage!r}')


def _tuning_rows(data: Data, rng: np.random.Generator) -> NDArray[np.int64]:
    """Return the samples that the choice is made on: all of them, unless there are very many."""
    n_samples = len(data)
    affordable = max(1, int(_TUNING_NUMBERS * n_samples / data.size))
    if affordable >= n_samples:
        return np.arange(n_samples)
    return np.sort(rng.choice(n_samples, affordable, replace=False))
