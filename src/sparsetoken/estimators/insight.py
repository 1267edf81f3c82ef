"""What people ask of a model with attention: which tokens, and how sure."""

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from sparsetoken._validation import check_count, import_extra
from sparsetoken.estimators.base import is_ragged
from sparsetoken.estimators.diagnosis import Diagnosis, diagnose
from sparsetoken.estimators.head_passes import linear_contributions
from sparsetoken.estimators.search import tuning_rows
from sparsetoken.estimators.streaming import StreamMixin
from sparsetoken.sequences.chunks import is_dask
from sparsetoken.sequences.data import Data, MemoryData
from sparsetoken.sequences.sequences import Sequences

__all__ = ["Explanation", "HeadMaps", "InsightMixin", "reliability"]

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]


_NO_LIMITS = np.array([[-np.inf], [np.inf]])


class HeadMaps(NamedTuple):
    """Heads of one class, a column each: the score is Σ weight·(⟨coef, feature⟩ + intercept)."""

    queries: Floats
    coefs: Floats
    intercepts: Floats
    weights: Floats
    centre: Floats
    """The token that contributions are counted from."""
    limits: Floats = _NO_LIMITS
    """Bounds of each head's score, shape (2, heads)."""

    def baseline(self) -> float:
        """Return the score of sequences whose tokens are all ``centre``."""
        return float((self.centre @ self.coefs + self.intercepts) @ self.weights)

    def per_token(self, sequences: Sequences) -> Floats:
        """Return attention, of sum one over a sequence, and contribution of every token."""
        found = linear_contributions(sequences, self.queries, self.coefs, self.weights, self.centre)
        total = self.weights.sum()
        if total > 0:
            found[:, 0] /= total
        else:  # no head counts: the plain average of what they look at
            even = np.full_like(self.weights, 1.0 / len(self.weights))
            found[:, 0] = self._replace(weights=even).per_token(sequences)[:, 0]
        return found


class Explanation(NamedTuple):
    """The tokens of one sequence that matter most, the heaviest first."""

    tokens: NDArray[np.int64]
    """Positions in the sequence."""
    weights: Floats
    """Attention on these tokens; over all tokens it sums to one."""
    contributions: Floats
    """What each adds to the score; over all tokens, with ``baseline`` and ``whole``, they sum to
    ``score``. A positive one speaks for ``label``."""
    score: float
    baseline: float
    """The score of a sequence whose tokens are all the mean training token."""
    label: Any
    """The class that positive contributions and a positive score speak for."""
    whole: float = 0.0
    """What statistics of the sequence as a whole add to the score, and what limits of the heads'
    scores take away."""

    def to_frame(self) -> Any:
        """Return the tokens as a pandas DataFrame: token, weight, contribution, speaks_for.

        ``speaks_for`` is the label, or "not" and the label for a negative contribution.
        """
        pandas = import_extra("pandas", "to_frame")
        return pandas.DataFrame(
            {
                "token": self.tokens,
                "weight": self.weights,
                "contribution": self.contributions,
                "speaks_for": np.where(
                    self.contributions >= 0, f"{self.label}", f"not {self.label}"
                ),
            }
        )


