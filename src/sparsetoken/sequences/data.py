"""One interface to sequences in memory, in a folder, and in the chunks of a Dask array.

An estimator only asks for results per sample or for sums over the samples; where the tokens are
does not concern it. A pass is a map over blocks that fit into the cache: the same ones in memory
and from a folder, and for any number of threads, so that sums round alike. From a folder a few
megabytes of blocks are in memory at a time, and the next are read meanwhile. ``chunks`` maps over
the workers of a Dask cluster.
"""

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from copy import copy
from functools import cached_property
from itertools import pairwise
from typing import Any, Self

import numpy as np
from joblib import effective_n_jobs

from sparsetoken._types import Array, Indices
from sparsetoken.sequences.folder import StoredSequences
from sparsetoken.sequences.passes import pooled_features, scaled_tokens
from sparsetoken.sequences.sequences import Sequences
from sparsetoken.sequences.threads import one_blas_thread

Block = tuple[slice, Sequences]
Change = Callable[[Sequences], Sequences]

_BLOCK = 2**17  # numbers: what the second-level cache holds in single precision
_PART = 2**22  # numbers that are read from a folder at a time


class Passes:
    """A count of passes, shared by all the forms in which the same data are read."""

    def __init__(self) -> None:
        self.count = 0


class Data:
    """Sequences that can be passed over, in blocks of whole sequences.

    Parameters
    ----------
    lengths : ndarray of int
        Tokens of each sequence.
    dim : int
        Features of a token.
    room : float
        Numbers that may be held in memory beside them.
    n_jobs : int or None
        Threads that pass over blocks.
    passes : Passes or None
        How often the tokens were read.
    """

    def __init__(
        self, lengths: Indices, dim: int, room: float, n_jobs: int | None, passes: Passes | None
    ) -> None:
        self.lengths, self.dim, self.room, self.n_jobs = lengths, dim, room, n_jobs
        self.passes = Passes() if passes is None else passes
        self.size = int(lengths.sum()) * dim
        """Numbers in all tokens together."""
        self.n_tokens = int(lengths[0]) if len(lengths) and np.ptp(lengths) == 0 else None
        """Tokens per sequence, None if they differ."""

    def __len__(self) -> int:
        return len(self.lengths)

    def per_sample(self, function: Callable[..., Array], *arguments: Any) -> Array:
        """Return ``function(block, *arguments)`` stacked over the blocks."""
        return np.concatenate(list(self._map(function, (), arguments)))

    def total(
        self, function: Callable[..., Any], rows: tuple[Array, ...], *arguments: Any
    ) -> tuple[Any, ...]:
        """Return the sum of ``function(block, *rows of the block, *arguments)``, entry by entry."""
        return add_up(self._map(function, rows, arguments))

    def take(self, rows: Indices) -> "MemoryData":
        """Return the sequences of increasing ``rows``, in memory."""
        raise NotImplementedError

    def pooled(self) -> "Data":
        """Return each sequence's mean token, as a sequence of one: no pass over the tokens."""
        means = self.per_sample(pooled_features)
        return MemoryData(Sequences(means, np.arange(len(means) + 1)), self.n_jobs)

    def _map(
        self, function: Callable[..., Any], rows: tuple[Array, ...], arguments: tuple[Any, ...]
    ) -> Iterator[Any]:
        self.passes.count += 1

        def run(block: Block) -> Any:
            return function(block[1], *(row[block[0]] for row in rows), *arguments)

        n_threads = effective_n_jobs(self.n_jobs)
        with one_blas_thread(), ThreadPoolExecutor(n_threads) as threads:
            for blocks in self._parts():
                yield from (map if n_threads == 1 else threads.map)(run, blocks)

    def _parts(self) -> Iterator[Iterable[Block]]:
        """Yield blocks, some at a time: those that may be in memory together."""
        raise NotImplementedError


class MemoryData(Data):
    """Sequences in memory."""

    def __init__(
        self, sequences: Sequences, n_jobs: int | None = None, passes: Passes | None = None
    ) -> None:
        super().__init__(sequences.lengths, sequences.dim, np.inf, n_jobs, passes)
        self.sequences = sequences

    def take(self, rows: Indices) -> "MemoryData":
        """Return some sequences; all of them are not copied."""
        return self if len(rows) == len(self) else self._with(self.sequences[rows])

    def scaled(self, mean: Array, scale: Array) -> "MemoryData":
        """Return the sequences of tokens (x − mean)·scale."""
        tokens = self.per_sample(scaled_tokens, mean, scale)
        return self._with(Sequences(tokens, self.sequences.offsets))

    def cut(self, offsets: Indices) -> "MemoryData":
        """Return the same tokens cut at other places."""
        return self._with(Sequences(self.sequences.tokens, offsets))

    def _with(self, sequences: Sequences) -> "MemoryData":
        return MemoryData(sequences, self.n_jobs, self.passes)

    @cached_property
    def _blocks(self) -> list[Block]:
        bounds = block_bounds(self.sequences.offsets, self.dim, _BLOCK)
        return [
            (slice(low, high), self.sequences[low:high]) for low, high in pairwise(bounds.tolist())
        ]

    def _parts(self) -> Iterator[Iterable[Block]]:
        yield self._blocks


