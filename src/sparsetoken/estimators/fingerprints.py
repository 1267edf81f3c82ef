"""Numbers that tell sequences apart: whether a model has seen a sequence before."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["fingerprints", "fingerprints_of", "seen_in_fit"]


def fingerprints(sequences: Any) -> NDArray[np.uint64]:
    """Return a hash of the first and last token of each sequence, and of its length.

    Equal sequences have equal ones, in float32 as in float64; different ones practically never.

    Examples
    --------
    >>> import numpy as np, sparsetoken as st
    >>> X = st.Sequences(np.arange(8.0).reshape(4, 2), offsets=[0, 2, 4])
    >>> a, b = fingerprints(X)
    >>> bool(a == fingerprints(X[[0]])[0]), bool(a == b)
    (True, False)
    """
    tokens, offsets = sequences.tokens, sequences.offsets
    factors = np.random.default_rng(0).integers(1, 2**63, (2, tokens.shape[1]), dtype=np.uint64)
    total = np.diff(offsets).astype(np.uint64)
    for rows, odd in ((offsets[:-1], factors[0] | 1), (offsets[1:] - 1, factors[1] | 1)):
        for feature, factor in enumerate(odd):  # one by one: nothing as large as the data
            bits = tokens[rows, feature].astype(np.float64).view(np.uint64)
            total += (bits ^ (bits >> np.uint64(29))) * factor
    return total


def fingerprints_of(data: Any) -> NDArray[np.uint64]:
    """Return the fingerprints of data in memory, in a folder or in chunks: these take a pass."""
    in_memory = hasattr(data, "sequences")
    return fingerprints(data.sequences) if in_memory else data.per_sample(fingerprints)


def seen_in_fit(classifier: Any, sequences: Any) -> NDArray[np.bool_]:
    """Return which sequences a classifier was fitted to, as far as it remembers."""
    known = getattr(classifier, "fingerprints_", None)
    if known is None:
        return np.zeros(len(sequences), dtype=bool)
    return np.isin(fingerprints(sequences), known)
