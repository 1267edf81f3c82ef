"""One interface to sequences in memory and to sequences in the chunks of a Dask array.

An estimator only asks for results per sample or for sums over the samples; where the tokens are
does not concern it. With Dask each pass is a map over the chunks, run by the workers, and what
comes back to the client is one row per sample or one sum per chunk: never tokens.
"""

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from sparsetoken.estimators.sequences import Sequences, as_sequences

__all__ = ["ChunkedData", "Data", "MemoryData", "is_dask"]

Array = NDArray[Any]


class Data(Protocol):
    """Sequences that can be passed over."""

    dim: int
    n_tokens: int | None
    """Tokens per sequence, None if they differ."""
    lengths: NDArray[np.int64]
    """Tokens of each sequence."""
    size: int
    """Numbers in all tokens together."""

    def __len__(self) -> int: ...

    def per_sample(self, function: Callable[..., Array], *arguments: Any) -> Array:
        """Return ``function(block, *arguments)`` stacked over the blocks."""

    def total(
        self, function: Callable[..., Any], rows: tuple[Array, ...], *arguments: Any
    ) -> tuple[Any, ...]:
        """Return the sum of ``function(block, *rows of the block, *arguments)``, entry by entry."""

    def take(self, rows: NDArray[np.int64]) -> "MemoryData":
        """Return the sequences of increasing ``rows``, in memory."""

    def mapped(self, token_map: Any) -> "Data":
        """Return the same sequences with a fitted transformer applied to every token."""


class MemoryData:
    """Sequences in memory: one block."""

    def __init__(self, sequences: Sequences) -> None:
        self.sequences = sequences
        self.dim = sequences.dim
        self.size = sequences.tokens.size
        self.lengths = sequences.lengths
        self.n_tokens: int | None = int(self.lengths[0]) if np.ptp(self.lengths) == 0 else None

    def __len__(self) -> int:
        return len(self.sequences)

    def per_sample(self, function: Callable[..., Array], *arguments: Any) -> Array:
        """Return the result of the one block."""
        return function(self.sequences, *arguments)

    def total(
        self, function: Callable[..., Any], rows: tuple[Array, ...], *arguments: Any
    ) -> tuple[Any, ...]:
        """Return the sum of the one block."""
        return _as_tuple(function(self.sequences, *rows, *arguments))

    def take(self, rows: NDArray[np.int64]) -> "MemoryData":
        """Return some sequences; all of them are not copied."""
        return self if len(rows) == len(self) else MemoryData(self.sequences[rows])

    def mapped(self, token_map: Any) -> "MemoryData":
        """Return the sequences of mapped tokens."""
        if token_map is None:
            return self
        return MemoryData(_map_tokens(self.sequences, token_map))


class ChunkedData:
    """A Dask array of shape (n, L, d), chunked over the samples only."""

    def __init__(self, array: Any) -> None:
        if array.ndim != 3:
            raise ValueError(f"a Dask X must have shape (n, L, d), got {array.ndim} dimensions")
        if len(array.chunks[1]) > 1 or len(array.chunks[2]) > 1:
            raise ValueError(
                "a Dask X must be chunked over the samples only, got chunks "
                f"{array.chunks}; use X.rechunk({{1: -1, 2: -1}})"
            )
        if any(np.isnan(size) for size in array.chunks[0]):
            raise ValueError("a Dask X must know its chunk sizes; use X.compute_chunk_sizes()")
        self.array = array
        self.dim, self.size = int(array.shape[2]), int(array.size)
        self.n_tokens: int | None = int(array.shape[1])
        self.lengths = np.full(array.shape[0], self.n_tokens)
        self.bounds = np.concatenate([[0], np.cumsum(array.chunks[0])]).astype(int)

    def __len__(self) -> int:
        return int(self.array.shape[0])

    def per_sample(self, function: Callable[..., Array], *arguments: Any) -> Array:
        """Map over the chunks, and bring one row per sample to the client."""
        return np.concatenate(self._map(function, (), arguments))

    def total(
        self, function: Callable[..., Any], rows: tuple[Array, ...], *arguments: Any
    ) -> tuple[Any, ...]:
        """Map over the chunks and add up what they return."""
        parts = [_as_tuple(part) for part in self._map(function, rows, arguments)]
        return tuple(sum(entries[1:], start=entries[0]) for entries in zip(*parts, strict=True))

    def take(self, rows: NDArray[np.int64]) -> MemoryData:
        """Bring some sequences to the client."""
        return MemoryData(as_sequences(self.array[rows].compute()))

    def mapped(self, token_map: Any) -> "ChunkedData":
        """Return the array of mapped tokens, which the workers compute when they need it."""
        if token_map is None:
            return self
        sample = _map_block(np.zeros((1, 1, self.dim), dtype=self.array.dtype), token_map)
        chunks = (*self.array.chunks[:2], (sample.shape[2],))
        return ChunkedData(
            self.array.map_blocks(
                _map_block, token_map, dtype=sample.dtype, chunks=chunks, meta=sample[:0]
            )
        )

    def lazily(self, function: Callable[..., Array], *arguments: Any) -> Any:
        """Return ``function`` of every sample, of shape (n, L), as a Dask array."""
        return self.array.map_blocks(
            _on_block, function, arguments, dtype=np.float64, drop_axis=2, meta=np.empty((0, 0))
        )

    def _map(
        self, function: Callable[..., Any], rows: tuple[Array, ...], arguments: tuple[Any, ...]
    ) -> list[Any]:
        from dask.base import compute
        from dask.delayed import delayed

        run = delayed(_run_block, pure=False)
        blocks = self.array.to_delayed().ravel()
        tasks = [
            run(block, int(low), function, [row[low:high] for row in rows], arguments)
            for block, low, high in zip(blocks, self.bounds, self.bounds[1:], strict=False)
        ]
        return list(compute(*tasks))


def is_dask(X: Any) -> bool:
    """Return whether ``X`` is a Dask array, without importing Dask."""
    return type(X).__module__.partition(".")[0] == "dask"


def _run_block(
    block: Array, first: int, function: Callable[..., Any], rows: list[Array], arguments: Any
) -> Any:
    return function(as_sequences(block, first), *rows, *arguments)


def _on_block(block: Array, function: Callable[..., Array], arguments: Any) -> Array:
    return function(as_sequences(block), *arguments).reshape(block.shape[:2])


def _map_tokens(sequences: Sequences, token_map: Any) -> Sequences:
    return Sequences(token_map.transform(sequences.tokens), sequences.offsets)


def _map_block(block: Array, token_map: Any) -> Array:
    tokens = _map_tokens(as_sequences(block), token_map).tokens
    return tokens.reshape(*block.shape[:2], -1)


def _as_tuple(result: Any) -> tuple[Any, ...]:
    return result if isinstance(result, tuple) else (result,)
