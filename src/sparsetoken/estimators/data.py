"""One interface to sequences in memory and to sequences in the chunks of a Dask array.

An estimator only asks for results per sample or for sums over the samples; where the tokens are
does not concern it. A pass over data in memory is a map over blocks that fit into the cache, the
same ones for any number of threads, so that sums round alike. With Dask each pass is a map over the
chunks, run by the workers, and what comes back to the client is one row per sample or one sum per
chunk: never tokens.
"""

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray

from sparsetoken.estimators.passes import scaled_tokens
from sparsetoken.estimators.sequences import Sequences, as_sequences

__all__ = ["ChunkedData", "Data", "MemoryData", "Passes", "is_dask"]

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
    passes: "Passes"
    """How often the tokens were read."""

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


class Passes:
    """A count of passes, shared by all the forms in which the same data are read."""

    def __init__(self) -> None:
        self.count = 0


class MemoryData:
    """Sequences in memory, read in blocks by one thread or several."""

    def __init__(
        self, sequences: Sequences, n_jobs: int | None = None, passes: Passes | None = None
    ) -> None:
        self.sequences = sequences
        self.n_jobs = n_jobs
        self.passes = Passes() if passes is None else passes
        self.dim = sequences.dim
        self.size = sequences.tokens.size
        self.lengths = sequences.lengths
        self.n_tokens: int | None = int(self.lengths[0]) if np.ptp(self.lengths) == 0 else None

    def __len__(self) -> int:
        return len(self.sequences)

    def per_sample(self, function: Callable[..., Array], *arguments: Any) -> Array:
        """Return the results of the blocks in one array."""
        return np.concatenate(list(self._map(function, (), arguments)))

    def total(
        self, function: Callable[..., Any], rows: tuple[Array, ...], *arguments: Any
    ) -> tuple[Any, ...]:
        """Return the sum over the blocks."""
        return _sum(self._map(function, rows, arguments))

    def take(self, rows: NDArray[np.int64]) -> "MemoryData":
        """Return some sequences; all of them are not copied."""
        if len(rows) == len(self):
            return self
        return MemoryData(self.sequences[rows], self.n_jobs, self.passes)

    def mapped(self, token_map: Any) -> "MemoryData":
        """Return the sequences of mapped tokens."""
        if token_map is None:
            return self
        return MemoryData(_map_tokens(self.sequences, token_map), self.n_jobs, self.passes)

    def scaled(self, mean: Array, scale: Array) -> "MemoryData":
        """Return the sequences of tokens (x − mean)·scale, in float32: of size one, that will do."""
        tokens = self.per_sample(scaled_tokens, mean, scale).astype(np.float32, copy=False)
        return MemoryData(Sequences(tokens, self.sequences.offsets), self.n_jobs, self.passes)

    @cached_property
    def _blocks(self) -> list[tuple[slice, Sequences]]:
        """Whole sequences of about ``_BLOCK`` numbers together."""
        number = self.sequences.offsets[:-1] * self.dim // _BLOCK
        starts = np.flatnonzero(np.diff(number, prepend=-1))
        ends = np.append(starts[1:], len(self))
        parts = [slice(int(low), int(high)) for low, high in zip(starts, ends, strict=True)]
        return [(part, self.sequences[part]) for part in parts]

    def _map(
        self, function: Callable[..., Any], rows: tuple[Array, ...], arguments: tuple[Any, ...]
    ) -> Iterator[Any]:
        self.passes.count += 1

        def run(block: tuple[slice, Sequences]) -> Any:
            return function(block[1], *(row[block[0]] for row in rows), *arguments)

        n_threads = min(effective_n_jobs(self.n_jobs), len(self._blocks))
        if n_threads == 1:
            yield from map(run, self._blocks)
            return
        with ThreadPoolExecutor(n_threads) as threads:  # the work is in BLAS and numba
            yield from threads.map(run, self._blocks)


