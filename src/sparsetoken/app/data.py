"""A visitor's own data: where the file is kept, and what is found out about it."""

import shutil
import tempfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

from sparsetoken.app.content import Progress

__all__ = ["MOST_BYTES", "Uploads", "study"]

MOST_BYTES = 200_000_000


class Uploads:
    """Files of visitors, each in a folder that nobody else reads and that goes with its visitor."""

    def __init__(self) -> None:
        self._root = Path(tempfile.mkdtemp(prefix="sparsetoken-"))  # readable by this user alone
        self._count = 0

    async def save(self, visitor: str, name: str, parts: AsyncIterator[bytes]) -> str:
        """Write what arrives to a file with the ending of ``name``, in place of the one before."""
        self.delete(visitor)
        folder = self._root / visitor
        folder.mkdir()
        self._count += 1
        path = folder / f"{self._count}{Path(name).suffix.lower()[:12]}"
        with path.open("wb") as file:
            async for part in parts:
                file.write(part)
        return str(path)

    def delete(self, visitor: str) -> None:
        """Delete the files of a visitor."""
        shutil.rmtree(self._root / visitor, ignore_errors=True)

    def close(self) -> None:
        """Delete all files."""
        shutil.rmtree(self._root, ignore_errors=True)


def study(path: str, bag: str, label: str, error: float) -> Iterator[Progress]:
    """Yield what is found out about a file, more with each step."""
    yield Progress(done=0, total=5, message="reading")
