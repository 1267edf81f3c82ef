"""Which tokens a stack attends to, and what each of them adds to the score."""

from itertools import pairwise
from typing import Any

import numpy as np

from sparsetoken._types import Array, Bools, Floats, Indices
from sparsetoken.estimators.answers import Explanation
from sparsetoken.estimators.stack import Stack
from sparsetoken.sequences.data import Data, MemoryData
from sparsetoken.sequences.sequences import Sequences


def column_of(classes: Array, label: Any) -> tuple[int, Bools]:
    """Return the column of a label's scores, and which classes are its negatives."""
    labels = classes.tolist()
    if label not in ([None, *labels] if len(labels) == 2 else labels):
        raise ValueError(f"label must be one of {labels}, got {label!r}")
    place = 1 if label is None else labels.index(label)
    return (place if len(labels) > 2 else 0), np.arange(len(labels)) != place


def attention(stack: Stack, data: Data, classes: Array, label: Any) -> Floats:
    """Return the weight of every token, for a class."""
    if isinstance(data, MemoryData):
        columns = _columns(stack.scores(data), classes, label)
        return _tokens(stack, data, columns)[0][:, 0]
    if label is None and len(classes) > 2:
        raise ValueError("label must be given for a Dask X and several classes")
    return data.per_sample(_attention_of, stack, column_of(classes, label)[0])


def explain(
    stack: Stack, data: MemoryData, classes: Array, top: int, label: Any
) -> list[Explanation]:
    """Return the ``top`` heaviest tokens of each sequence, for the scores of a class."""
    scores = stack.scores(data)
    columns = _columns(scores, classes, label)
    labels, sign, winner = classes.tolist(), 1.0, scores.argmax(axis=1)
    predicted = [labels[k] for k in winner]
    if len(labels) == 2:  # one column of scores, that speak for the second if positive
        predicted = [labels[int(score > 0)] for score in scores[:, 0]]
        labels, sign = (labels[:1], -1.0) if label == labels[0] else (labels[1:], 1.0)
    tokens, baselines = _tokens(stack, data, columns)
    explanations = []
    kinds = _kinds(stack, data, columns)
    of_column = scores[np.arange(len(data)), columns].tolist()
    parts = zip(pairwise(data.sequences.offsets), of_column, columns.tolist(), strict=True)
    for ((low, high), score, column), said, kind in zip(parts, predicted, kinds, strict=True):
        weights, contributions = tokens[low:high].T
        order = np.argsort(-weights, kind="stable")[:top]
        whole = score - baselines[column] - float(contributions.sum())
        shown = order, weights[order], sign * contributions[order]
        totals = sign * score, sign * baselines[column], sign * whole
        explanations.append(Explanation(*shown, *totals, labels[column], said, kind))
    return explanations


def _kinds(stack: Stack, data: MemoryData, columns: Indices) -> list[int | None]:
    """Return each sequence's likeliest kind of signal, for the class it is looked at by."""
    kinds: list[int | None] = [None] * len(data)
    for member in stack.without_zero_weights().members:
        for column in np.unique(columns).tolist():
            rows = np.flatnonzero(columns == column)
            of_rows = member.kinds(data.take(rows).sequences, column)
            for row, kind in zip(rows, () if of_rows is None else of_rows, strict=False):
                kinds[row] = int(kind)
    return kinds


def _columns(scores: Floats, classes: Array, label: Any) -> Indices:
    """Return the column of scores that each sequence is looked at by."""
    if label is None and len(classes) > 2:
        return scores.argmax(axis=1)
    return np.full(len(scores), column_of(classes, label)[0])


def _tokens(stack: Stack, data: MemoryData, columns: Indices) -> tuple[Floats, dict[int, float]]:
    """Return attention and contribution of every token, for the class of its sequence.

    And the baseline of each class: the score, before limits, of tokens that are all the center.
    """
    tokens, baselines = np.empty((len(data.sequences.tokens), 2)), {}
    for column in np.unique(columns).tolist():
        rows = np.flatnonzero(columns == column)
        in_rows = np.repeat(columns == column, data.lengths)
        tokens[in_rows], baselines[column] = _per_token(data.take(rows).sequences, stack, column)
    return tokens, baselines


def _attention_of(sequences: Sequences, stack: Stack, column: int) -> Floats:
    return _per_token(sequences, stack, column)[0][:, 0]


def _per_token(sequences: Sequences, stack: Stack, column: int) -> tuple[Floats, float]:
    """Return attention, of sum one over a sequence, and contribution of every token for a class.

    Attention is the average over all scores that have it, by their weights; without any weight,
    the plain average. Members that say nothing about tokens have no part in the baseline.
    """
    attention, contribution, plain = np.zeros((3, len(sequences.tokens)))
    baseline = float(stack.weights.sum() * stack.shift[column])
    total, count = 0.0, 0
    for member, weights, scales in stack.parts():
        tokens = member.per_token(sequences, column, stack.center)
        if tokens is not None:
            attention += tokens.attention @ weights
            contribution += tokens.contributions @ (weights * scales)
            baseline += float(tokens.baseline @ (weights * scales))
            plain += tokens.attention.sum(axis=1)
            total, count = total + float(weights.sum()), count + len(weights)
    average = attention / total if total > 0 else plain / max(count, 1)
    return np.stack([average, contribution], axis=1), baseline
