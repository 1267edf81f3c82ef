"""Any scikit-learn transformer, applied to every token."""

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.preprocessing import StandardScaler
from sklearn.utils.validation import check_is_fitted

from sparsetoken.sequences.sequences import Sequences, as_sequences


class PerToken(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Apply a scikit-learn transformer to every token: a step of pipelines.

    Tokens may hold missing values (NaN) if the transformer takes them, as ``SimpleImputer`` does.

    Parameters
    ----------
    transformer : transformer or None, default=None
        What to apply, fitted on all tokens; ``StandardScaler()`` by default.

    Attributes
    ----------
    transformer_ : transformer
        The fitted transformer.

    Examples
    --------
    >>> import sparsetoken as st
    >>> from sklearn.decomposition import PCA
    >>> from sklearn.pipeline import make_pipeline
    >>> X, y = st.SparseTokenProblem(n_tokens=10, signal=5.0).sample(100, 20, random_state=0)
    >>> pipeline = make_pipeline(
    ...     st.estimators.PerToken(), st.estimators.PerToken(PCA(8)), st.PooledClassifier()
    ... )
    >>> pipeline.fit(X, y)[-1].n_features_in_
    8
    """

    def __init__(self, transformer: Any = None) -> None:
        self.transformer = transformer

    def fit(self, X: Any, y: Any = None) -> Self:
        """Fit the transformer on all tokens of ``X``, any form that the classifiers take."""
        base = StandardScaler() if self.transformer is None else self.transformer
        self.transformer_ = clone(base).fit(as_sequences(X, finite=False).tokens)
        return self

    def transform(self, X: Any) -> Any:
        """Return the mapped tokens: an array for an array (n, L, d), otherwise Sequences."""
        check_is_fitted(self)
        sequences = as_sequences(X, finite=False)
        tokens = self.transformer_.transform(sequences.tokens)
        if isinstance(X, np.ndarray) and X.ndim == 3:
            return tokens.reshape(*X.shape[:2], -1)
        return Sequences(tokens, sequences.offsets)
