"""One interface to sequences in memory, in a folder, and in the chunks of a Dask array.

An estimator only asks for results per sample or for sums over the samples; where the tokens are
does not concern it. A pass is a map over blocks that fit into the cache: the same ones in memory
and from a folder, and for any number of threads, so that sums round alike. From a folder a few
megabytes of blocks are in memory at a time, and the next are read meanwhile. ``chunked`` maps over
the workers of a Dask cluster.
"""

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property, partial
from itertools import pairwise
from typing import Any, Protocol, Self

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray

from sparsetoken.sequences.folder import StoredSequences
from sparsetoken.sequences.passes import pooled_features, scaled_tokens
from sparsetoken.sequences.sequences import Sequences

Array = NDArray[Any]
Block = tuple[slice, Sequences]
Change = Callable[[Sequences], Sequences]


class Data(Protocol):
    """Sequences that can be passed over."""

    dim: int
    n_tokens: int | None
    """Tokens per sequence, None if they differ."""
    lengths: NDArray[np.int64]
    """Tokens of each sequence."""
    size: int
    """Numbers in all tokens together."""
    room: float
    """Numbers that may be held in memory beside them."""
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

    def pooled(self) -> "Data":
        """Return each sequence's mean token, as a sequence of one."""


class Passes:
    """A count of passes, shared by all the forms in which the same data are read."""

    def __init__(self) -> None:
        self.count = 0


class _Blocks:
    """Passes over blocks of whole sequences, by one thread or several."""

    n_jobs: int | None
    passes: Passes

    def per_sample(self, function: Callable[..., Array], *arguments: Any) -> Array:
        """Return the results of the blocks in one array."""
        return np.concatenate(list(self._map(function, (), arguments)))

    def total(
        self, function: Callable[..., Any], rows: tuple[Array, ...], *arguments: Any
    ) -> tuple[Any, ...]:
        """Return the sum over the blocks."""
        return add_up(self._map(function, rows, arguments))

    def _map(
        self, function: Callable[..., Any], rows: tuple[Array, ...], arguments: tuple[Any, ...]
    ) -> Iterator[Any]:
        self.passes.count += 1

        def run(block: Block) -> Any:
            return function(block[1], *(row[block[0]] for row in rows), *arguments)

        n_threads = effective_n_jobs(self.n_jobs)
        if n_threads == 1:
            for blocks in self._parts():
                yield from map(run, blocks)
            return
        with ThreadPoolExecutor(n_threads) as threads:  # the work is in BLAS and numba
            for blocks in self._parts():
                yield from threads.map(run, blocks)

    def _parts(self) -> Iterator[Iterable[Block]]:
        """Yield blocks, some at a time: those that may be in memory together."""
        raise NotImplementedError


class MemoryData(_Blocks):
    """Sequences in memory."""

    room = np.inf

    def __init__(
        self, sequences: Sequences, n_jobs: int | None = None, passes: Passes | None = None
    ) -> None:
        self.sequences = sequences
        self.n_jobs = n_jobs
        self.passes = Passes() if passes is None else passes
        self.dim = sequences.dim
        self.size = sequences.tokens.size
        self.lengths = sequences.lengths
        self.n_tokens = _common(self.lengths)

    def __len__(self) -> int:
        return len(self.sequences)

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

    def pooled(self) -> "MemoryData":
        """Return mean tokens; reading them is no pass over the tokens."""
        return _means_of(self)

    def scaled(self, mean: Array, scale: Array) -> "MemoryData":
        """Return the sequences of tokens (x − mean)·scale."""
        tokens = self.per_sample(scaled_tokens, mean, scale)
        return MemoryData(Sequences(tokens, self.sequences.offsets), self.n_jobs, self.passes)

    def cut(self, offsets: NDArray[np.int64]) -> "MemoryData":
        """Return the same tokens cut at other places."""
        return MemoryData(Sequences(self.sequences.tokens, offsets), self.n_jobs, self.passes)

    @cached_property
    def _blocks(self) -> list[Block]:
        bounds = block_bounds(self.sequences.offsets, self.dim, _BLOCK)
        return [
            (slice(low, high), self.sequences[low:high]) for low, high in pairwise(bounds.tolist())
        ]

    def _parts(self) -> Iterator[Iterable[Block]]:
        yield self._blocks


