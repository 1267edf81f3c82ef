"""The processes of a server: started ahead, used again, and ended when nobody listens."""

import asyncio
import json
import pickle
import socket
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import suppress
from typing import Any, NamedTuple

from sparsetoken.app.view import Line
from sparsetoken.experiments.executors import process_context

_CONTEXT = process_context("sparsetoken.app.process")
_SPARE, _KEPT = 2, 4  # processes that wait for requests: at least, and at most
_PATIENCE = 1.0  # seconds in which a process may come to its next line before it is ended
_LONGEST_LINE = 2**30  # bytes


def _work(link: socket.socket) -> None:
    from sparsetoken.app.process import work  # loads what the server does not need

    work(link)


class _Worker(NamedTuple):
    """A process and the connection to it: requests one way, lines of answers the other."""

    process: Any
    lines: asyncio.StreamReader
    requests: asyncio.StreamWriter

    def ask(self, *request: Any) -> None:
        """Hand over a request; an empty one stops that under way."""
        self.requests.write(pickle.dumps(request))

    async def read(self) -> bytes:
        """Return the next line: a mere line break after the last, nothing if the process died."""
        with suppress(OSError):
            return await self.lines.readline()
        return b""

    def end(self) -> None:
        """End the process, whatever it is doing."""
        self.process.kill()
        self.requests.transport.abort()


class Workers:
    """The processes of a server."""

    def __init__(self) -> None:
        self._all: set[_Worker] = set()
        self._idle: list[_Worker] = []
        self._tasks: set[asyncio.Task[None]] = set()
        for _ in range(_SPARE):
            self._in_background(self._add_spare())

    async def answer(self, function: Callable[..., None], *arguments: Any) -> AsyncIterator[bytes]:
        """Yield the lines of an answer as they come; whoever stops listening stops the work."""
        worker = self._idle.pop() if self._idle else await self._start()
        if not self._idle:  # the next request need not wait
            self._in_background(self._add_spare())
        line = b"none yet"
        try:
            worker.ask(function, *arguments)
            while (line := await worker.read()).strip():
                yield line
        finally:
            self._in_background(self._release(worker, line))
        if not line and worker in self._all:  # it was not ended by the server
            sentence = "The process that computed this has died."
            yield json.dumps(Line(error=sentence)).encode() + b"\n"

    def _in_background(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _start(self) -> _Worker:
        ours, theirs = socket.socketpair()
        process = _CONTEXT.Process(target=_work, args=(theirs,), daemon=True)
        try:
            with theirs:  # the first takes seconds, in which the page is served
                await asyncio.to_thread(process.start)
            ends = await asyncio.open_connection(sock=ours, limit=_LONGEST_LINE)
        except BaseException:  # the server ended meanwhile; without a peer, so does the process
            ours.close()
            raise
        worker = _Worker(process, *ends)
        self._all.add(worker)
        return worker

    async def _add_spare(self) -> None:
        self._idle.insert(0, await self._start())

    async def _release(self, worker: _Worker, line: bytes) -> None:
        """Keep a process that has come to an end, or soon does, if few wait, and end any other."""
        if line.strip():
            worker.ask()
            with suppress(TimeoutError):
                async with asyncio.timeout(_PATIENCE):
                    while (line := await worker.read()).strip():
                        pass
        if line == b"\n" and len(self._idle) < _KEPT:
            self._idle.append(worker)  # the next to be used, as it remembers most
        else:
            self._all.discard(worker)
            worker.end()

    def close(self) -> None:
        """End all processes."""
        while self._all:
            self._all.pop().end()
