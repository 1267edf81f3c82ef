"""How the scores of a sequence's tokens make one.

Tokens have scores u of shape (tokens, K, C): K heads, C classes. A pooling makes a score of each
sequence of them, says how the tokens divide it, and does the same token by token: a new one is
these five functions, and serves batches, explanations and streams.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import binom

from sparsetoken._njit import njit
from sparsetoken._types import Array, Floats, Indices
from sparsetoken.places import weigh_row
from sparsetoken.sequences.sequences import Sequences

_FAR = 700.0  # an exponent so far below the largest counts for nothing, and never for infinity


def linear_scores(directions: Floats, offsets: Floats, tokens: Array) -> Floats:
    """Return ⟨x, direction⟩ + offset of all tokens, for directions (K, C, d)."""
    flat = directions.reshape(-1, directions.shape[-1])
    return (tokens @ flat.T).reshape(-1, *offsets.shape) + offsets


class HeadPooling:
    """How the scores u of a sequence's tokens make one score: by their mean, if nothing else."""

    def pool(self, u: Floats, offsets: Indices) -> Floats:
        """Return the scores (n, K, C) of sequences, which ``offsets`` cut."""
        return np.add.reduceat(u, offsets[:-1]) / _spread(np.diff(offsets))

    def divide(self, u: Floats, offsets: Indices, center: Floats) -> tuple[Floats, Floats, Floats]:
        """Return attention and contribution (tokens, K, C) of each token, and the baseline (K, C).

        The baseline is the score of tokens that are all scored ``center``, (K, C).
        """
        lengths = np.diff(offsets)
        attention = _spread(1.0 / np.repeat(lengths, lengths))
        return np.broadcast_to(attention, u.shape), attention * (u - center), center

    def begin(self, u: Floats) -> Any:
        """Return the summary of one token, scored (K, C)."""
        return u

    def join(self, earlier: Any, later: Any) -> Any:
        """Return the summary of tokens followed by others."""
        return earlier + later

    def end(self, summary: Any, n_tokens: int) -> Floats:
        """Return the score (K, C) of the ``n_tokens`` tokens of a summary."""
        return summary / n_tokens


