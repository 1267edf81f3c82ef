"""What a classifier can be asked about tokens: thin methods, answered by ``inspection``."""

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from sparsetoken._types import Bools, Floats, Indices
from sparsetoken._validation import check_count
from sparsetoken.estimators.base import SequenceClassifier, is_ragged
from sparsetoken.estimators.folds import selection_rows
from sparsetoken.inspection import Diagnosis, Explanation, ScoreStream
from sparsetoken.inspection.diagnose import diagnose
from sparsetoken.inspection.explain import attention_of, explain, tokens_by_column
from sparsetoken.sequences.chunks import is_dask
from sparsetoken.sequences.data import Data, MemoryData


class AttendingClassifier(SequenceClassifier):
    """A classifier that is a fitted stack of members, some of which attend to tokens.

    A subclass gives ``_stack()``, and sets ``query_`` and ``query_reliability_`` in ``fit``.
    """

    token_map_: Any = None
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
            An array if ``X`` is one, a list if ``X`` is a list or Sequences, and a Dask array if
            ``X`` is one. With several heads it is their weighted average.
        """
        data = self._mapped(X)
        if isinstance(data, MemoryData):
            columns = self._columns(data, label)
            weights = tokens_by_column(self._stack(), data, columns, self._center())[:, 0]
        else:
            if label is None and len(self.classes_) > 2:
                raise ValueError("label must be given for X out of memory and several classes")
            arguments = self._stack(), self._column_of(label)[0], self._center()
            if is_dask(X):
                lazy: Any = data
                return lazy.lazily(attention_of, *arguments)
            weights = data.per_sample(attention_of, *arguments)
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
        columns, labels, sign = self._columns(data, label), self.classes_.tolist(), 1.0
        if len(labels) == 2:  # one column of scores, that speak for the second if positive
            turned = label == labels[0]
            labels, sign = (labels[:1], -1.0) if turned else (labels[1:], 1.0)
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
        index = self._known_labels(y, len(data))
        if data.size > data.room:  # a random part tells as much
            rng = np.random.default_rng(0)
            rows, _ = selection_rows(data, index, np.arange(len(index)), rng)
            data, index = data.take(rows), index[rows]
        return diagnose(self, data, index)

    def stream(self, *, window: int | None = None) -> ScoreStream:
        """Return an object that takes one sequence token by token, and knows its score.

        Its ``update(token)`` takes time in proportion to heads times features, whatever came
        before, and its score is :meth:`decision_function` of the tokens so far, up to rounding.
        All members take part: the trees read running statistics.

        Parameters
        ----------
        window : int, optional
            Score only the last ``window`` tokens, and keep only these in memory. A token takes the
            same time on average; now and then one takes as long as ``window`` of them.

        Examples
        --------
        >>> import sparsetoken as st
        >>> X, y = st.SparseTokenProblem(n_tokens=10, signal=5.0).sample(200, 20, random_state=0)
        >>> clf = st.TwoStepAttentionClassifier(random_state=0).fit(X, y)
        >>> stream = clf.stream()
        >>> for token in X[0]:
        ...     score = stream.update(token)
        >>> bool(abs(score - clf.decision_function(X[:1])[0]) < 1e-6)
        True
        """
        check_is_fitted(self)
        return ScoreStream(self._stack(), self.token_map_, self.n_features_in_, window)

    def _decide(self, data: Data) -> Floats:
        score = self._stack().scores(data.mapped(self.token_map_))
        return score[:, 0] if score.shape[1] == 1 else score

    def _mapped(self, X: Any) -> Data:
        check_is_fitted(self)
        return self._check_data(X, reset=False).mapped(self.token_map_)

    def _columns(self, data: Data, label: Any) -> Indices:
        """Return the column of scores that each sequence is looked at by."""
        if label is None and len(self.classes_) > 2:
            return self._stack().scores(data).argmax(axis=1)
        return np.full(len(data), self._column_of(label)[0])

    def _column_of(self, label: Any) -> tuple[int, Bools]:
        """Return the column of a label's scores, and which classes are its negatives."""
        labels = self.classes_.tolist()
        if label is None and len(labels) > 2:
            raise ValueError(f"label must be one of {labels}, got None")
        if label is not None and label not in labels:
            raise ValueError(f"label must be one of {labels}, got {label!r}")
        place = 1 if label is None else labels.index(label)
        return (place if len(labels) > 2 else 0), np.arange(len(labels)) != place
