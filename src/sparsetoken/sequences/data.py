"""Passes over sequences: one interface to those in memory and those in the chunks of a Dask array.

An estimator asks for results per sample or for sums over the samples, wherever the tokens are. A
pass is a function that is mapped over blocks of whole sequences that fit into the cache: the same
blocks for any number of threads, so that sums round alike.
"""

import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache, cached_property
from itertools import pairwise
from operator import iadd
from typing import Any, NamedTuple

import numpy as np
from joblib import effective_n_jobs
from threadpoolctl import ThreadpoolController

from sparsetoken._types import Array, Indices
from sparsetoken.sequences.passes import pooled_features
from sparsetoken.sequences.sequences import Sequences

Block = tuple[slice, Sequences]

_COPIED = 8  # one in so many tokens may be copied, however many there are
_BLOCK = 2**17  # numbers: what the second-level cache holds in single precision, or
_TOKENS = 256  # so many tokens, if they are wide: a product of fewer is slow

_lock = threading.Lock()
_inside: list[Any] = []  # the limit, once for every thread that relies on it


class PassCounter:
    """A count of passes, shared by all the forms in which the same data are read."""

    count = 0


class Pass(NamedTuple):
    """What is done with blocks, and how the results are joined."""

    function: Callable[..., Any]
    arguments: tuple[Any, ...]
    join: Callable[[Iterator[Any]], Any]


class Data:
    """Sequences that can be passed over, in blocks of whole sequences, by ``n_jobs`` threads."""

    memory_budget = 2**26
    """Numbers that may be copied to make a fit faster, or brought from the workers."""

    def __init__(
        self, lengths: Indices, dim: int, n_jobs: int | None, passes: PassCounter | None
    ) -> None:
        self.lengths, self.dim, self.n_jobs = lengths, dim, n_jobs
        self.passes = PassCounter() if passes is None else passes
        self.size = int(lengths.sum()) * dim
        """Numbers in all tokens together."""
        self.n_tokens = int(lengths[0]) if len(lengths) and np.ptp(lengths) == 0 else None
        """Tokens per sequence, None if they differ."""

    def __len__(self) -> int:
        return len(self.lengths)

    def per_sample(
        self, function: Callable[..., Array], *arguments: Any, rows: tuple[Array, ...] = ()
    ) -> Array:
        """Return ``function(block, *rows of the block, *arguments)`` stacked over the blocks."""
        return self.run(Pass(function, arguments, _stack_rows), rows)

    def total(
        self, function: Callable[..., Any], rows: tuple[Array, ...], *arguments: Any
    ) -> tuple[Any, ...]:
        """Return the sum of ``function(block, *rows of the block, *arguments)``, entry by entry."""
        return self.run(Pass(function, arguments, _add_up), rows)

    def run(self, what: Pass, rows: tuple[Array, ...] = ()) -> Any:
        """Pass over the tokens; of ``rows`` the function gets those of its block."""
        raise NotImplementedError

    def take(self, rows: Indices) -> "MemoryData":
        """Return the sequences of increasing ``rows``, in memory."""
        raise NotImplementedError

    def pooled(self) -> "Data":
        """Return each sequence's mean token, as a sequence of one."""
        means = self.per_sample(pooled_features)
        return MemoryData(Sequences(means, np.arange(len(means) + 1)), self.n_jobs)


class MemoryData(Data):
    """Sequences in memory, or mapped into it."""

    def __init__(
        self, sequences: Sequences, n_jobs: int | None = None, passes: PassCounter | None = None
    ) -> None:
        super().__init__(sequences.lengths, sequences.dim, n_jobs, passes)
        self.sequences = sequences
        self.memory_budget = max(self.memory_budget, self.size // _COPIED)

    def run(self, what: Pass, rows: tuple[Array, ...] = ()) -> Any:
        """Pass over the blocks in threads, and join the results in their order."""
        self.passes.count += 1

        def on_block(block: Block) -> Any:
            return what.function(block[1], *(row[block[0]] for row in rows), *what.arguments)

        n_threads = effective_n_jobs(self.n_jobs)
        with one_blas_thread(), ThreadPoolExecutor(n_threads) as threads:
            each = map if n_threads == 1 else threads.map
            return what.join(iter(each(on_block, self._blocks)))

    def take(self, rows: Indices) -> "MemoryData":
        """Return some sequences; all of them are not copied."""
        return self if len(rows) == len(self) else self._with(self.sequences[rows])

    def followed_by(self, other: "MemoryData") -> "MemoryData":
        """Return these sequences and then others."""
        return self._with(Sequences.concatenate([self.sequences, other.sequences]))

    def cut(self, offsets: Indices) -> "MemoryData":
        """Return the same tokens cut at other places."""
        return self._with(Sequences(self.sequences.tokens, offsets))

    def _with(self, sequences: Sequences) -> "MemoryData":
        return MemoryData(sequences, self.n_jobs, self.passes)

    @cached_property
    def _blocks(self) -> list[Block]:
        """Blocks of whole sequences, of about as many numbers each."""
        starts = self.sequences.offsets[:-1]
        number = starts // max(_BLOCK / self.dim, _TOKENS)
        bounds = [*np.flatnonzero(np.diff(number, prepend=-1)).tolist(), len(starts)]
        return [(slice(a, b), self.sequences[a:b]) for a, b in pairwise(bounds)]


def _stack_rows(results: Iterable[Array]) -> Array:
    """Return the rows of all results, which grow in one buffer: none is held twice."""
    buffer, n_rows = bytearray(), 0
    for result in results:
        buffer += np.ascontiguousarray(result).data
        n_rows += len(result)
    return np.frombuffer(buffer, result.dtype).reshape(n_rows, *result.shape[1:])


def _add_up(results: Iterable[Any]) -> tuple[Any, ...]:
    """Return the sum of results that are arrays, numbers or tuples of them, entry by entry."""
    total: tuple[Any, ...] = ()
    for result in results:
        entries = result if isinstance(result, tuple) else (result,)
        total = tuple(map(iadd, total, entries)) if total else tuple(map(np.array, entries))
    return total


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Limit BLAS to one thread: on a busy machine more make a pass many times slower.

    Nested and concurrent uses share one limit.
    """
    with _lock:
        _inside.append(_inside[0] if _inside else _controller().limit(limits=1, user_api="blas"))
    try:
        yield
    finally:
        with _lock:
            limit = _inside.pop()
            if not _inside:
                limit.restore_original_limits()


@cache
def _controller() -> ThreadpoolController:
    """Return the libraries' controller: finding them takes longer than a small fit."""
    return ThreadpoolController()
