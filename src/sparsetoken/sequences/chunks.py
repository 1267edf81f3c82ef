"""Sequences in the chunks of a Dask array, or in a folder that the workers of a cluster read.

Each pass is a map over the chunks, run by the workers, and what comes back to the client is one row
per sample or one sum per chunk: never tokens. A chunk whose worker died is read, or computed, and
passed over by another one.
"""

import warnings
from collections.abc import Callable, Iterable
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import numpy as np

from sparsetoken._types import Array, Indices
from sparsetoken.sequences.data import (
    Change,
    LazyData,
    MemoryData,
    Passes,
    StoredData,
    add_up,
    apply_changes,
    block_bounds,
)
from sparsetoken.sequences.folder import StoredSequences
from sparsetoken.sequences.forms import offsets_of
from sparsetoken.sequences.sequences import Sequences, as_sequences

_TASK = 2**22  # fewest numbers of a folder that a task passes over, a few blocks at a time
_TASKS_A_THREAD = 4  # few, as each costs the scheduler milliseconds; some, to share the work evenly
_ROOM = 2**26  # numbers that may come to the client


class ChunkedData(LazyData):
    """Chunks of whole sequences, each somewhere on a cluster."""

    def __init__(
        self,
        source: Any,
        blocks: list[Any],
        bounds: Indices,
        room: float,
        client: Any = None,
        passes: Passes | None = None,
        changes: tuple[Change, ...] = (),
    ) -> None:
        super().__init__(source, room, None, passes, changes)
        self.blocks, self.bounds, self.client = blocks, bounds, client
        self._placed: tuple[tuple[Array, ...], list[Any]] | None = None

    def per_sample(self, function: Callable[..., Array], *arguments: Any) -> Array:
        """Map over the chunks, and bring one row per sample to the client."""
        return np.concatenate(self._run("per_sample", (), function, *arguments))

    def total(
        self, function: Callable[..., Any], rows: tuple[Array, ...], *arguments: Any
    ) -> tuple[Any, ...]:
        """Map over the chunks and add up what they return."""
        return add_up(self._run("total", rows, function, *arguments))

    def take(self, rows: Indices) -> MemoryData:
        """Bring some sequences to the client."""
        chosen = np.zeros(len(self), dtype=bool)
        chosen[rows] = True
        parts = self._run("take", (chosen,))
        return MemoryData(Sequences.concatenate(parts), passes=self.passes)

    def lazily(self, function: Callable[..., Array], *arguments: Any) -> Any:
        """Return ``function`` of every sample, of shape (n, L), as a Dask array."""
        return self.source.array.map_blocks(
            _on_block,
            self.changes,
            function,
            arguments,
            dtype=np.float64,
            drop_axis=2,
            meta=np.empty((0, 0)),
        )

    def _run(self, what: str, rows: tuple[Array, ...], *arguments: Any) -> list[Any]:
        self.passes.count += 1
        from dask.base import compute
        from dask.delayed import delayed

        run = delayed(_run_block, pure=False)
        shared = delayed((what, self.changes, arguments), traverse=False, pure=False)
        tasks = [
            run(block, int(low), part, shared)
            for block, low, part in zip(self.blocks, self.bounds, self._place(rows), strict=False)
        ]
        return list(compute(*tasks, scheduler=self.client))

    def _place(self, rows: tuple[Array, ...]) -> list[Any]:
        """Return each chunk's rows, at the workers: many passes in turn use the same ones."""
        if not rows:
            return [()] * len(self.blocks)
        same = self._placed is not None and len(rows) == len(self._placed[0])
        if not same or any(a is not b for a, b in zip(rows, self._placed[0], strict=True)):  # type: ignore[index]
            parts = [tuple(row[low:high] for row in rows) for low, high in pairwise(self.bounds)]
            self._placed = (rows, place(parts, self.client))
        assert self._placed is not None
        return self._placed[1]


def chunks_of_array(array: Any) -> ChunkedData:
    """Return a Dask array of shape (n, L, d), chunked over the samples only, as data."""
    if array.ndim != 3:
        raise ValueError(f"a Dask X must have shape (n, L, d), got {array.ndim} dimensions")
    if len(array.chunks[1]) > 1 or len(array.chunks[2]) > 1:
        raise ValueError(
            "a Dask X must be chunked over the samples only, got chunks "
            f"{array.chunks}; use X.rechunk({{1: -1, 2: -1}})"
        )
    if any(np.isnan(size) for size in array.chunks[0]):
        raise ValueError("a Dask X must know its chunk sizes; use X.compute_chunk_sizes()")
    n, length, dim = map(int, array.shape)
    source = SimpleNamespace(
        array=array, dtype=array.dtype, dim=dim, lengths=np.full(n, length, dtype=np.int64)
    )
    bounds = offsets_of(array.chunks[0])
    return ChunkedData(source, array.to_delayed().ravel().tolist(), bounds, _ROOM)


def chunks_of_folder(stored: StoredSequences, changes: tuple[Change, ...] = ()) -> ChunkedData:
    """Return sequences in a folder as data that the workers of its client read."""
    threads = sum(stored.client.nthreads().values()) or 1
    task = max(_TASK, stored.size // (_TASKS_A_THREAD * threads))
    bounds = block_bounds(stored.offsets, stored.dim, task)
    parts = [stored.cut(stored.offsets[low : high + 1]) for low, high in pairwise(bounds)]
    blocks = place(parts, stored.client)
    return ChunkedData(stored, blocks, bounds, stored.room, stored.client, None, changes)


def is_dask(X: Any) -> bool:
    """Return whether ``X`` is a Dask array, without importing Dask."""
    return type(X).__module__.partition(".")[0] == "dask"


def place(parts: Iterable[Any], client: Any) -> list[Any]:
    """Send objects to the workers. The scheduler can make them again, unlike scattered ones."""
    from dask.base import persist
    from dask.delayed import delayed

    literals = [delayed(part, traverse=False, pure=False) for part in parts]
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Sending large graph")
        return list(persist(*literals, scheduler=client))


def _run_block(block: Any, first: int, rows: tuple[Array, ...], shared: Any) -> Any:
    what, changes, arguments = shared
    data: Any
    if isinstance(block, StoredSequences):
        data = StoredData(block, changes=changes)
    else:
        data = MemoryData(apply_changes(as_sequences(block, first), changes))
    if what == "total":
        return data.total(arguments[0], rows, *arguments[1:])
    if what == "take":
        return data.take(np.flatnonzero(rows[0])).sequences
    return data.per_sample(*arguments)


def _on_block(block: Array, changes: Any, function: Callable[..., Array], arguments: Any) -> Array:
    sequences = apply_changes(as_sequences(block), changes)
    return function(sequences, *arguments).reshape(block.shape[:2])
