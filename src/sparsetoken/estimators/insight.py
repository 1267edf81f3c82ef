"""What people ask of a model with attention: which tokens, how sure, and what went wrong."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold
from sklearn.utils.validation import check_is_fitted

from sparsetoken._validation import check_count
from sparsetoken.estimators.base import AttentionMixin
from sparsetoken.estimators.data import MemoryData
from sparsetoken.estimators.passes import attention_features, attention_weights, pooled_features
from sparsetoken.estimators.readout import fit_readout
from sparsetoken.losses import Hinge, Logistic

__all__ = ["Diagnosis", "Explanation", "Finding", "InsightMixin", "query_reliability"]

Floats = NDArray[np.float64]


class Explanation(NamedTuple):
    """The tokens of one sequence that matter most, the heaviest first."""

    tokens: NDArray[np.int64]
    """Positions in the sequence."""
    weights: Floats
    """Attention on these tokens; over all tokens it sums to one."""
    contributions: Floats
    """What each adds to the score; over all tokens, with ``baseline``, they sum to ``score``."""
    score: float
    baseline: float
    """The score of a sequence whose tokens are all the mean training token."""


class Finding(NamedTuple):
    """One way in which attention can fail, and whether it does."""

    name: str
    found: bool
    message: str
    advice: str


@dataclass(frozen=True)
class Diagnosis:
    """What :meth:`diagnose` found.

    Parameters
    ----------
    findings : tuple of Finding
        Every failure that was looked for.
    auc : dict
        Cross-validated AUC of a readout of the attention features ("attention"), of the features
        with the query reversed ("reversed") and of the mean token ("pooled").
    """

    findings: tuple[Finding, ...]
    auc: dict[str, float]

    @property
    def problems(self) -> tuple[Finding, ...]:
        """Those failures that were found."""
        return tuple(finding for finding in self.findings if finding.found)

    def __str__(self) -> str:
        lines = [f"{problem.name}: {problem.message} {problem.advice}" for problem in self.problems]
        return "\n".join(lines) or "No problem found."


class InsightMixin(AttentionMixin):
    """Explanations and diagnoses of a classifier with a query."""

    coef_: Floats
    intercept_: float
    query_reliability_: float

    def explain(self, X: Any, top: int = 3) -> list[Explanation]:
        """Return the tokens that matter most in each sequence.

        Parameters
        ----------
        X : as in ``fit``, but not a Dask array
            The sequences.
        top : int, default=3
            How many tokens of each sequence, at most.

        Returns
        -------
        explanations : list of Explanation
            One per sequence: positions, attention weights and contributions to the score.
        """
        check_is_fitted(self)
        top = check_count("top", top)
        data = self._check_data(X, reset=False)  # type: ignore[attr-defined]
        if not isinstance(data, MemoryData):
            raise ValueError("explain needs X in memory, got a Dask array; pass part of it")
        sequences = data.mapped(getattr(self, "token_map_", None)).sequences
        weights = attention_weights(sequences, self._effective_query())
        centre = self._reference_token()
        baseline = float(self.coef_ @ centre) + self.intercept_
        contributions = weights * (sequences.tokens @ self.coef_ - self.coef_ @ centre)
        found = []
        for low, high in zip(sequences.offsets[:-1], sequences.offsets[1:], strict=True):
            here, parts = weights[low:high], contributions[low:high]
            order = np.argsort(-here, kind="stable")[:top]
            score = float(parts.sum()) + baseline
            found.append(Explanation(order, here[order], parts[order], score, baseline))
        return found

    def diagnose(self, X: Any, y: Any) -> Diagnosis:
        """Look for the failures that the theory of attention knows.

        Parameters
        ----------
        X, y : as in ``fit``
            Labelled sequences; for a fair verdict, ones that ``fit`` has not seen.

        Returns
        -------
        diagnosis : Diagnosis
            ``diagnosis.problems`` lists what was found, each with what to do; ``print`` it.
        """
        check_is_fitted(self)
        data = self._check_data(X, reset=False)  # type: ignore[attr-defined]
        sign = self._known_labels(y, len(data))  # type: ignore[attr-defined]
        data = data.mapped(getattr(self, "token_map_", None))
        query = self._effective_query()
        features = {
            "attention": data.per_sample(attention_features, query),
            "reversed": data.per_sample(attention_features, -query),
            "pooled": data.per_sample(pooled_features),
        }
        auc = {name: _cross_validated_auc(rows, sign) for name, rows in features.items()}
        attends = bool(np.any(query))
        smaller = min(int((sign > 0).sum()), int((sign < 0).sum()))
        error = float(np.sqrt(auc["pooled"] * (1.0 - auc["pooled"]) / smaller))
        reliability = self.query_reliability_
        return Diagnosis(
            (
                _unreliable(attends, reliability),
                _reversed(attends, auc, error),
                _separable(features["attention"], sign),
                _needless(attends, auc, error),
            ),
            auc,
        )

    def _reference_token(self) -> Floats:
        return np.zeros_like(self.coef_)


def query_reliability(
    learn: Callable[[Floats], Floats], sign: Floats, share: Floats, rng: np.random.Generator
) -> float:
    """Estimate the cosine between a query and the one that unlimited data would give.

    Queries learned on two halves are the limit plus independent errors, so that their cosine is
    1/(1 + t) with t the squared error over the squared length of the limit; all data halve t.
    """
    first = np.zeros(len(sign), dtype=bool)
    for label in (-1.0, 1.0):
        rows = rng.permutation(np.flatnonzero((sign == label) & (share > 0)))
        if len(rows) < 2:
            return 0.0
        first[rows[::2]] = True
    queries = [learn(np.where(half, share, 0.0) / share[half].sum()) for half in (first, ~first)]
    norms = [float(np.linalg.norm(query)) for query in queries]
    if min(norms) == 0.0:
        return 0.0
    agreement = float(queries[0] @ queries[1]) / (norms[0] * norms[1])
    if agreement <= 0.0:
        return 0.0
    return float(1.0 / np.sqrt(1.0 + 0.5 * (1.0 / agreement - 1.0)))


_LOW_RELIABILITY = 0.7


def _unreliable(attends: bool, reliability: float) -> Finding:
    return Finding(
        "unreliable query",
        attends and reliability < _LOW_RELIABILITY,
        f"Queries learned on two halves hardly agree (estimated cosine {reliability:.2f}).",
        "Collect more samples, reduce the dimension of the tokens, or strengthen the ridge.",
    )


def _reversed(attends: bool, auc: dict[str, float], error: float) -> Finding:
    return Finding(
        "anti-aligned query",
        attends and auc["reversed"] > auc["attention"] + 2.0 * error,
        f"Attention to the opposite tokens classifies better (AUC {auc['reversed']:.3f} "
        f"instead of {auc['attention']:.3f}).",
        "Match the bias step to the class prior, lower lr_readout, or use AttentionClassifier, "
        "whose start weighs both classes equally.",
    )


def _separable(features: Floats, sign: Floats) -> Finding:
    scaled = _scaled(features)
    coef, intercept = fit_readout(scaled, sign, 1e-6, Hinge())
    return Finding(
        "separable data",
        bool((sign * (scaled @ coef + intercept) > 0).all()),
        f"A readout can separate these {len(sign)} samples in {features.shape[1]} features "
        "perfectly: their loss in training says nothing about new ones.",
        "Judge by held-out samples, and keep the ridge away from zero; more samples than the "
        "capacity make the training loss informative.",
    )


def _needless(attends: bool, auc: dict[str, float], error: float) -> Finding:
    return Finding(
        "attention no better than pooling",
        not attends or auc["attention"] <= auc["pooled"] + error,
        f"The mean token classifies as well (AUC {auc['pooled']:.3f}, attention "
        f"{auc['attention']:.3f}).",
        "Use PooledClassifier, or give attention more samples; where informative tokens are not "
        "a shifted mean, try token_map=Nystroem().",
    )


def _cross_validated_auc(features: Floats, sign: Floats) -> float:
    folds = min(5, int((sign > 0).sum()), int((sign < 0).sum()))
    if folds < 2:
        raise ValueError("diagnose needs at least two samples of each class")
    scaled, scores = _scaled(features), np.empty(len(sign))
    for rows, held_out in StratifiedKFold(folds, shuffle=True, random_state=0).split(scaled, sign):
        coef, intercept = fit_readout(scaled[rows], sign[rows], 0.1, Logistic())
        scores[held_out] = scaled[held_out] @ coef + intercept
    return float(roc_auc_score(sign, scores))


def _scaled(features: Floats) -> Floats:
    deviation = features.std(axis=0)
    centred = features - features.mean(axis=0)
    return centred / np.where(deviation > 1e-9 * deviation.max(), deviation, np.inf)