class InsightMixin(StreamMixin):
    """Attention, explanations and diagnoses of a classifier with queries.

    A subclass gives ``_linear(column)``, the heads of a class, and ``_leading_queries()``, one for
    each class.
    """

    classes_: NDArray[Any]
    query_reliability_: float

    def attention(self, X: Any, label: Any = None) -> Any:
        """Return the weight of every token; the weights of a sequence sum to one.

        Parameters
        ----------
        X : as in ``fit``
            The sequences.
        label : optional
            The class to look at, if there are more than two; by default the one that is predicted
            for the sequence.

        Returns
        -------
        weights : ndarray of shape (n, L), or list of ndarrays of shape (L_i,)
            An array if ``X`` is one, a list if ``X`` is a list or Sequences, and a Dask array if
            ``X`` is one. With several heads it is their weighted average.
        """
        data = self._mapped(X)
        if isinstance(data, MemoryData):
            weights = self._per_token(data, label)[0][:, 0]
        else:
            if label is None and len(self.classes_) > 2:
                raise ValueError("label must be given for X out of memory and several classes")
            linear = self._linear(self._column_of(label)[0])
            if is_dask(X):
                return data.lazily(_attention_of, linear)  # type: ignore[attr-defined]
            weights = data.per_sample(_attention_of, linear)
        if is_ragged(X):
            return np.split(weights, np.cumsum(data.lengths)[:-1])
        return weights.reshape(len(data), -1)

    def explain(self, X: Any, top: int = 3, label: Any = None) -> list[Explanation]:
        """Return the tokens that matter most in each sequence.

        Parameters
        ----------
        X : as in ``fit``, but not a Dask array
            The sequences; of what ``Sequences.open`` returns, a part that fits into memory.
        top : int, default=3
            How many tokens of each sequence, at most.
        label : optional
            The class to explain: positive contributions speak for it. By default ``classes_[1]``
            of two classes, and of more the one that is predicted for the sequence.

        Returns
        -------
        explanations : list of Explanation
            One per sequence: positions, attention weights and contributions to the score.
        """
        top = check_count("top", top)
        data = self._mapped(X)
        if not isinstance(data, MemoryData):
            raise ValueError("explain needs X in memory, got more; pass part of it")
        per_token, columns = self._per_token(data, label)
        whole = self._whole_scores(data)[np.arange(len(data)), columns]
        sign = -1.0 if len(self.classes_) == 2 and label == self.classes_[0] else 1.0
        baselines = {column: self._linear(column).baseline() for column in set(columns.tolist())}
        found = []
        offsets = data.sequences.offsets
        for i, (low, high) in enumerate(pairwise(offsets)):
            weights, parts = per_token[low:high].T
            order = np.argsort(-weights, kind="stable")[:top]
            baseline = sign * baselines[int(columns[i])]
            score = sign * float(parts.sum() + whole[i]) + baseline
            found.append(
                Explanation(
                    order,
                    weights[order],
                    sign * parts[order],
                    score,
                    baseline,
                    self._label_of(int(columns[i]), sign),
                    sign * float(whole[i]),
                )
            )
        return found

    def diagnose(self, X: Any, y: Any) -> Diagnosis:
        """Say whether anything beats chance, what kind of signal it is, and what is wrong.

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
        index = self._known_labels(y, len(data))  # type: ignore[attr-defined]
        if data.size > data.room:  # a random part tells as much
            rows, _ = tuning_rows(data, index, np.random.default_rng(0))
            data, index = data.take(rows), index[rows]
        return diagnose(self, data, index)

    def _linear(self, column: int) -> HeadMaps:
        raise NotImplementedError

    def _whole_scores(self, data: Data) -> Floats:
        """Return what of the scores is no sum over tokens, (n, classes)."""
        return np.zeros((len(data), max(1, len(self.classes_) * (len(self.classes_) > 2))))

    def _mapped(self, X: Any) -> Data:
        check_is_fitted(self)
        data: Data = self._check_data(X, reset=False)  # type: ignore[attr-defined]
        return data.mapped(getattr(self, "token_map_", None))

    def _column_of(self, label: Any) -> tuple[int, NDArray[np.bool_]]:
        """Return the column of a label's scores, and which classes are its negatives."""
        if label is None and len(self.classes_) > 2:
            raise ValueError(f"label must be one of {self.classes_.tolist()}, got None")
        place = 1 if label is None else self._place_of(label)
        negative = np.arange(len(self.classes_)) != place
        return (place if len(self.classes_) > 2 else 0), negative

    def _place_of(self, label: Any) -> int:
        known = self.classes_.tolist()
        if label not in known:
            raise ValueError(f"label must be one of {known}, got {label!r}")
        return known.index(label)

    def _label_of(self, column: int, sign: float) -> Any:
        if len(self.classes_) > 2:
            return self.classes_.tolist()[column]
        return self.classes_.tolist()[1 if sign > 0 else 0]

    def _per_token(self, data: Any, label: Any) -> tuple[Floats, Indices]:
        """Return attention and contribution of every token, and the column of each sequence."""
        columns = np.zeros(len(data), dtype=int)
        if label is not None:
            columns[:] = self._column_of(label)[0]
        elif len(self.classes_) > 2:
            columns = self._decide_mapped(data).argmax(axis=1)  # type: ignore[attr-defined]
        found = np.empty((len(data.sequences.tokens), 2))
        for column in np.unique(columns):
            rows = np.flatnonzero(columns == column)
            part = data.take(rows)
            tokens = np.repeat(columns == column, data.lengths)
            found[tokens] = self._linear(int(column)).per_token(part.sequences)
        return found, columns


def reliability(queries: Floats, share: float) -> float:
    """Estimate the cosine between a query and the one that unlimited data would give.

    Queries learned on two halves are the limit plus independent errors, so that their cosine is
    1/(1 + t) with t the squared error over the squared length of the limit. The fit has 1/share
    times the samples of a half, and t falls by that factor.

    Parameters
    ----------
    queries : ndarray of shape (2, classes, d)
        Of the two halves.
    share : float
        Samples of a half over those of the fit.
    """
    norms = np.linalg.norm(queries, axis=2).prod(axis=0)
    cosines = np.divide(
        (queries[0] * queries[1]).sum(axis=1), norms, out=np.zeros_like(norms), where=norms > 0
    )
    found = [0.0 if c <= 0.0 else 1.0 / np.sqrt(1.0 + share * (1.0 / c - 1.0)) for c in cosines]
    return float(np.mean(found))


def _attention_of(sequences: Sequences, linear: HeadMaps) -> Floats:
    return linear.per_token(sequences)[:, 0]
