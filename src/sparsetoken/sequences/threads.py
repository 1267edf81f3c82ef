"""One BLAS thread for passes and fits: on a busy machine more make them many times slower."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

from threadpoolctl import ThreadpoolController

_lock = threading.Lock()
_inside: list[Any] = []  # the limit, once for every thread that relies on it


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Limit BLAS to one thread; nested and concurrent uses share one limit."""
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
