"""Which tokens a stack attends to, and what each of them adds to the score."""

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from sparsetoken._types import Floats, Indices
from sparsetoken._validation import import_extra
from sparsetoken.sequences.data import MemoryData
from sparsetoken.sequences.sequences import Sequences


class Explanation(NamedTuple):
    """The tokens of one sequence that matter most, the heaviest first."""

    tokens: Indices
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
    """What members that see the sequence as a whole add to the score, and what limits of the
    members' scores take away."""

    def by_position(self) -> "Explanation":
        """Return the same tokens in the order of the sequence."""
        order = np.argsort(self.tokens)
        parts = {name: getattr(self, name)[order] for name in self._fields[:3]}
        return self._replace(**parts)

    def to_frame(self) -> Any:
        """Return the tokens as a pandas DataFrame: token, weight, contribution, speaks_for.

        ``speaks_for`` is the label, or "not" and the label for a negative contribution.
        """
        columns = {
            "token": self.tokens,
            "weight": self.weights,
            "contribution": self.contributions,
            "speaks_for": np.where(self.contributions >= 0, f"{self.label}", f"not {self.label}"),
        }
        return import_extra("pandas", "to_frame").DataFrame(columns)


def per_token(sequences: Sequences, stack: Any, column: int, center: Floats) -> Floats:
    """Return attention, of sum one over a sequence, and contribution of every token for a class.

    Attention is the average over all scores that have it, by their weights; without any weight,
    the plain average.
    """
    attention, contribution, plain = np.zeros((3, len(sequences.tokens)))
    total, count = 0.0, 0
    for member, weights, scales in stack.parts():
        tokens = member.per_token(sequences, column, center)
        if tokens is not None:
            attention += tokens.attention @ weights
            contribution += tokens.contributions @ (weights * scales)
            plain += tokens.attention.sum(axis=1)
            total, count = total + float(weights.sum()), count + len(weights)
    average = attention / total if total > 0 else plain / max(count, 1)
    return np.stack([average, contribution], axis=1)


def attention_of(sequences: Sequences, stack: Any, column: int, center: Floats) -> Floats:
    """Return the attention on every token for a class."""
    return per_token(sequences, stack, column, center)[:, 0]


def tokens_by_column(stack: Any, data: MemoryData, columns: Indices, center: Floats) -> Floats:
    """Return attention and contribution of every token, for the class of its sequence."""
    tokens = np.empty((len(data.sequences.tokens), 2))
    for column in np.unique(columns):
        rows = np.flatnonzero(columns == column)
        in_rows = np.repeat(columns == column, data.lengths)
        tokens[in_rows] = per_token(data.take(rows).sequences, stack, int(column), center)
    return tokens


def explain(
    stack: Any,
    data: MemoryData,
    columns: Indices,
    center: Floats,
    top: int,
    labels: list[Any],
    sign: float,
) -> list[Explanation]:
    """Return the ``top`` heaviest tokens of each sequence, for the scores of its column.

    Contributions are counted from the token ``center``. Scores times ``sign`` speak for the
    column's label.
    """
    tokens = tokens_by_column(stack, data, columns, center)
    scores = stack.scores(data)[np.arange(len(data)), columns]
    baselines = {c: _baseline(stack, c, center) for c in set(columns.tolist())}
    explanations = []
    parts = zip(pairwise(data.sequences.offsets), scores.tolist(), columns.tolist(), strict=True)
    for (low, high), score, column in parts:
        weights, contributions = tokens[low:high].T
        order = np.argsort(-weights, kind="stable")[:top]
        whole = score - baselines[column] - float(contributions.sum())
        shown = order, weights[order], sign * contributions[order]
        totals = sign * score, sign * baselines[column], labels[column], sign * whole
        explanations.append(Explanation(*shown, *totals))
    return explanations


def _baseline(stack: Any, column: int, center: Floats) -> float:
    """Return the score, before limits, of a sequence of tokens that are all ``center``.

    Members that say nothing about tokens have no part in it.
    """
    total = float(stack.weights.sum() * stack.shift[column])
    mean_token = Sequences(center[np.newaxis], [0, 1])
    for member, weights, scales in stack.parts():
        tokens = member.per_token(mean_token, column, center)
        if tokens is not None:
            total += float(tokens.baseline @ (weights * scales))
    return total


def reliability(queries: Floats, fraction: float) -> float:
    """Estimate the cosine between a query and the one that unlimited data would give.

    Queries learned on two halves are the limit plus independent errors, so that their cosine is
    1/(1 + t) with t the squared error over the squared length of the limit. The fit has 1/fraction
    times the samples of a half, and t falls by that factor. ``queries`` are (2, classes, d).
    """
    norms = np.linalg.norm(queries, axis=2).prod(axis=0)
    products = (queries[0] * queries[1]).sum(axis=1)
    cosines = np.divide(products, norms, out=np.zeros_like(norms), where=norms > 0)
    agree = np.maximum(cosines, 1e-300)
    return float(np.mean((cosines > 0) / np.sqrt(1.0 + fraction * (1.0 / agree - 1.0))))
