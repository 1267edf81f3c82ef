"""Which tokens a stack attends to, and what each of them adds to the score."""

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np

from sparsetoken._types import Array, Bools, Floats, Indices
from sparsetoken.estimators.answers import Explanation
from sparsetoken.estimators.stack import Stack
from sparsetoken.sequences.data import Data, MemoryData
from sparsetoken.sequences.sequences import Sequences

_ROUNDING = 1e-12  # of what a score is made of: less than that is nothing


def column_of(classes: Array, label: Any) -> tuple[int, Bools]:
    """Return the column of a label's scores, and which classes are its negatives."""
    labels = classes.tolist()
    if label not in ([None, *labels] if len(labels) == 2 else labels):
        raise ValueError(f"label must be one of {labels}, got {label!r}")
    place = 1 if label is None else labels.index(label)
    return (place if len(labels) > 2 else 0), np.arange(len(labels)) != place


def attention(stack: Stack, data: Data, classes: Array, label: Any) -> Floats:
    """Return the weight of every token, for a class."""
    several = label is None and len(classes) > 2
    columns = stack.scores(data).argmax(axis=1) if several else _same(data, classes, label)
    return data.per_sample(_per_token, stack, rows=(columns,))[:, 0]


def explain(
    stack: Stack, data: MemoryData, classes: Array, top: int, label: Any
) -> list[Explanation]:
    """Return the ``top`` heaviest tokens of each sequence, for the scores of a class."""
    scores, labels, sign = stack.scores(data), classes.tolist(), 1.0
    if len(labels) == 2:  # one column of scores, that speak for the second if positive
        columns, predicted = _same(data, classes, label), (scores[:, 0] > 0).astype(int)
        speaks_for, sign = (labels[:1], -1.0) if label == labels[0] else (labels[1:], 1.0)
    else:
        speaks_for, predicted = labels, scores.argmax(axis=1)
        columns = predicted if label is None else _same(data, classes, label)
    tokens = data.per_sample(_per_token, stack, rows=(columns,))
    kinds = data.per_sample(_kinds, stack.without_zero_weights(), rows=(columns,)).tolist()
    explanations = []
    for i, (low, high) in enumerate(pairwise(data.sequences.offsets)):
        weights, contributions, baselines = tokens[low:high].T
        score, baseline = float(scores[i, columns[i]]), float(baselines[0])
        whole = score - baseline - float(contributions.sum())
        if abs(whole) <= _ROUNDING * (abs(baseline) + np.abs(contributions).sum()):
            whole = 0.0
        order = np.argsort(-weights, kind="stable")[:top]
        shown = order, weights[order], sign * contributions[order]
        totals = sign * score, sign * baseline, sign * whole + 0.0  # which is not −0.0
        said = speaks_for[columns[i]], labels[predicted[i]]
        kind = None if kinds[i] < 0 else kinds[i]
        explanations.append(Explanation(*shown, *totals, *said, kind))
    return explanations


def _same(data: Data, classes: Array, label: Any) -> Indices:
    return np.full(len(data), column_of(classes, label)[0])


def _kinds(sequences: Sequences, columns: Indices, stack: Stack) -> Indices:
    """Return each sequence's likeliest kind of signal for a class; −1 where one is known."""
    kinds = np.full(len(sequences), -1)
    for column, rows, of_rows in _by_column(sequences, columns):
        for member in stack.members:
            found = member.kinds(of_rows, column)
            kinds[rows] = kinds[rows] if found is None else found
    return kinds


def _by_column(sequences: Sequences, columns: Indices) -> Iterator[tuple[int, Bools, Sequences]]:
    for column in np.unique(columns).tolist():
        rows = columns == column
        yield column, rows, sequences[np.flatnonzero(rows)]


def _per_token(sequences: Sequences, columns: Indices, stack: Stack) -> Floats:
    """Return attention, contribution and baseline of every token, for the class of its sequence.

    Attention, of sum one over a sequence, is the average over all scores that have it, by their
    weights; without any weight, the plain average. The baseline is the score, before limits, of
    tokens that are all the center; members that say nothing about tokens have no part in it.
    """
    result = np.empty((len(sequences.tokens), 3))
    for column, rows, of_rows in _by_column(sequences, columns):
        attention, contribution, plain = np.zeros((3, len(of_rows.tokens)))
        baseline = float(stack.weights.sum() * stack.shift[column])
        total, count = 0.0, 0
        for member, weights, scales in stack.parts():
            tokens = member.per_token(of_rows, column, stack.center)
            if tokens is not None:
                attention += tokens.attention @ weights
                contribution += tokens.contributions @ (weights * scales)
                baseline += float(tokens.baseline @ (weights * scales))
                plain += tokens.attention.sum(axis=1)
                total, count = total + float(weights.sum()), count + len(weights)
        average = attention / total if total > 0 else plain / max(count, 1)
        parts = average, contribution, np.full_like(average, baseline)
        result[np.repeat(rows, sequences.lengths)] = np.stack(parts, axis=1)
    return result
