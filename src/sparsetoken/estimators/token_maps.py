"""Transformers applied to every token before the heads see it."""

from typing import Any

from sklearn.base import clone
from sklearn.kernel_approximation import Nystroem
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sparsetoken.sequences.data import Data, MemoryData

_COMPONENTS = 200  # of the kernel map that token_map="auto" tries


def token_maps(token_map: Any, data: Data, seed: int) -> list[Any]:
    """Return fitted maps to choose from, each with the scaling before it; None is no map."""
    if token_map is None:
        return [None]
    if not isinstance(data, MemoryData):
        raise ValueError("token_map needs a selection of the sequences that fits into memory")
    tokens, maps = data.sequences.tokens, [token_map]
    if isinstance(token_map, str):
        if token_map != "auto":
            raise ValueError(f'token_map must be "auto", None or a transformer, got {token_map!r}')
        count = min(_COMPONENTS, len(tokens))
        maps = [None, Nystroem(n_components=count, random_state=seed)]
    return [
        None if one is None else make_pipeline(StandardScaler(), clone(one)).fit(tokens)
        for one in maps
    ]