class LazyData:
    """What sequences that are not in memory share: ``changes`` are made when they are read."""

    room: float
    n_jobs: int | None

    def __init__(self, source: Any, passes: Passes | None, changes: tuple[Change, ...]) -> None:
        self.passes = Passes() if passes is None else passes
        self.changes = changes
        # What the changes do to one sequence of two tokens they do to all.
        probe = self.change(Sequences(np.zeros((2, source.dim), source.dtype), [0, 2]))
        self.dim = probe.dim
        lengths = np.asarray(source.lengths)
        self.lengths = lengths if len(probe.tokens) == 2 else np.ones_like(lengths)
        self.n_tokens = _common(self.lengths)
        self.size = int(self.lengths.sum()) * self.dim

    def __len__(self) -> int:
        return len(self.lengths)

    def change(self, sequences: Sequences) -> Sequences:
        """Return what the estimator sees of sequences that were read."""
        return apply_changes(sequences, self.changes)

    def changed(self, change: Change) -> Self:
        """Return the same data, with one more change."""
        raise NotImplementedError

    def mapped(self, token_map: Any) -> Self:
        """Return the sequences of tokens that are mapped whenever they are read."""
        return (
            self if token_map is None else self.changed(partial(_map_tokens, token_map=token_map))
        )

    def pooled(self) -> Any:
        """Return mean tokens: in memory if there is room, else taken whenever they are read."""
        if len(self) * self.dim <= self.room:
            return _means_of(self)
        return self.changed(_mean_tokens)


class StoredData(LazyData, _Blocks):
    """Sequences in a folder."""

    def __init__(
        self,
        stored: StoredSequences,
        n_jobs: int | None = None,
        passes: Passes | None = None,
        changes: tuple[Change, ...] = (),
    ) -> None:
        super().__init__(stored, passes, changes)
        self.stored, self.n_jobs, self.room = stored, n_jobs, stored.room

    def take(self, rows: NDArray[np.int64]) -> MemoryData:
        """Read some sequences."""
        self.passes.count += 1
        return MemoryData(self.change(self.stored[rows]), self.n_jobs, self.passes)

    def changed(self, change: Change) -> "StoredData":
        """Return the same data, with one more change."""
        return StoredData(self.stored, self.n_jobs, self.passes, (*self.changes, change))

    def cut(self, offsets: NDArray[np.int64]) -> "StoredData":
        """Return the same tokens cut at other places; offsets count from the first token."""
        cut = self.stored.cut(offsets + self.stored.offsets[0])
        return StoredData(cut, self.n_jobs, self.passes, self.changes)

    def _parts(self) -> Iterator[Iterable[Block]]:
        bounds = block_bounds(self.stored.offsets, self.stored.dim, _BLOCK)
        most = min(_PART, self.stored.room // 4)
        number = _numbers(self.stored.offsets, self.stored.dim)[bounds[:-1]] // most
        parts = np.split(bounds[:-1], np.flatnonzero(np.diff(number)) + 1)
        ends = [int(part[0]) for part in parts[1:]] + [int(bounds[-1])]
        tasks = [[*part.tolist(), end] for part, end in zip(parts, ends, strict=True)]
        with ThreadPoolExecutor(1) as reader:  # reads one part ahead
            ahead = [reader.submit(self._read, tasks[0])]
            for task in [*tasks[1:], None]:
                blocks = ahead.pop().result()
                if task is not None:
                    ahead.append(reader.submit(self._read, task))
                yield blocks

    def _read(self, bounds: list[int]) -> Iterator[Block]:
        sequences = self.stored.read(bounds[0], bounds[-1])
        return (
            (slice(low, high), self.change(sequences[low - bounds[0] : high - bounds[0]]))
            for low, high in pairwise(bounds)
        )


def apply_changes(sequences: Sequences, changes: Iterable[Change]) -> Sequences:
    """Return sequences after one change after the other."""
    for change in changes:
        sequences = change(sequences)
    return sequences


_BLOCK = 2**17  # numbers: what the second-level cache holds in single precision
_PART = 2**22  # numbers that are read from a folder at a time


def add_up(parts: Iterable[Any]) -> tuple[Any, ...]:
    """Return the sum of results that are arrays, numbers or tuples of them, entry by entry."""
    total: tuple[Any, ...] = ()
    for part in parts:
        entries = part if isinstance(part, tuple) else (part,)
        total = tuple(a + b for a, b in zip(total, entries, strict=True)) if total else entries
    return total


def _common(lengths: NDArray[np.int64]) -> int | None:
    return int(lengths[0]) if len(lengths) and np.ptp(lengths) == 0 else None


def _numbers(offsets: NDArray[np.int64], dim: int) -> NDArray[np.int64]:
    """Return how many numbers come before each sequence, and in all."""
    return (offsets - offsets[0]) * dim


def block_bounds(offsets: NDArray[np.int64], dim: int, size: int) -> NDArray[np.int64]:
    """Return where blocks of whole sequences, of about ``size`` numbers each, start and end."""
    number = _numbers(offsets, dim)[:-1] // size
    return np.append(np.flatnonzero(np.diff(number, prepend=-1)), len(number))


def _means_of(data: Any) -> MemoryData:
    means = data.per_sample(pooled_features)
    return MemoryData(Sequences(means, np.arange(len(means) + 1)), data.n_jobs)


def _mean_tokens(sequences: Sequences) -> Sequences:
    return Sequences(pooled_features(sequences), np.arange(len(sequences) + 1))


def _map_tokens(sequences: Sequences, token_map: Any) -> Sequences:
    return Sequences(token_map.transform(sequences.tokens), sequences.offsets)
