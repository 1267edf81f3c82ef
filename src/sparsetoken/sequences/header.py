"""The header of a folder of sequences: its format, and the digests of the other files."""

import json
import zlib
from pathlib import Path
from typing import Any

_NAME = "sequences.json"
_FORMAT, _VERSION = "sparsetoken sequences", 2  # version 1 had no digests


def is_stored(folder: Path) -> bool:
    """Return whether sequences were written to a folder, completely."""
    return (folder / _NAME).exists()


def write_header(folder: Path, feature_names: list[str] | None, files: list[str]) -> None:
    """Write the header, and the folder is complete."""
    header = {
        "format": _FORMAT,
        "version": _VERSION,
        "feature_names": feature_names,
        "files": {name: _file_digest(folder / name) for name in files},
    }
    (folder / _NAME).write_text(json.dumps(header | {"crc32": _digest(header)}))


def read_header(folder: Path) -> dict[str, Any]:
    """Return the header of a folder, or say what is wrong with it."""
    path = folder / _NAME
    if not is_stored(folder):
        raise ValueError(f"{folder} holds no complete sequences: no {_NAME} in it")
    try:
        header = json.loads(path.read_text())
    except ValueError as error:
        raise ValueError(f"{path} is damaged: {error}") from None
    if not isinstance(header, dict) or header.get("format") != _FORMAT:
        raise ValueError(f"{path} is damaged: it does not say format {_FORMAT!r}")
    version = header.get("version")
    if version not in (1, _VERSION):
        raise ValueError(
            f"{path} has format version {version!r}; this sparsetoken reads 1 and {_VERSION}"
        )
    names = header.get("feature_names", 0)
    listed = isinstance(names, list) and all(isinstance(name, str) for name in names)
    intact = version == 1 or header.pop("crc32", None) == _digest(header)
    if not intact or not (names is None or listed):
        raise ValueError(f"{path} is damaged, or was changed since it was written")
    return header


def check_file(path: Path, header: dict[str, Any]) -> bool:
    """Return whether a folder has a file, which must be as it was written."""
    if header["version"] == 1:
        return path.exists()
    if path.name not in header["files"]:
        return False
    if _file_digest(path) != header["files"][path.name]:
        raise ValueError(f"{path.name} has changed since it was written")
    return True


def _file_digest(path: Path) -> dict[str, int]:
    content = path.read_bytes()
    return {"bytes": len(content), "crc32": zlib.crc32(content)}


def _digest(header: dict[str, Any]) -> int:
    return zlib.crc32(json.dumps(header, sort_keys=True).encode())