_BLOCK = 2**17  # numbers: what the second-level cache holds in single precision


class ChunkedData:
    """A Dask array of shape (n, L, d), chunked over the samples only."""

    def __init__(self, array: Any, passes: Passes | None = None) -> None:
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
        self.passes = Passes() if passes is None else passes

    def __len__(self) -> int:
        return int(self.array.shape[0])

    def per_sample(self, function: Callable[..., Array], *arguments: Any) -> Array:
        """Map over the chunks, and bring one row per sample to the client."""
        return np.concatenate(self._map(function, (), arguments))

    def total(
        self, function: Callable[..., Any], rows: tuple[Array, ...], *arguments: Any
    ) -> tuple[Any, ...]:
        """Map over the chunks and add up what they return."""
        return _sum(self._map(function, rows, arguments, summed=True))

    def take(self, rows: NDArray[np.int64]) -> MemoryData:
        """Bring some sequences to the client."""
        self.passes.count += 1
        return MemoryData(as_sequences(self.array[rows].compute()), passes=self.passes)

    def mapped(self, token_map: Any) -> "ChunkedData":
        """Return the array of mapped tokens, which the workers compute when they need it."""
        if token_map is None:
            return self
        sample = _map_block(np.zeros((1, 1, self.dim), dtype=self.array.dtype), token_map)
        chunks = (*self.array.chunks[:2], (sample.shape[2],))
        return ChunkedData(
            self.array.map_blocks(
                _map_block, token_map, dtype=sample.dtype, chunks=chunks, meta=sample[:0]
            ),
            self.passes,
        )

    def lazily(self, function: Callable[..., Array], *arguments: Any) -> Any:
        """Return ``function`` of every sample, of shape (n, L), as a Dask array."""
        return self.array.map_blocks(
            _on_block, function, arguments, dtype=np.float64, drop_axis=2, meta=np.empty((0, 0))
        )

    def _map(
        self,
        function: Callable[..., Any],
        rows: tuple[Array, ...],
        arguments: tuple[Any, ...],
        summed: bool = False,
    ) -> list[Any]:
        self.passes.count += 1
        from dask.base import compute
        from dask.delayed import delayed

        run = delayed(_run_block, pure=False)
        blocks = self.array.to_delayed().ravel()
        tasks = [
            run(block, int(low), function, [row[low:high] for row in rows], arguments, summed)
            for block, low, high in zip(blocks, self.bounds, self.bounds[1:], strict=False)
        ]
        return list(compute(*tasks))


def is_dask(X: Any) -> bool:
    """Return whether ``X`` is a Dask array, without importing Dask."""
    return type(X).__module__.partition(".")[0] == "dask"


def _run_block(
    block: Array,
    first: int,
    function: Callable[..., Any],
    rows: list[Array],
    arguments: Any,
    summed: bool,
) -> Any:
    data = MemoryData(as_sequences(block, first))
    if summed:
        return data.total(function, tuple(rows), *arguments)
    return data.per_sample(function, *arguments)


def _on_block(block: Array, function: Callable[..., Array], arguments: Any) -> Array:
    return function(as_sequences(block), *arguments).reshape(block.shape[:2])


def _map_tokens(sequences: Sequences, token_map: Any) -> Sequences:
    return Sequences(token_map.transform(sequences.tokens), sequences.offsets)


def _map_block(block: Array, token_map: Any) -> Array:
    tokens = _map_tokens(as_sequences(block), token_map).tokens
    return tokens.reshape(*block.shape[:2], -1)


def _sum(parts: Iterable[Any]) -> tuple[Any, ...]:
    """Return the sum of results that are arrays, numbers or tuples of them, entry by entry."""
    total: tuple[Any, ...] = ()
    for part in parts:
        entries = part if isinstance(part, tuple) else (part,)
        total = tuple(a + b for a, b in zip(total, entries, strict=True)) if total else entries
    return total
