"""A file of tokens with a digest a block, so that what is read in parts is checked in parts."""

import zlib
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sparsetoken._types import Array

BLOCK = 2**16  # bytes of tokens that have a digest
_READ = 16  # blocks that are read at a time


class BlockDigests:
    """The digests of a stream of bytes, one a block; the last block may be shorter."""

    def __init__(self) -> None:
        self._digests: list[int] = []
        self._filled = BLOCK  # bytes of the last block

    def update(self, content: memoryview) -> None:
        """Take more bytes."""
        while len(content):
            if self._filled == BLOCK:
                self._digests.append(0)
                self._filled = 0
            piece = content[: BLOCK - self._filled]
            self._digests[-1] = zlib.crc32(piece, self._digests[-1])
            self._filled += len(piece)
            content = content[len(piece) :]

    def values(self) -> NDArray[np.uint32]:
        """Return the digests of all blocks."""
        return np.array(self._digests, dtype=np.uint32)


class TokenFile(NamedTuple):
    """The numbers of an ``.npy`` file, in rows, with the digests of their blocks if it has any."""

    path: Path
    start: int
    """Bytes before the first number."""
    n_tokens: int
    dim: int
    dtype: np.dtype[Any]
    digests: NDArray[np.uint32] | None

    def read(self, spans: list[tuple[int, int]]) -> tuple[Array, bool]:
        """Return spans of tokens, and whether all blocks are as they were written.

        The tokens are in memory of their own: pages of a mapped file would add up.
        """
        width = self.dim * self.dtype.itemsize
        tokens = np.empty((sum(last - first for first, last in spans), self.dim), self.dtype)
        place, content, done, whole = 0, memoryview(b""), 0, True
        out = tokens.reshape(-1).view(np.uint8).data
        with self.path.open("rb") as file:
            for first, last in spans:
                at, end = first * width, last * width
                while at < end:
                    if not place <= at < place + len(content):
                        place = at // BLOCK * BLOCK
                        content = self._blocks(file, place, end)
                        whole = whole and self._as_written(content, place // BLOCK)
                    piece = content[at - place : end - place]
                    out[done : done + len(piece)] = piece
                    at, done = at + len(piece), done + len(piece)
        return tokens, whole

    def _blocks(self, file: Any, place: int, end: int) -> memoryview:
        """Read the blocks from ``place`` on that hold the bytes up to ``end``, not all at once."""
        blocks = min(_READ, -(-(end - place) // BLOCK))
        size = min(blocks * BLOCK, self.n_tokens * self.dim * self.dtype.itemsize - place)
        file.seek(self.start + place)
        content = memoryview(file.read(size))
        if len(content) < size:
            raise ValueError(f"{self.path} is shorter than it was when it was opened")
        return content

    def _as_written(self, content: memoryview, first: int) -> bool:
        blocks = range(0, len(content), BLOCK)
        read = [zlib.crc32(content[start : start + BLOCK]) for start in blocks]
        return self.digests is not None and (
            read == self.digests[first : first + len(read)].tolist()
        )
