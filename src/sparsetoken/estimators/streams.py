"""Scores of sequences whose tokens come one by one, with alarms."""

from collections.abc import Callable
from functools import reduce
from itertools import accumulate
from typing import Any

import numpy as np

from sparsetoken.estimate import Estimate
from sparsetoken.estimators.stack import Stack
from sparsetoken.sequences.checks import warn_caller


class _Window:
    """Summary of the last tokens, by two stacks: three joins a token on average, no differences.

    Each older token is kept as the summary from itself to the newest of the older. When none is
    left, the newer tokens become the older. Without a size no token goes, and none is kept.
    """

    def __init__(self, size: int | None, join: Callable[[Any, Any], Any]) -> None:
        self.size, self.join = size, join
        self.older: list[Any] = []
        self.newer: list[Any] = []
        self.of_newer: Any = None

    def add(self, token: Any) -> Any:
        """Add a token, let the oldest go if there are too many, and return the summary of all."""
        self.of_newer = token if self.of_newer is None else self.join(self.of_newer, token)
        if self.size is None:
            return self.of_newer
        self.newer.append(token)
        if len(self.older) + len(self.newer) > self.size:
            if not self.older:
                newest_first = reversed(self.newer)
                self.older = list(accumulate(newest_first, lambda all_, one: self.join(one, all_)))
                self.newer, self.of_newer = [], None
            self.older.pop()
        both = [*self.older[-1:], *([] if self.of_newer is None else [self.of_newer])]
        return reduce(self.join, both)


class ScoreStream:
    """The score of a sequence that grows token by token: what ``clf.stream()`` returns.

    ``update(token)`` takes time in proportion to heads times features, whatever came before, and
    the score is ``decision_function`` of the tokens so far, up to rounding. With a window a token
    takes the same time on average; now and then one takes as long as ``window`` of them.

    Attributes
    ----------
    score : float, ndarray of shape (classes,), or None
        Of the tokens so far, or of the last ``window``; None before the first token.
    n_tokens : int
        How many tokens there were.
    alarm : bool
        Whether the score was above ``threshold`` at any of the ``checks`` so far.
    threshold, checks : Estimate or None, ndarray of int
        What the score is compared with, and the numbers of tokens after which it is.
    """

    def __init__(
        self, stack: Stack, window: int | None, threshold: Estimate | None = None, checks: Any = ()
    ) -> None:
        self.threshold, self.checks = threshold, np.asarray(checks, dtype=int)
        self._stack, self._n_features = stack.without_zero_weights(), len(stack.center)
        self._window_size, self._warned = window, False
        self.reset()

    def reset(self) -> None:
        """Begin a new sequence."""
        self.score: Any = None
        self.n_tokens, self.alarm = 0, False
        self._window = _Window(self._window_size, self._join)

    def update(self, token: Any) -> Any:
        """Take the next token, of shape (d,), and return the score."""
        token = np.asarray(token)
        if token.shape != (self._n_features,) or token.dtype.kind not in "fiu":
            raise ValueError(
                f"token must be an array of {self._n_features} numbers, got shape {token.shape} "
                f"of {token.dtype}"
            )
        token = token.astype(np.float64)
        if not np.isfinite(token).all():
            raise ValueError(f"token {self.n_tokens} is not finite: {token}")
        summary = self._window.add([member.summarize(token) for member in self._stack.members])
        self.n_tokens += 1
        count = min(self.n_tokens, self._window_size or self.n_tokens)
        members = zip(self._stack.members, summary, strict=True)
        raw = np.concatenate([member.scores_of(tokens, count) for member, tokens in members])
        score = self._stack.combine(raw)
        self.score = float(score[0]) if len(score) == 1 else score
        if self.threshold is not None and self._looks_now() and self.score > self.threshold:
            self.alarm = True
        return self.score

    def _looks_now(self) -> bool:
        """Return whether the score is compared now; after the last check, as often as before."""
        last = int(self.checks[-1])
        if self.n_tokens <= last:
            return self.n_tokens in self.checks
        if not self._warned:
            self._warned = True
            warn_caller(
                f"this stream has more than the {last} tokens that it was made for: it is still "
                "looked at, but a harmless one raises an alarm more often than fpr; ask for "
                "stream(fpr=..., n_tokens=...) with the length of the longest sequence",
                UserWarning,
            )
        step = int(self.checks[-1] - self.checks[-2]) if len(self.checks) > 1 else last
        return (self.n_tokens - last) % step == 0

    def _join(self, earlier: list[Any], later: list[Any]) -> list[Any]:
        members = zip(self._stack.members, earlier, later, strict=True)
        return [member.join(before, after) for member, before, after in members]
