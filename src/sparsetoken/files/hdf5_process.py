"""Read all attributes and texts of an HDF5 file: a script, which imports nothing of ours.

Where they are damaged the library may crash, or never end. Whatever else is wrong is no matter
here.
"""

import contextlib
import sys
from typing import Any


def visit(path: str) -> None:
    """Read what is stored in the heap of a file."""
    import h5py

    def read(_: str, item: Any) -> None:
        for name in item.attrs:
            with contextlib.suppress(Exception):
                item.attrs[name]
        if isinstance(item, h5py.Dataset) and item.dtype.kind == "O":
            with contextlib.suppress(Exception):
                item[()]

    with contextlib.suppress(Exception), h5py.File(path, "r") as file:
        read("/", file)
        file.visititems(read)


if __name__ == "__main__":
    visit(sys.argv[1])
