"""Numbers that tell sequences apart: whether a model has seen a sequence before."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sparsetoken._types import Bools


def fingerprints(sequences: Any) -> NDArray[np.uint64]:
    """Return a hash of each sequence's length and of its largest and smallest value by feature.

    Equal sequences have equal ones, in float32 as in float64 and with their tokens in any order;
    different ones practically never.
    """
    tokens, starts = sequences.tokens, sequences.offsets[:-1]
    factors = np.random.default_rng(0).integers(1, 2**63, (2, tokens.shape[1]), dtype=np.uint64)
    total = np.diff(sequences.offsets).astype(np.uint64)
    for ends, odd in zip((np.maximum, np.minimum), factors | np.uint64(1), strict=True):
        bits = (ends.reduceat(tokens, starts).astype(np.float64) + 0.0).view(np.uint64)
        total += ((bits ^ (bits >> np.uint64(29))) * odd).sum(axis=1, dtype=np.uint64)
    return total


def seen_in_fit(classifier: Any, sequences: Any) -> Bools:
    """Return which sequences a classifier was fitted to, as far as it remembers."""
    return np.isin(fingerprints(sequences), getattr(classifier, "fingerprints_", []))
