"""Poolings: how the scores of a sequence's tokens become the weights of their sum.

A pooling takes scores as a rectangular array (the last axis runs over the tokens) or as a flat one
with ``offsets``: the tokens of sequence i are ``scores[offsets[i]:offsets[i + 1]]``.

A subclass of :class:`Pooling` with a ``name`` can be asked for by that name everywhere, and any
other by its import path (``"my_poolings:Sparsemax"``) or as an object.
"""

from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit

from sparsetoken._njit import njit
from sparsetoken._types import Array
from sparsetoken._validation import Named, check_count, check_real

__all__ = [
    "Elementwise",
    "Hardmax",
    "Mean",
    "Pooling",
    "Softmax",
    "SoftmaxOne",
    "Stacked",
    "get_pooling",
    "pooling_models",
]


class Pooling(Named):
    """Base of the poolings: a map from token scores to token weights.

    A subclass gives :meth:`weigh`.

    Attributes
    ----------
    name : str
        What it is called; a subclass with a name of its own can be asked for by it.
    model : str or None
        The name of the classifier that pools in this way; ``name`` unless the class says other.
    sharpened : bool
        Whether the weights change when all scores are multiplied by a positive number.
    uses_scores : bool
        Whether the weights depend on the scores at all; if not, they are 1/L.

    Examples
    --------
    >>> from sparsetoken.pooling import Softmax
    >>> Softmax().weights([[0.0, 0.0], [1e4, -1e4]])
    array([[0.5, 0.5],
           [1. , 0. ]])
    >>> Softmax().weights([0.0, 0.0, 3.0], offsets=[0, 2, 3])
    array([0.5, 0.5, 1. ])

    A pooling of one's own:

    >>> import numpy as np
    >>> from sparsetoken.pooling import Pooling
    >>> class Squares(Pooling):
    ...     def weigh(self, scores, segments):
    ...         return scores**2 / segments.spread(segments.reduce(np.add, scores**2))
    >>> Squares().weights([1.0, 1.0, 3.0], offsets=[0, 2, 3])
    array([0.5, 0.5, 1. ])
    """

    known: ClassVar[dict[str, Any]] = {}
    model: ClassVar[str | None]
    sharpened: ClassVar[bool] = True
    uses_scores: ClassVar[bool] = True

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if "name" in vars(cls) and "model" not in vars(cls):
            cls.model = cls.name

    def weights(self, scores: ArrayLike, offsets: ArrayLike | None = None) -> Array:
        """Return the token weights, in the shape of ``scores``.

        Parameters
        ----------
        scores : array-like of shape (..., n_tokens), or (total_tokens,) with ``offsets``
            One finite score per token.
        offsets : array-like of int, shape (n_sequences + 1,), optional
            Where each sequence starts in the flat ``scores``, and where the last one ends.
        """
        scores = np.asarray(scores)
        if not np.issubdtype(scores.dtype, np.floating):
            scores = scores.astype(float)
        if not np.isfinite(scores).all():
            raise ValueError("scores must be finite, got NaN or infinity")
        weights = self.weigh(scores.ravel(), _Segments(scores, offsets))
        return weights.reshape(scores.shape)

    def weigh(self, scores: Array, segments: "_Segments") -> Array:
        """Return the token weights, in the shape of ``scores``: what a subclass defines.

        Parameters
        ----------
        scores : ndarray of float, shape (total_tokens,)
            One finite score per token, sequence after sequence.
        segments : object
            Which tokens belong together: ``segments.lengths`` are the numbers of tokens,
            ``segments.reduce(np.add, values)`` adds up values over the tokens of each sequence (or
            another ufunc does), and ``segments.spread(totals)`` gives every token the number of its
            sequence.
        """
        raise NotImplementedError


class Mean(Pooling):
    """The same weight 1/L for every token, whatever the scores."""

    name = "mean"
    model = None  # "pooled" has no query
    sharpened = False
    uses_scores = False

    def weigh(self, scores: Array, segments: "_Segments") -> Array:
        """Return 1/L for every token."""
        return np.ones_like(scores) / segments.spread(segments.lengths)


class Softmax(Pooling):
    """Weights proportional to exp(score)."""

    name = "softmax"
    model = "attention"

    def weigh(self, scores: Array, segments: "_Segments") -> Array:
        """Return exp(score), normalized."""
        weights = scores - segments.spread(segments.reduce(np.maximum, scores))
        np.exp(weights, out=weights)
        weights /= segments.spread(segments.reduce(np.add, weights))
        return weights


class SoftmaxOne(Pooling):
    """Weights exp(score)/(1 + Σ exp(score)): none for tokens that all score far below zero.

    That is softmax beside a token of zeros, so that the weights sum to less than one.
    """

    name = "softmax-1"
    model = None  # pass the pooling, or its name, as a pooling

    def weigh(self, scores: Array, segments: "_Segments") -> Array:
        """Return exp(score), over one plus the sum of all."""
        largest = np.maximum(segments.reduce(np.maximum, scores), 0.0)
        weights = scores - segments.spread(largest)
        np.exp(weights, out=weights)
        weights /= segments.spread(segments.reduce(np.add, weights) + np.exp(-largest))
        return weights


class Hardmax(Pooling):
    """All the weight on the largest score: softmax at infinite sharpness (ties share evenly)."""

    name = "hardmax"
    sharpened = False

    def weigh(self, scores: Array, segments: "_Segments") -> Array:
        """Return an equal part for each of the largest scores."""
        largest = segments.spread(segments.reduce(np.maximum, scores))
        weights = (scores == largest).astype(scores.dtype)
        weights /= segments.spread(segments.reduce(np.add, weights))
        return weights


