"""What a classifier can be asked about tokens: thin methods, answered by ``inspection``."""

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted, column_or_1d

from sparsetoken._types import Bools, Floats, Indices
from sparsetoken._validation import check_count
from sparsetoken.estimators.base import SequenceClassifier, is_ragged
from sparsetoken.estimators.folds import selection_rows
from sparsetoken.inspection import Diagnosis, Explanation, ScoreStream
from sparsetoken.inspection.diagnose import diagnose
from sparsetoken.inspection.explain import attention_of, explain, tokens_by_column
from sparsetoken.sequences.data import Data, MemoryData


class AttendingClassifier(SequenceClassifier):
    """A classifier that is a fitted stack of members, some of which attend to tokens.

    A subclass sets ``query_`` and ``query_reliability_`` in ``fit``.
    """

    query_reliability_: float

    def _center(self) -> Floats:
        """Return the token that contributions are counted from."""
        return np.zeros(self.n_features_in_)

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
            An array if ``X`` is one, also of Dask, and a list if ``X`` is a list or Sequences.
            With several heads it is their weighted average.
        """
        check_is_fitted(self)
        data = self._check_data(X, reset=False)
        stack, center = self._stack(), self._center()
        if isinstance(data, MemoryData):
            columns = self._columns(data, label)
            weights = tokens_by_column(stack, data, columns, center)[:, 0]
        else:
            if label is None and len(self.classes_) > 2:
                raise ValueError("label must be given for a Dask X and several classes")
            weights = data.per_sample(attention_of, stack, self._column_of(label)[0], center)
        if is_ragged(X):
            return np.split(weights, np.cumsum(data.lengths)[:-1])
        return weights.reshape(len(data), -1)

    def explain(self, X: Any, top: int = 3, label: Any = None) -> list[Explanation]:
        """Return the tokens that matter most in each sequence.

        Parameters
        ----------
        X : as in ``fit``, but not a Dask array
            The sequences.
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
        check_is_fitted(self)
        top = check_count("top", top)
        data = self._check_data(X, reset=False)
        if not isinstance(data, MemoryData):
            raise ValueError("explain needs X in memory, got a Dask array; pass X[:100].compute()")
        columns, labels, sign = self._columns(data, label), self.classes_.tolist(), 1.0
        if len(labels) == 2:  # one column of scores, that speak for the second if positive
            labels, sign = (labels[:1], -1.0) if label == labels[0] else (labels[1:], 1.0)
        return explain(self._stack(), data, columns, self._center(), top, labels, sign)

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
        data = self._check_data(X, reset=False)
        y, labels = column_or_1d(np.asarray(y)), self.classes_.tolist()
        if len(y) != len(data) or set(y.tolist()) != set(labels):
            raise ValueError(
                f"y must hold {len(data)} labels, all of {labels}, "
                f"got {len(y)} of {np.unique(y).tolist()}"
            )
        index = np.searchsorted(self.classes_, y)
        if data.size > data.memory_budget:  # a random part tells as much
            rng = np.random.default_rng(0)
            rows, _ = selection_rows(data, index, np.arange(len(index)), rng)
            data, index = data.take(rows), index[rows]
        return diagnose(self, data, index)

    def stream(self, *, window: int | None = None) -> ScoreStream:
        """Return an object that takes one sequence token by token, and knows its score.

        Parameters
        ----------
        window : int, optional
            Score only the last ``window`` tokens, and keep only these in memory.
        """
        check_is_fitted(self)
        return ScoreStream(self._stack(), self.n_features_in_, window)

    def _columns(self, data: Data, label: Any) -> Indices:
        """Return the column of scores that each sequence is looked at by."""
        if label is None and len(self.classes_) > 2:
            return self._stack().scores(data).argmax(axis=1)
        return np.full(len(data), self._column_of(label)[0])

    def _column_of(self, label: Any) -> tuple[int, Bools]:
        """Return the column of a label's scores, and which classes are its negatives."""
        labels = self.classes_.tolist()
        if label not in ([None, *labels] if len(labels) == 2 else labels):
            raise ValueError(f"label must be one of {labels}, got {label!r}")
        place = 1 if label is None else labels.index(label)
        return (place if len(labels) > 2 else 0), np.arange(len(labels)) != place
