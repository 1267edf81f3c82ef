"""Faults of the data themselves."""

import numpy as np

from sparsetoken._types import Array, Floats, Indices
from sparsetoken._validation import shown
from sparsetoken.estimators.answers import Finding
from sparsetoken.sequences.data import Data, MemoryData
from sparsetoken.sequences.passes import largest_magnitudes, token_statistics
from sparsetoken.sequences.sequences import Sequences

_FEW = 10  # samples of a class
_OUTLYING, _FEW_OUTLYING = 50.0, 0.02  # times a sequence's usual largest value; of the sequences
_MANY_CONSTANT = 0.1  # of the features; images have a few at their edges


def duplicated(data: Data) -> Finding:
    """Count the sequences that repeat another one."""
    repeated = 0
    if isinstance(data, MemoryData):
        contents = [hash(tokens.tobytes()) for tokens in data.sequences]
        repeated = len(contents) - len(set(contents))
    return Finding(
        "duplicated sequences",
        repeated > 0.02 * len(data),
        f"{repeated} of {len(data)} sequences repeat another one token by token.",
        "Copies on both sides of a fold make every held-out score too good: drop them, or pass "
        "groups to fit.",
    )


def few_samples(counts: Indices, classes: Array) -> Finding:
    """Look at the size of the smallest class."""
    smallest = int(counts.argmin())
    return Finding(
        "few samples of a class",
        int(counts[smallest]) < _FEW,
        f"Class {classes.tolist()[smallest]!r} has only {counts[smallest]} of these samples.",
        "Findings about it are uncertain: collect more of that class first.",
        asks_for_samples=True,
    )


def outlying(spread: Floats) -> Finding:
    """Look for single sequences with values far beyond the largest ones of the others."""
    extremes = np.abs(spread.reshape(len(spread), 3, -1)[:, :2]).max(axis=1)
    usual = np.median(extremes, axis=0)
    beyond = np.flatnonzero(((extremes > _OUTLYING * usual) & (usual > 0)).any(axis=1))
    return Finding(
        "outlying tokens",
        0 < len(beyond) <= max(1, _FEW_OUTLYING * len(spread)),
        f"Sequences {shown(beyond.tolist())} have values more than {_OUTLYING:g} times as large as "
        "those of the others.",
        "Check them: one such token can mislead a whole fit, that of BayesAttentionClassifier most "
        "of all.",
    )


def constant(data: Data) -> Finding:
    """Count the features that never vary."""
    ends = data.per_sample(_ends)
    count = int((ends[:, 0].max(axis=0) == ends[:, 1].min(axis=0)).sum())
    return Finding(
        "constant features",
        count > _MANY_CONSTANT * data.dim,
        f"{count} of {data.dim} features never vary; they are ignored.",
        "Check whether they were meant to be filled.",
    )


def _ends(sequences: Sequences) -> Floats:
    tokens = sequences.tokens
    return np.stack([tokens.max(axis=0), tokens.min(axis=0)])[np.newaxis].astype(np.float64)


def token_spread(data: Data) -> Floats:
    """Return extremes and deviation of each sequence's tokens, feature by feature."""
    magnitude = np.maximum(data.per_sample(largest_magnitudes).max(axis=0), 1e-290)
    return data.per_sample(token_statistics, 1.0 / magnitude)[:, data.dim :].astype(np.float64)