class Elementwise(Pooling):
    """Weights 1/(1 + exp(−score))/L: tokens do not compete."""

    name = "elementwise"

    def weigh(self, scores: Array, segments: "_Segments") -> Array:
        """Return 1/(1 + exp(−score)), over the length."""
        return expit(scores) / segments.spread(segments.lengths)


class Stacked(Pooling):
    """Softmax after self-attention layers that look along the query's direction.

    A layer mixes the tokens by A = softmax(inner·s sᵀ), row by row, where s are the tokens' scores,
    and replaces each token x by (x + residual·Ax)/(1 + residual). The scores mix likewise, so the
    result is a weighted sum of the tokens themselves: any depth is a pooling.

    Parameters
    ----------
    depth : int, default=2
        Number of self-attention layers before the query; none is :class:`Softmax`.
    residual : float, default=1.0
        Weight of the mixed tokens against the token itself.
    inner : float, default=0.5
        Inverse temperature of the layers.

    Examples
    --------
    >>> from sparsetoken.pooling import Stacked
    >>> Stacked(depth=1, inner=0.0).weights([0.0, 3.0]).round(3)
    array([0.341, 0.659])
    """

    name = "stacked"
    model = None  # its depth has no default worth a name: pass the pooling

    def __init__(self, depth: int = 2, residual: float = 1.0, inner: float = 0.5) -> None:
        self.depth = check_count("depth", depth, minimum=0)
        self.residual = check_real("residual", residual, low=0.0)
        self.inner = check_real("inner", inner, low=0.0)

    def weigh(self, scores: Array, segments: "_Segments") -> Array:
        """Return what each token adds to the sum that the top layer makes."""
        layers = [scores.astype(float)]
        for _ in range(self.depth):
            layers.append(self._mix(layers[-1], segments, transposed=False, values=layers[-1]))
        weights = Softmax().weigh(layers.pop(), segments)
        for layer in reversed(layers):
            weights = self._mix(layer, segments, transposed=True, values=weights)
        return weights.astype(scores.dtype)

    def _mix(self, scores: Array, segments: "_Segments", transposed: bool, values: Array) -> Array:
        """Return (values + residual·A values)/(1 + residual), or that with the transposed A."""
        mixed = np.zeros_like(values)
        _mix(scores, segments.offsets, self.inner, transposed, values, mixed)
        return np.asarray((values + self.residual * mixed) / (1.0 + self.residual))

    def __repr__(self) -> str:
        return f"Stacked(depth={self.depth}, residual={self.residual:g}, inner={self.inner:g})"


@njit()
def _mix(scores, offsets, inner, transposed, values, mixed):  # type: ignore[no-untyped-def]
    """Add A·values of each sequence to ``mixed``, or Aᵀ·values."""
    for i in range(offsets.size - 1):
        s, value = scores[offsets[i] : offsets[i + 1]], values[offsets[i] : offsets[i + 1]]
        result, row = mixed[offsets[i] : offsets[i + 1]], np.empty(s.size)
        low, high = s.min(), s.max()
        for k in range(s.size):
            top, total = inner * max(s[k] * low, s[k] * high), 0.0
            for m in range(s.size):
                row[m] = np.exp(inner * s[k] * s[m] - top)
                total += row[m]
            for m in range(s.size):
                if transposed:
                    result[m] += row[m] / total * value[k]
                else:
                    result[k] += row[m] / total * value[m]


def get_pooling(pooling: str | Pooling) -> Pooling:
    """Return the pooling for a name or an import path, or the pooling itself.

    Examples
    --------
    >>> from sparsetoken.pooling import get_pooling
    >>> get_pooling("hardmax")
    Hardmax()
    """
    return Pooling.find("pooling", pooling)


def pooling_models() -> dict[str, Pooling]:
    """Return the pooling of each classifier that has a query, by the classifier's name.

    Examples
    --------
    >>> from sparsetoken.pooling import pooling_models
    >>> pooling_models()["attention"]
    Softmax()
    """
    return {cls.model: cls() for cls in Pooling.known.values() if cls.model is not None}


class _Segments:
    """Sequences of any length, one after the other in a flat array."""

    def __init__(self, scores: Array, offsets: ArrayLike | None) -> None:
        self._rectangle = scores.shape if offsets is None else None
        flat = offsets is None or scores.ndim == 1
        if offsets is None:  # the last axis is a sequence
            length = scores.shape[-1] if scores.ndim else 0
            if length == 0:
                raise ValueError(f"a sequence must have at least one token, got {scores.shape=}")
            offsets = np.arange(0, scores.size + 1, length)
        self.offsets = np.asarray(offsets)
        whole = np.issubdtype(self.offsets.dtype, np.integer) and self.offsets.ndim == 1
        if not (flat and whole and [*self.offsets[:1], *self.offsets[-1:]] == [0, scores.size]):
            raise ValueError(
                "offsets must be integers from 0 to the number of tokens "
                f"({scores.size}, in flat scores), got {offsets!r}"
            )
        self._counts = np.diff(self.offsets)
        if (self._counts <= 0).any():
            bad = int(np.argmax(self._counts <= 0))
            raise ValueError(f"a sequence must have at least one token, sequence {bad} has none")
        self.lengths = self._counts.astype(scores.dtype)

    def reduce(self, ufunc: np.ufunc, values: Array) -> Array:
        if self._rectangle is not None:  # quicker, and sums of many numbers are more accurate
            return ufunc.reduce(values.reshape(self._rectangle), axis=-1).ravel()
        return ufunc.reduceat(values, self.offsets[:-1])

    def spread(self, per_sequence: Array) -> Array:
        return np.repeat(per_sequence, self._counts)
