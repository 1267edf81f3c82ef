"""Files that are complete or not there."""

import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def replaced(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Provide a file to write to, which takes the place of ``path`` when it is complete."""
    path = Path(os.path.realpath(path))
    if path.exists() and not path.is_file():
        yield path  # a device or a pipe cannot be replaced
        return
    temporary = path.with_name(f".sparsetoken-{secrets.token_hex(4)}{path.suffix}")
    try:
        yield temporary
        with temporary.open("rb+") as file:
            os.fsync(file.fileno())
        if path.exists():
            shutil.copymode(path, temporary)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
