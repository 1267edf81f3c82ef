"""Work in the background: a process for each job, ended with its visitor."""

import asyncio
import os
import secrets
import time
from collections.abc import Callable
from typing import Any, Literal

from pydantic import BaseModel

from sparsetoken.app.content import Progress
from sparsetoken.app.processes import CONTEXT, DIED, prepare, refusal

State = Literal["running", "done", "cancelled", "failed"]


class Status(BaseModel):
    """How far a job is."""

    key: str = ""
    state: State = "running"
    message: str = ""
    """Why it failed."""
    step: int = 0
    """Counts the progress made; ask with ``seen`` to get nothing twice."""
    progress: Progress | None = None


class Jobs:
    """Jobs, each in a process of its own; a visitor has one at a time.

    A job that nobody asks about for ``patience`` seconds is ended.
    """

    def __init__(self, patience: float = 90.0) -> None:
        self._patience = patience
        self._jobs: dict[str, _Job] = {}  # by key

    def start(
        self,
        visitor: str,
        function: Callable[..., None],
        *arguments: Any,
        release: Callable[[], None] = lambda: None,
    ) -> Status:
        """Start a job in place of the visitor's job before; ``release`` is called at its end.

        The function is called with the arguments and with one that takes its progress.
        """
        self.leave(visitor)
        job = _Job(visitor, release, function, arguments)
        self._jobs[job.status.key] = job
        return job.status

    def status(self, key: str, seen: int = -1) -> Status:
        """Return how far a job is, without progress that was seen already."""
        if key not in self._jobs:
            return Status(state="cancelled")
        job = self._jobs[key]
        job.asked = time.monotonic()
        job.listen()
        return job.status.model_copy(update={"progress": None} if job.status.step == seen else {})

    def cancel(self, key: str) -> None:
        """End and forget a job."""
        if key in self._jobs:
            self._jobs.pop(key).end("cancelled")

    def leave(self, visitor: str) -> None:
        """End and forget the job of a visitor."""
        for key in [key for key, job in self._jobs.items() if job.visitor == visitor]:
            self.cancel(key)

    def close(self) -> None:
        """End all jobs."""
        for key in list(self._jobs):
            self.cancel(key)

    async def look_after(self) -> None:
        """Notice again and again which jobs have ended, and end those that nobody asks about."""
        while True:
            for key, job in list(self._jobs.items()):
                job.listen()
                if time.monotonic() - job.asked > self._patience:
                    self.cancel(key)
            await asyncio.sleep(0.2)


class _Job:
    """A process, and what it has said so far."""

    def __init__(self, visitor: str, release: Any, function: Any, arguments: Any) -> None:
        self.status = Status(key=secrets.token_hex(12))
        self.visitor, self.asked, self._release = visitor, time.monotonic(), release
        self._pipe, theirs = CONTEXT.Pipe(duplex=False)
        self._process = CONTEXT.Process(
            target=_work, args=(theirs, function, arguments), daemon=True
        )
        self._process.start()
        theirs.close()

    def listen(self) -> None:
        """Take in what the process has sent, without waiting for more."""
        try:
            while self.status.state == "running" and self._pipe.poll():
                message = self._pipe.recv()
                if isinstance(message, Progress):
                    self.status.step, self.status.progress = self.status.step + 1, message
                else:
                    self.end(*message)
        except (EOFError, OSError):  # of a process that was killed
            self.end("failed", DIED)

    def end(self, state: State, message: str = "") -> None:
        """End the process and release what it used; the first to end a job says how."""
        if self.status.state == "running":
            self.status.state, self.status.message = state, message
            self._process.kill()
            self._process.join()
            self._pipe.close()
            self._release()


def _work(pipe: Any, function: Callable[..., None], arguments: tuple[Any, ...]) -> None:
    """Do the work of a job in its process, behind everything else on a busy machine."""
    prepare()
    if hasattr(os, "nice"):
        os.nice(10)
    try:
        function(*arguments, pipe.send)
        pipe.send(("done", ""))
    except Exception as error:
        pipe.send(("failed", str(refusal(error))))