@dataclass(frozen=True)
class EvidencePooling(HeadPooling):
    """a·log mean exp(Σ u/a) over choices of R tokens: the log-odds that some R carry a signal.

    Tokens divide a score by their chances to be of the R. A head may have a direction for each of
    several kinds of signal: its score is a·log Σ exp(score/a) over them.
    """

    temperatures: Floats  # (directions,): a; negative if tokens speak for the other class
    n_signal: Indices  # (directions,): R; of a shorter sequence all tokens count
    contiguous: bool = False
    reference_length: float | None = None  # sums (R = 1), equal to means for so many tokens
    heads: Indices | None = None  # (K,): each head's first direction; None: each is a head

    def pool(self, u: Floats, offsets: Indices) -> Floats:
        """Return the log mean, times the temperature."""
        return self._join_kinds(self._weigh(u, offsets, np.empty((0, 0))))[0]

    def divide(self, u: Floats, offsets: Indices, center: Floats) -> tuple[Floats, Floats, Floats]:
        """Return chances of sum one, which divide the score counted from ``center``."""
        lengths = np.diff(offsets)
        attention = np.empty((len(u), u[0].size))
        scores, kinds = self._join_kinds(self._weigh(u, offsets, attention))
        size = np.minimum(self.n_signal, np.repeat(lengths, lengths)[:, np.newaxis])
        attention = attention.reshape(u.shape) / size[..., np.newaxis]
        if self.heads is not None:
            attention *= np.repeat(kinds, lengths, axis=0)
            attention = np.add.reduceat(attention, self.heads, axis=1)
        baseline = self._join_kinds((center * self.n_signal[:, np.newaxis])[np.newaxis])[0][0]
        apart = np.repeat(scores - baseline, lengths, axis=0)
        return attention, attention * apart, baseline

    def begin(self, u: Floats) -> Any:
        """Return the logs of the sums over choices of 0, 1, … R tokens."""
        if self.contiguous:  # the order of the tokens matters
            return [u]
        logs = np.full((int(self.n_signal.max()) + 1, *u.shape), -np.inf)
        logs[:2] = np.zeros_like(u), u / self.temperatures[:, np.newaxis]
        return logs

    def join(self, earlier: Any, later: Any) -> Any:
        """Return the logs of the sums over choices of all tokens."""
        if self.contiguous:
            return earlier + later
        pairs = (earlier[: n + 1] + later[n::-1] for n in range(len(earlier)))
        return np.array([np.logaddexp.reduce(both) for both in pairs])

    def end(self, summary: Any, n_tokens: int) -> Floats:
        """Return the log mean, times the temperature."""
        if self.contiguous:
            return self.pool(np.stack(summary), np.array([0, n_tokens]))[0]
        size = np.minimum(self.n_signal, n_tokens)
        least = size * summary[1].T - _FAR * (size - 1)
        logs = np.maximum(summary[size, np.arange(len(size))].T, least)
        log_means = logs - np.log(binom(n_tokens, size))
        scores = (self.temperatures * log_means).T + self._by_length(n_tokens)
        return self._join_kinds(scores[np.newaxis])[0][0]

    def kinds(self, u: Floats, offsets: Indices) -> Floats:
        """Return the chance of each direction (n, directions, C) to be its head's kind."""
        return self._join_kinds(self._weigh(u, offsets, np.empty((0, 0))))[1]

    def _join_kinds(self, scores: Floats) -> tuple[Floats, Floats]:
        """Return the scores (n, K, C) of heads, and the chance of each direction in its head."""
        if self.heads is None:
            return scores, np.ones_like(scores)
        temperatures = self.temperatures[:, np.newaxis]
        head = np.repeat(np.arange(len(self.heads)), np.diff(self.heads, append=len(temperatures)))
        exponents = scores / temperatures
        top = np.maximum.reduceat(exponents, self.heads, axis=1)
        weights = np.exp(exponents - top[:, head])
        total = np.add.reduceat(weights, self.heads, axis=1)
        return temperatures[self.heads] * (top + np.log(total)), weights / total[:, head]

    def _weigh(self, u: Floats, offsets: Indices, chances: Floats) -> Floats:
        exponents = (u / self.temperatures[:, np.newaxis]).reshape(len(u), -1)
        n_signal = np.repeat(self.n_signal, u.shape[2])
        log_means = _weigh_columns(exponents, offsets, n_signal, self.contiguous, chances)
        scores: Floats = log_means.reshape(-1, *u.shape[1:]) * self.temperatures[:, np.newaxis]
        return scores + self._by_length(_spread(np.diff(offsets)))

    def _by_length(self, n_tokens: Any) -> Any:
        """Return what turns means over tokens into sums."""
        if self.reference_length is None:
            return 0.0
        return self.temperatures[:, np.newaxis] * np.log(n_tokens / self.reference_length)


def pooled_scores(
    sequences: Sequences, token_scores: Callable[[Array], Floats], pooling: HeadPooling
) -> Floats:
    """Return the scores (n, K, C) of sequences."""
    return pooling.pool(token_scores(sequences.tokens), sequences.offsets)


def _spread(values: Array) -> Array:
    return values[:, np.newaxis, np.newaxis]


@njit(nogil=True)
def _weigh_columns(exponents, offsets, n_signal, contiguous, chances):  # type: ignore[no-untyped-def]
    """Return the log means (n, columns) over choices; fill the tokens' chances if asked for."""
    result = np.empty((offsets.size - 1, exponents.shape[1]))
    chance = np.empty(0)
    for i in range(offsets.size - 1):
        low, high = offsets[i], offsets[i + 1]
        if chances.size:
            chance = np.empty(high - low)
        for k in range(exponents.shape[1]):
            column = exponents[low:high, k].copy()
            top = column.max()
            for t in range(column.size):
                column[t] = max(column[t] - top, -_FAR)
            size = min(n_signal[k], column.size)
            result[i, k] = size * top + weigh_row(column, size, contiguous, chance)
            if chances.size:
                chances[low:high, k] = chance
    return result
