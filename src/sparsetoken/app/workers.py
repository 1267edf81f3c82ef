"""Processes that answer, line by line, until nobody listens."""

import asyncio
import json
import os
import threading
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import suppress
from typing import Any

from sparsetoken.app.view import Line
from sparsetoken.experiments.running import end_with_parent, process_context

_CONTEXT = process_context("sparsetoken.app.warm")
_MOST = 16  # requests at work at once; others wait
_SPARE = 2  # processes that wait for requests
_PATIENCE = 1.0  # seconds in which a process may come to its next line before it is ended
_LONGEST = 500  # characters of an error


class Stopped(BaseException):
    """Nobody waits for the answer any more."""


def _work(pipe: Any) -> None:
    """Answer requests, in a process."""
    end_with_parent()
    from sparsetoken.app.warm import be_quiet

    be_quiet()
    with suppress(EOFError, OSError):  # the server has ended
        while True:
            _answer(pipe, *pipe.recv())


def _answer(pipe: Any, function: Callable[..., None], arguments: Any, long: bool) -> None:
    """Send the lines of an answer and an empty one at the end."""
    first = True

    def send(line: Line) -> None:
        nonlocal first
        if pipe.poll():
            raise Stopped
        pipe.send_bytes(json.dumps(line).encode() + b"\n")
        if long and first and hasattr(os, "nice"):
            os.nice(10)  # the first line is for somebody who waits, the others may take their time
        first = False

    try:
        function(*arguments, send)
    except Stopped:
        pipe.recv()
    except Exception as error:
        send(error_line(error))
    pipe.send_bytes(b"")


def error_line(error: Exception) -> Line:
    """Return an error as a sentence."""
    text = str(error) if isinstance(error, ValueError) else f"{type(error).__name__}: {error}"
    return Line(error=" ".join(text.split())[:_LONGEST].rstrip(".") + ".")


class _Worker:
    """A process, and the lines that it has sent."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._pipe, theirs = _CONTEXT.Pipe()
        self._process = _CONTEXT.Process(target=_work, args=(theirs,), daemon=True)
        self._process.start()
        theirs.close()
        self._lines: asyncio.Queue[bytes | None] = asyncio.Queue()
        threading.Thread(target=self._listen, args=(loop,), daemon=True).start()
        self.kill = self._process.kill
        self.read = self._lines.get
        """The next line, empty at the end of an answer, None if the process has ended."""

    def _listen(self, loop: asyncio.AbstractEventLoop) -> None:
        line: bytes | None = b""
        while line is not None:
            try:
                line = self._pipe.recv_bytes()
            except (EOFError, OSError):
                line = None  # the process has ended
            with suppress(RuntimeError):  # or the server has
                loop.call_soon_threadsafe(self._lines.put_nowait, line)

    def ask(self, *request: Any) -> None:
        """Hand over a request; an empty one stops that under way."""
        with suppress(OSError):  # that it has ended is seen by who reads its lines
            self._pipe.send(request)

    async def stop(self) -> bool:
        """Stop an answer at its next line; return whether that came soon."""
        self.ask()
        with suppress(TimeoutError):
            async with asyncio.timeout(_PATIENCE):
                while line := await self.read():
                    pass
                return line is not None
        return False


class Workers:
    """The processes of a server; they are started ahead and used again."""

    def __init__(self) -> None:
        self._turns = asyncio.Semaphore(_MOST)
        self._all: set[_Worker] = set()
        self._idle: list[_Worker] = []
        self._tasks: set[asyncio.Task[None]] = set()
        self._closed = False
        for _ in range(_SPARE):
            self._in_background(self._add_spare())

    async def answer(
        self, function: Callable[..., None], *arguments: Any, long: bool = False
    ) -> AsyncIterator[bytes]:
        """Yield the lines of an answer as they come; whoever stops listening stops the work.

        A ``long`` one gives way to others after its first line, and ends with its process. One
        whose process dies before the first line is answered by another.
        """
        async with self._turns:
            answered = False
            for _ in range(_SPARE + 2):  # as many may have died meanwhile, and one more
                worker = self._idle.pop() if self._idle else await self._start()
                if not self._idle:  # the next request need not wait
                    self._in_background(self._add_spare())
                line: bytes | None = b"none yet"
                try:
                    worker.ask(function, arguments, long)
                    while line := await worker.read():
                        answered = True
                        yield line
                finally:
                    self._in_background(self._release(worker, line, long))
                if answered or line is not None or self._closed:
                    break
            if line is None and not self._closed:
                yield json.dumps(Line(error="The process that computed this has died.")).encode()

    def _in_background(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _start(self) -> _Worker:
        """Start a process; the first takes seconds, in which the page is served."""
        worker = await asyncio.to_thread(_Worker, asyncio.get_running_loop())
        self._all.add(worker)
        if self._closed:
            worker.kill()
        return worker

    async def _add_spare(self) -> None:
        self._idle.insert(0, await self._start())

    async def _release(self, worker: _Worker, line: bytes | None, long: bool) -> None:
        """Keep a process that has come to an end, or soon does, and end any other.

        The last one used is the next to be used, as it remembers most.
        """
        surplus = [worker]
        if not long and not self._closed and (line == b"" or (line and await worker.stop())):
            self._idle.append(worker)
            surplus = [self._idle.pop(0)] if len(self._idle) > _SPARE else []
        for one in surplus:
            self._all.discard(one)
            one.kill()

    def close(self) -> None:
        """End all processes, whatever they are doing."""
        self._closed = True
        for worker in self._all:
            worker.kill()
