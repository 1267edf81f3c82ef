"""Sequences in the chunks of a Dask array.

Each pass is a map over the chunks, run by whatever scheduler Dask is set to, and what comes back is
one row per sample or one sum per chunk: never tokens. A chunk whose worker died is computed, and
passed over, by another one.
"""

import operator
import warnings
from itertools import pairwise
from typing import Any

import numpy as np

from sparsetoken._types import Array, Indices
from sparsetoken.sequences.data import Data, MemoryData, Pass
from sparsetoken.sequences.forms import offsets_of
from sparsetoken.sequences.sequences import Sequences, as_sequences


class ChunkedData(Data):
    """Whole sequences in the chunks of a Dask array of shape (n, L, d)."""

    def __init__(self, array: Any) -> None:
        if array.ndim != 3:
            raise ValueError(f"a Dask X must have shape (n, L, d), got {array.ndim} dimensions")
        if len(array.chunks[1]) > 1 or len(array.chunks[2]) > 1:
            raise ValueError(
                f"a Dask X must be chunked over the samples only, got chunks {array.chunks}; use "
                "X.rechunk({1: -1, 2: -1})"
            )
        if any(np.isnan(size) for size in array.chunks[0]):
            raise ValueError("a Dask X must know its chunk sizes; use X.compute_chunk_sizes()")
        n, length, dim = map(int, array.shape)
        super().__init__(np.full(n, length, dtype=np.int64), dim, None, None)
        self.array, self.bounds = array, offsets_of(array.chunks[0])
        self._chunks = array.to_delayed().ravel().tolist()
        self._placed: tuple[tuple[Array, ...], list[Any]] = (), [()] * len(self._chunks)

    def run(self, what: Pass, rows: tuple[Array, ...] = ()) -> Any:
        """Pass over the chunks, each of which is joined before it comes to the client."""
        from dask.base import compute
        from dask.delayed import delayed

        self.passes.count += 1
        run = delayed(_run_chunk, pure=False)
        shared = delayed(what, traverse=False, pure=False)  # a plain tuple would be called
        chunks = zip(self._chunks, self.bounds.tolist(), self._place(rows), strict=False)
        return what.join(iter(compute(*[run(*chunk, shared) for chunk in chunks])))

    def take(self, rows: Indices) -> MemoryData:
        """Bring some sequences to the client."""
        mask = np.zeros(len(self), dtype=bool)
        mask[rows] = True
        selected = self.run(Pass(operator.getitem, (), Sequences.concatenate), (mask,))
        return MemoryData(selected, passes=self.passes)

    def _place(self, rows: tuple[Array, ...]) -> list[Any]:
        """Return each chunk's rows, at the workers: many passes in turn use the same ones."""
        from dask.base import persist
        from dask.delayed import delayed

        before = self._placed[0]
        if len(rows) != len(before) or any(a is not b for a, b in zip(rows, before, strict=True)):
            parts = [tuple(row[low:high] for row in rows) for low, high in pairwise(self.bounds)]
            literals = [delayed(part, traverse=False, pure=False) for part in parts]
            with warnings.catch_warnings():
                warnings.filterwarnings("ignore", message="Sending large graph")
                self._placed = rows, list(persist(*literals))
        return self._placed[1]


def is_dask(X: Any) -> bool:
    """Return whether ``X`` is a Dask array, without importing Dask."""
    return type(X).__module__.partition(".")[0] == "dask"


def _run_chunk(chunk: Array, first: int, rows: tuple[Array, ...], what: Pass) -> Any:
    return MemoryData(as_sequences(chunk, first)).run(what, rows)