class LazyData(Data):
    """What sequences that are not in memory share: ``changes`` are made when they are read."""

    def __init__(
        self,
        source: Any,
        room: float,
        n_jobs: int | None,
        passes: Passes | None,
        changes: tuple[Change, ...],
    ) -> None:
        self.source, self.changes = source, changes
        # What the changes do to one sequence of two tokens they do to all.
        probe = self.change(Sequences(np.zeros((2, source.dim), source.dtype), [0, 2]))
        lengths = np.asarray(source.lengths)
        kept = lengths if len(probe.tokens) == 2 else np.ones_like(lengths)
        super().__init__(kept, probe.dim, room, n_jobs, passes)

    def change(self, sequences: Sequences) -> Sequences:
        """Return what the estimator sees of sequences that were read."""
        return apply_changes(sequences, self.changes)

    def changed(self, change: Change) -> Self:
        """Return the same data, with one more change."""
        same, changes = copy(self), (*self.changes, change)
        LazyData.__init__(same, self.source, self.room, self.n_jobs, self.passes, changes)
        return same

    def pooled(self) -> Data:
        """Return mean tokens: in memory if there is room, else taken whenever they are read."""
        fits = len(self) * self.dim <= self.room
        return super().pooled() if fits else self.changed(_mean_tokens)


class StoredData(LazyData):
    """Sequences in a folder."""

    def __init__(
        self,
        stored: StoredSequences,
        n_jobs: int | None = None,
        passes: Passes | None = None,
        changes: tuple[Change, ...] = (),
    ) -> None:
        super().__init__(stored, stored.room, n_jobs, passes, changes)

    def take(self, rows: Indices) -> MemoryData:
        """Read some sequences."""
        self.passes.count += 1
        return MemoryData(self.change(self.source[rows]), self.n_jobs, self.passes)

    def cut(self, offsets: Indices) -> "StoredData":
        """Return the same tokens cut at other places; offsets count from the first token."""
        cut = self.source.cut(offsets + self.source.offsets[0])
        return StoredData(cut, self.n_jobs, self.passes, self.changes)

    def _parts(self) -> Iterator[Iterable[Block]]:
        bounds = block_bounds(self.source.offsets, self.source.dim, _BLOCK)
        most = min(_PART, self.source.room // 4)
        number = _numbers(self.source.offsets, self.source.dim)[bounds[:-1]] // most
        ends = [0, *(np.flatnonzero(np.diff(number)) + 1).tolist(), len(bounds) - 1]
        parts = [bounds[low : high + 1].tolist() for low, high in pairwise(ends)]
        with ThreadPoolExecutor(1) as reader:  # reads one part ahead
            ahead = reader.submit(self._read, parts[0])
            for part in parts[1:]:
                blocks, ahead = ahead.result(), reader.submit(self._read, part)
                yield blocks
            yield ahead.result()

    def _read(self, bounds: list[int]) -> Iterator[Block]:
        sequences = self.source.read(bounds[0], bounds[-1])
        return (
            (slice(low, high), self.change(sequences[low - bounds[0] : high - bounds[0]]))
            for low, high in pairwise(bounds)
        )


def apply_changes(sequences: Sequences, changes: Iterable[Change]) -> Sequences:
    """Return sequences after one change after the other."""
    for change in changes:
        sequences = change(sequences)
    return sequences


def add_up(parts: Iterable[Any]) -> tuple[Any, ...]:
    """Return the sum of results that are arrays, numbers or tuples of them, entry by entry."""
    total: tuple[Any, ...] = ()
    for part in parts:
        entries = part if isinstance(part, tuple) else (part,)
        total = tuple(a + b for a, b in zip(total, entries, strict=True)) if total else entries
    return total


def _numbers(offsets: Indices, dim: int) -> Indices:
    """Return how many numbers come before each sequence, and in all."""
    return (offsets - offsets[0]) * dim


def block_bounds(offsets: Indices, dim: int, size: int) -> Indices:
    """Return where blocks of whole sequences, of about ``size`` numbers each, start and end."""
    number = _numbers(offsets, dim)[:-1] // size
    return np.append(np.flatnonzero(np.diff(number, prepend=-1)), len(number))


def _mean_tokens(sequences: Sequences) -> Sequences:
    return Sequences(pooled_features(sequences), np.arange(len(sequences) + 1))
