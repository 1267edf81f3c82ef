"""Compiled functions, kept on disk for the next process where a folder allows it."""

import warnings
from functools import cache
from typing import Any

import numba


def njit(**options: Any) -> Any:
    """Compile a function as ``numba.njit`` does, and keep the result if that is possible."""

    def decorate(function: Any) -> Any:
        try:
            return numba.njit(cache=True, **options)(function)
        except RuntimeError:  # numba sees no folder that it may write to
            _warn_once()
            return numba.njit(**options)(function)

    return decorate


@cache
def _warn_once() -> None:
    warnings.warn(
        "compiled functions cannot be kept on disk, as no folder for them can be written to: each "
        "new process compiles them anew, which takes some seconds. Set NUMBA_CACHE_DIR to a "
        "folder that can be written to",
        stacklevel=3,
    )
