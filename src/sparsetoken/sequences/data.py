"""One interface to sequences in memory, in a folder, and in the chunks of a Dask array.

An estimator only asks for results per sample or for sums over the samples; where the tokens are
does not concern it. A pass is a map over blocks that fit into the cache: the same ones in memory
and from a folder, and for any number of threads, so that sums round alike. From a folder a few
megabytes of blocks are in memory at a time, and the next are read meanwhile. ``chunks`` maps over
a Dask array.
"""

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from itertools import pairwise
from typing import Any, TypeVar

import numpy as np
from joblib import effective_n_jobs

from sparsetoken._types import Array, Indices
from sparsetoken.sequences.folder import StoredSequences
from sparsetoken.sequences.passes import pooled_features, scaled_tokens
from sparsetoken.sequences.sequences import Sequences
from sparsetoken.sequences.threads import one_blas_thread

Block = tuple[slice, Sequences]
Change = Callable[[Sequences], Sequences]
T = TypeVar("T")

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
        return self.run(function, (), arguments, stack_rows)

    def total(
        self, function: Callable[..., Any], rows: tuple[Array, ...], *arguments: Any
    ) -> tuple[Any, ...]:
        """Return the sum of ``function(block, *rows of the block, *arguments)``, entry by entry."""
        return self.run(function, rows, arguments, add_up)

    def run(
        self,
        function: Callable[..., Any],
        rows: tuple[Array, ...],
        arguments: tuple[Any, ...],
        join: Callable[[Iterator[Any]], T],
    ) -> T:
        """Pass over the tokens, and join what ``function`` returns for the blocks."""
        self.passes.count += 1

        def on_block(block: Block) -> Any:
            return function(block[1], *(row[block[0]] for row in rows), *arguments)

        n_threads = effective_n_jobs(self.n_jobs)
        with one_blas_thread(), ThreadPoolExecutor(n_threads) as threads:
            each = map if n_threads == 1 else threads.map
            return join(result for blocks in self._blocks() for result in each(on_block, blocks))

    def take(self, rows: Indices) -> "MemoryData":
        """Return the sequences of increasing ``rows``, in memory."""
        raise NotImplementedError

    def pooled(self) -> "Data":
        """Return each sequence's mean token, as a sequence of one: in memory if there is room."""
        if len(self) * self.dim > self.room:
            return self.changed(_mean_tokens)
        means = self.per_sample(pooled_features)
        return MemoryData(Sequences(means, np.arange(len(means) + 1)), self.n_jobs)

    def changed(self, change: Change) -> "Data":
        """Return the sequences with every token changed, or every sequence made one token."""
        raise NotImplementedError

    def _blocks(self) -> Iterator[Iterable[Block]]:
        """Yield blocks, as many at a time as may be in memory together."""
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

    def followed_by(self, other: "MemoryData") -> "MemoryData":
        """Return these sequences and then others."""
        return self._with(Sequences.concatenate([self.sequences, other.sequences]))

    def cut(self, offsets: Indices) -> "MemoryData":
        """Return the same tokens cut at other places."""
        return self._with(Sequences(self.sequences.tokens, offsets))

    def parts(self) -> Iterator["MemoryData"]:
        """Yield the data in parts that may be in memory: as a whole."""
        yield self

    def _with(self, sequences: Sequences) -> "MemoryData":
        return MemoryData(sequences, self.n_jobs, self.passes)

    @cached_property
    def _views(self) -> list[Block]:
        return _cut(self.sequences, block_bounds(self.sequences.offsets, self.dim))

    def _blocks(self) -> Iterator[Iterable[Block]]:
        yield self._views


class StoredData(Data):
    """Sequences in a folder; ``changes`` are made whenever they are read."""

    def __init__(
        self,
        stored: StoredSequences,
        n_jobs: int | None = None,
        passes: Passes | None = None,
        changes: tuple[Change, ...] = (),
    ) -> None:
        self.stored, self.changes = stored, changes
        # What the changes do to one sequence of two tokens they do to all.
        probe = self._change(Sequences(np.zeros((2, stored.dim), stored.dtype), [0, 2]))
        lengths = stored.lengths if len(probe.tokens) == 2 else np.ones(len(stored), np.int64)
        super().__init__(lengths, probe.dim, stored.room, n_jobs, passes)

    def take(self, rows: Indices) -> MemoryData:
        """Read some sequences."""
        self.passes.count += 1
        return MemoryData(self._change(self.stored[rows]), self.n_jobs, self.passes)

    def changed(self, change: Change) -> "StoredData":
        """Return the sequences with one more change to be made."""
        return StoredData(self.stored, self.n_jobs, self.passes, (*self.changes, change))

    def parts(self) -> Iterator[MemoryData]:
        """Yield the data in parts that may be in memory."""
        for _, sequences in self._read():
            yield MemoryData(self._change(sequences), self.n_jobs, self.passes)

    def _change(self, sequences: Sequences) -> Sequences:
        for change in self.changes:
            sequences = change(sequences)
        return sequences

    def _blocks(self) -> Iterator[Iterable[Block]]:
        for bounds, sequences in self._read():
            yield ((rows, self._change(block)) for rows, block in _cut(sequences, bounds))

    def _read(self) -> Iterator[tuple[Indices, Sequences]]:
        """Read the blocks, a few megabytes at a time and one such part ahead, with their bounds."""
        offsets, dim = self.stored.offsets, self.stored.dim
        bounds = block_bounds(offsets, dim)
        most = max(1, min(_PART, self.stored.room // 4))
        number = (offsets[bounds[:-1]] - offsets[0]) * dim // most
        ends = [0, *(np.flatnonzero(np.diff(number)) + 1).tolist(), len(bounds) - 1]
        spans = [bounds[low : high + 1] for low, high in pairwise(ends)]

        def read(span: Indices) -> tuple[Indices, Sequences]:
            return span, self.stored[np.arange(span[0], span[-1])]

        with ThreadPoolExecutor(1) as reader:
            ahead = reader.submit(read, spans[0])
            for span in spans[1:]:
                done, ahead = ahead.result(), reader.submit(read, span)
                yield done
            yield ahead.result()


def stack_rows(results: Iterable[Array]) -> Array:
    """Return the rows of all results."""
    return np.concatenate(list(results))


def add_up(results: Iterable[Any]) -> tuple[Any, ...]:
    """Return the sum of results that are arrays, numbers or tuples of them, entry by entry."""
    total: tuple[Any, ...] = ()
    for result in results:
        entries = result if isinstance(result, tuple) else (result,)
        total = tuple(a + b for a, b in zip(total, entries, strict=True)) if total else entries
    return total


def block_bounds(offsets: Indices, dim: int) -> Indices:
    """Return where blocks of whole sequences, of about as many numbers each, start and end."""
    number = (offsets[:-1] - offsets[0]) * dim // _BLOCK
    return np.append(np.flatnonzero(np.diff(number, prepend=-1)), len(number))


def _cut(sequences: Sequences, bounds: Indices) -> list[Block]:
    """Return the blocks of sequences, the first of which has the number of the first bound."""
    first, *_ = each = bounds.tolist()
    return [(slice(a, b), sequences[a - first : b - first]) for a, b in pairwise(each)]


def _mean_tokens(sequences: Sequences) -> Sequences:
    return Sequences(pooled_features(sequences), np.arange(len(sequences) + 1))
