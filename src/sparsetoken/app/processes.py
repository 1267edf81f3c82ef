"""Processes that compute: how they start, how they refuse, and a pool of them that mends itself."""

import asyncio
import os
import re
import warnings
from collections.abc import Callable
from concurrent.futures import BrokenExecutor, ProcessPoolExecutor

from threadpoolctl import threadpool_limits

from sparsetoken.app.parameters import CONTROLS
from sparsetoken.experiments.workers import end_with_parent, process_context

CONTEXT = process_context("sparsetoken.app.pictures")
DIED = "The process that computed this has died."
_LONGEST = 500  # characters of a refusal


class RefusedError(Exception):
    """The work cannot be done; the message is a sentence for the page."""


class OvertakenError(Exception):
    """The same visitor has asked for something newer, or the server ends."""


def prepare() -> None:
    """Do what every process does first."""
    end_with_parent()
    warnings.simplefilter("ignore")  # a server has nobody to warn; results say what they are
    threadpool_limits(1, user_api="blas")


def refusal(error: Exception) -> RefusedError:
    """Return an error as a sentence in the words of the page: labels instead of arguments."""
    text = str(error) if isinstance(error, ValueError) else f"{type(error).__name__}: {error}"
    line = " ".join(text.split())[:_LONGEST].rstrip(".")
    for name, control in CONTROLS.items():
        if "_" in name or line.startswith(f"{name} must"):
            line = re.sub(rf"\b{name}\b", control.label, line)
    if line.partition(" ")[0].isalpha():  # a word, not the name of a value or a file
        line = line[:1].upper() + line[1:]
    return RefusedError(f"{line}.")


class Pool:
    """Processes that are started anew when one of them dies or takes too long.

    A call may take ``longest`` seconds once the processes are warm; ``begin`` is what warms them.
    """

    def __init__(self, size: int, longest: float, begin: Callable[[], None] = prepare) -> None:
        self._size, self._longest, self._begin = size, longest, begin
        self._free = asyncio.Semaphore(size)
        self._closed = False
        self._start()

    def _start(self) -> None:
        self._executor = ProcessPoolExecutor(self._size, CONTEXT, initializer=self._begin)
        self._warm = [self._executor.submit(os.getpid) for _ in range(self._size)]

    def _end(self) -> None:
        for process in list((self._executor._processes or {}).values()):  # 3.14: kill_workers()
            process.kill()
        self._executor.shutdown(wait=False, cancel_futures=True)

    def close(self) -> None:
        """End the processes, whatever they are doing."""
        self._closed = True
        self._end()

    async def run(
        self, wanted: Callable[[], bool], function: Callable[..., bytes], *arguments: object
    ) -> bytes:
        """Call a function in a process, unless nobody wants it when its turn has come.

        If the process dies, it is called once more.
        """
        async with self._free:
            for attempt in (1, 2):
                if self._closed or not wanted():
                    break
                executor, refused = self._executor, None
                try:
                    await asyncio.gather(*map(asyncio.wrap_future, self._warm))
                    call = asyncio.wrap_future(executor.submit(function, *arguments))
                    return await asyncio.wait_for(call, self._longest)
                except TimeoutError:
                    refused = f"This took more than {self._longest:g} s and was stopped."
                except BrokenExecutor:
                    refused = DIED if attempt == 2 else None
                if executor is self._executor and not self._closed:
                    self._end()
                    self._start()
                if refused and not self._closed:
                    raise RefusedError(refused)
        raise OvertakenError
