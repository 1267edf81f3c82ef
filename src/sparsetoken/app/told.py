"""Work that calls back with words, as a generator of progress."""

import queue
from collections.abc import Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from sparsetoken.app.content import Progress

__all__ = ["told"]


def told(
    function: Callable[..., Any], progress: Progress, **arguments: Any
) -> Generator[Progress, None, Any]:
    """Call a function in a thread, yield what it says meanwhile, and return its result.

    Parameters
    ----------
    function : callable
        Takes ``progress``, a callable for a few words.
    progress : Progress
        How far the work is; its words are replaced.
    **arguments : Any
        Further arguments of the function.
    """
    words: queue.SimpleQueue[str] = queue.SimpleQueue()
    yield progress
    with ThreadPoolExecutor(1) as pool:
        future = pool.submit(function, progress=words.put, **arguments)
        while not future.done():
            try:
                said = words.get(timeout=0.3)
                while not words.empty():
                    said = words.get()
            except queue.Empty:
                continue
            yield progress.model_copy(update={"message": said})
        return future.result()
