"""Scores of sequences whose tokens come one by one."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import block_diag
from sklearn.utils.validation import check_is_fitted

from sparsetoken._validation import check_count

__all__ = ["ScoreStream", "StreamMixin"]

Floats = NDArray[np.float64]


class _Summary(NamedTuple):
    """All that a score needs to know about some tokens; those of two parts can be joined."""

    n_tokens: int
    largest: Floats
    """Largest attention score, of each head."""
    total: Floats
    """Σ e^(attention score − largest)."""
    along: Floats
    """Σ e^(attention score − largest)·(readout score)."""
    sums: Floats
    """Of scaled tokens, as squares, maxima and minima; empty where no member asks for them."""
    squares: Floats
    maxima: NDArray[Any]
    minima: NDArray[Any]

    def join(self, later: "_Summary") -> "_Summary":
        """Return the summary of these tokens followed by others."""
        largest = np.maximum(self.largest, later.largest)
        before, after = np.exp(self.largest - largest), np.exp(later.largest - largest)
        return _Summary(
            self.n_tokens + later.n_tokens,
            largest,
            before * self.total + after * later.total,
            before * self.along + after * later.along,
            self.sums + later.sums,
            self.squares + later.squares,
            np.maximum(self.maxima, later.maxima),
            np.minimum(self.minima, later.minima),
        )

    def statistics(self) -> NDArray[np.float32]:
        """Return mean, max, min and deviation by feature, in a row."""
        means = self.sums / self.n_tokens
        spread = np.sqrt(np.maximum(self.squares / self.n_tokens - means**2, 0.0))
        parts = [means, self.maxima, self.minima, spread]
        return np.concatenate(parts, dtype=np.float32, casting="same_kind")[np.newaxis]


class _Window:
    """Summary of the last tokens, by two stacks: three joins a token on average, no differences.

    Each of the older tokens is kept as the summary from itself to the newest of the older: the
    oldest leaves by being dropped. When none is left, the newer tokens become the older.
    """

    def __init__(self, size: int) -> None:
        self.size = size
        self.older: list[_Summary] = []
        self.newer: list[_Summary] = []
        self.of_newer: _Summary | None = None

    def add(self, token: _Summary) -> _Summary:
        """Add a token, let the oldest go if there are too many, and return the summary of all."""
        self.newer.append(token)
        self.of_newer = token if self.of_newer is None else self.of_newer.join(token)
        if len(self.older) + len(self.newer) > self.size:
            if not self.older:
                for one in reversed(self.newer):
                    self.older.append(one if not self.older else one.join(self.older[-1]))
                self.newer, self.of_newer = [], None
            self.older.pop()
        if not self.older:
            assert self.of_newer is not None
            return self.of_newer
        return self.older[-1] if self.of_newer is None else self.older[-1].join(self.of_newer)


class ScoreStream:
    """The score of a sequence that grows token by token: what ``clf.stream()`` returns.

    A token costs the same however many came before.

    Attributes
    ----------
    score : float, ndarray of shape (classes,), or None
        ``decision_function`` of the tokens so far, or of the last ``window``; None before the
        first token.
    n_tokens : int
        How many tokens there were.
    """

    def __init__(
        self,
        queries: Floats,
        coefs: Floats,
        intercepts: Floats,
        weights: Floats,
        limits: Floats,
        token_map: Any,
        scaling: tuple[Floats, Floats] | None,
        whole: Callable[[NDArray[np.float32]], Floats] | None,
        n_features: int,
        window: int | None,
    ) -> None:
        self.score: Any = None
        self.n_tokens = 0
        self._queries_and_coefs = np.concatenate([queries, coefs], axis=1)
        self._intercepts, self._weights, self._limits = intercepts, weights, limits
        self._token_map, self._scaling, self._whole = token_map, scaling, whole
        self._n_features = n_features
        self._window = None if window is None else _Window(window)
        self._summary: _Summary | None = None

    def update(self, token: Any) -> Any:
        """Take the next token, of shape (d,), and return the score."""
        token = np.asarray(token)
        if token.shape != (self._n_features,) or token.dtype.kind not in "fiu":
            raise ValueError(
                f"token must be an array of {self._n_features} numbers, got shape {token.shape} "
                f"of {token.dtype}"
            )
        if token.dtype != np.float32:
            token = token.astype(np.float64)
        if not np.isfinite(token).all():
            raise ValueError(f"token {self.n_tokens} is not finite: {token}")
        if self._token_map is not None:
            token = self._token_map.transform(token[np.newaxis])[0]
        new = self._summarise(token)
        if self._window is not None:
            self._summary = self._window.add(new)
        else:
            self._summary = new if self._summary is None else self._summary.join(new)
        self.n_tokens += 1
        heads = self._summary.along / self._summary.total + self._intercepts
        score = np.clip(heads, *self._limits) @ self._weights
        if self._whole is not None:
            score = score + self._whole(self._summary.statistics())
        self.score = float(score[0]) if len(score) == 1 else score
        return self.score

    def _summarise(self, token: NDArray[Any]) -> _Summary:
        attention, along = np.split(token @ self._queries_and_coefs, 2)
        scaled = np.empty(0)
        if self._scaling is not None:
            mean, scale = self._scaling
            scaled = (token - mean.astype(token.dtype)) * scale.astype(token.dtype)
        # Squares are those of the passes: taken in the tokens' own type, added up in double.
        sums, squares = scaled.astype(np.float64), (scaled**2).astype(np.float64)
        return _Summary(1, attention, np.ones_like(attention), along, sums, squares, scaled, scaled)


class StreamMixin:
    """Scores token by token, of a classifier that gives ``_linear(column)`` of each class."""

    classes_: NDArray[Any]
    n_features_in_: int

    def stream(self, window: int | None = None) -> ScoreStream:
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
        >>> clf = st.AttentionClassifier(random_state=0).fit(X, y)
        >>> stream = clf.stream()
        >>> for token in X[0]:
        ...     score = stream.update(token)
        >>> bool(abs(score - clf.decision_function(X[:1])[0]) < 1e-6)
        True
        """
        check_is_fitted(self)
        columns = range(len(self.classes_) if len(self.classes_) > 2 else 1)
        linear = [self._linear(column) for column in columns]
        scaling, whole = self._whole_of_statistics()
        return ScoreStream(
            np.concatenate([part.queries for part in linear], axis=1),
            np.concatenate([part.coefs for part in linear], axis=1),
            np.concatenate([part.intercepts for part in linear]),
            block_diag(*(part.weights[:, np.newaxis] for part in linear)),
            np.concatenate([part.limits for part in linear], axis=1),
            getattr(self, "token_map_", None),
            scaling,
            whole,
            self.n_features_in_,
            None if window is None else check_count("window", window),
        )

    def _linear(self, column: int) -> Any:
        raise NotImplementedError

    def _whole_of_statistics(self) -> tuple[Any, Any]:
        """Return mean and scale, and the score of a row of scaled tokens' statistics; or Nones."""
        return None, None
