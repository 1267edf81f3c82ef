"""The choice of coordinates and ridge by cross-validation, and calibration on what it held out."""

from collections.abc import Callable
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from scipy.optimize import minimize
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold, check_cv

from sparsetoken._validation import check_count
from sparsetoken.estimators.data import Data
from sparsetoken.estimators.refine import Model, fit_attention, fit_pooled
from sparsetoken.estimators.standardize import Standard
from sparsetoken.losses import Logistic

__all__ = ["Candidate", "calibrate", "choose", "cross_validate", "split"]

Floats = NDArray[np.float64]


class Candidate(NamedTuple):
    """A way to fit the classifier."""

    model: str
    """Which kind: "attention" or "pooled"."""
    shrinkage: float | None
    reg: float

    def fit(self, data: Data, sign: Floats, share: Floats, standard: Standard, steps: int) -> Model:
        """Fit this candidate to the samples of positive share."""
        if self.model == "pooled":
            return fit_pooled(data, sign, share, self.reg, standard)
        return fit_attention(data, sign, share, self.reg, standard, steps)

    def __str__(self) -> str:
        return f"{self.model}, shrinkage {self.shrinkage}, reg {self.reg:g}"


class Fold(NamedTuple):
    """The samples of a fit and those that judge it."""

    rows: NDArray[np.int64]
    held_out: NDArray[np.int64]


def split(cv: Any, sign: Floats, share: Floats, rng: np.random.Generator) -> list[Fold]:
    """Return the folds: none if a class has fewer than two samples."""
    if isinstance(cv, Integral):
        smaller = min(int((sign[share > 0] == label).sum()) for label in (-1.0, 1.0))
        if smaller < 2:
            return []
        n_folds = min(check_count("cv", cv, minimum=2), smaller)
        cv = StratifiedKFold(n_folds, shuffle=True, random_state=int(rng.integers(2**31)))
    folds = [Fold(*fold) for fold in check_cv(cv).split(sign, sign)]
    for fold in folds:
        if np.unique(sign[fold.rows][share[fold.rows] > 0]).size < 2:
            raise ValueError("cv must leave samples of both classes to every fit")
    return folds


class Trial(NamedTuple):
    """A candidate, its scores of held-out samples, and how well these rank the samples."""

    candidate: Candidate
    scores: Floats
    """Score of each sample from a fit without it; NaN for one that was never held out."""
    auc: float


def cross_validate(
    candidates: list[Candidate],
    standards: dict[float | None, Standard],
    data: Data,
    sign: Floats,
    share: Floats,
    folds: list[Fold],
    steps: int,
    n_jobs: int | None,
    report: Callable[[str], Any],
) -> list[Trial]:
    """Return each candidate's scores of samples it has not seen.

    A held-out sample has share zero in the fit, so that no fold copies any tokens.
    """

    def scores_of(candidate: Candidate, fold: Fold) -> Floats:
        kept = np.zeros_like(share)
        kept[fold.rows] = share[fold.rows] / share[fold.rows].sum()
        model = candidate.fit(data, sign, kept, standards[candidate.shrinkage], steps)
        return model.decide(data)[fold.held_out]

    # Threads: the work is in NumPy and SciPy, and the tokens are shared.
    parts = Parallel(n_jobs=n_jobs, prefer="threads")(
        delayed(scores_of)(candidate, fold) for candidate in candidates for fold in folds
    )
    trials = []
    for number, candidate in enumerate(candidates):
        scores = np.full(len(sign), np.nan)
        for fold, part in zip(folds, parts[number * len(folds) :], strict=False):
            scores[fold.held_out] = part
        seen = np.isfinite(scores)
        auc = float(roc_auc_score(sign[seen], scores[seen], sample_weight=share[seen]))
        report(f"{candidate}: AUC {auc:.4f}")
        trials.append(Trial(candidate, scores, auc))
    return trials


def choose(trials: list[Trial], sign: Floats) -> Trial:
    """Return the best attention, or pooling if that is better by a standard error of the AUC."""
    best: dict[str, Trial] = {}
    for trial in trials:
        kind = trial.candidate.model
        if kind not in best or trial.auc > best[kind].auc:
            best[kind] = trial
    if len(best) == 1:
        return best.popitem()[1]
    pooled, attention = best["pooled"], best["attention"]
    smaller = min(int((sign > 0).sum()), int((sign < 0).sum()))
    error = np.sqrt(attention.auc * (1.0 - attention.auc) / smaller)
    return pooled if pooled.auc > attention.auc + error else attention


def calibrate(model: Model, scores: Floats, sign: Floats, share: Floats) -> Model:
    """Return ``model`` with its score scaled and shifted to fit the labels of held-out samples.

    The fitted score is too sure of itself wherever the classifier has overfitted. A weak prior
    keeps the scale positive and the threshold near its place when the scores tell little.
    """
    seen = np.isfinite(scores)
    scores, sign, share = scores[seen], sign[seen], share[seen] / share[seen].sum()
    n_samples = len(sign)

    def objective(point: Floats) -> float:
        fit = share @ Logistic.value(np.exp(point[0]) * scores + point[1], sign)
        prior = 0.5 * point[0] ** 2 + 0.5 * (point[1] / _SHIFT) ** 2
        return float(fit + prior / n_samples)

    log_scale, shift = minimize(objective, np.zeros(2), method="BFGS").x
    scale = float(np.exp(log_scale))
    return model._replace(coef=scale * model.coef, intercept=scale * model.intercept + float(shift))


_SHIFT = 0.35  # prior deviation of the shift, in units of the calibrated score (log-odds)
