"""Work in the background: a process for each job, ended with its visitor."""

import os
import secrets
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any, Literal

from pydantic import BaseModel

from sparsetoken.app.content import Progress
from sparsetoken.app.processes import CONTEXT, prepare, refusal

State = Literal["waiting", "running", "done", "cancelled", "failed"]


class Status(BaseModel):
    """How far a job is."""

    key: str = ""
    state: State = "waiting"
    message: str = ""
    """Why it failed."""
    step: int = 0
    """Counts the progress made; ask with ``seen`` to get nothing twice."""
    progress: Progress | None = None


class Jobs:
    """A few jobs at once, each in a process of its own; a visitor has one at a time.

    A job that nobody asks about for ``patience`` seconds is ended.
    """

    def __init__(self, slots: int = 2, patience: float = 90.0) -> None:
        self._patience = patience
        self._threads = ThreadPoolExecutor(slots)
        self._jobs: dict[str, _Job] = {}  # by visitor

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
        for other in [name for name, job in self._jobs.items() if job.forgotten]:
            self.leave(other)
        job = self._jobs[visitor] = _Job(function, arguments, release, self._patience)
        self._threads.submit(job.run)
        return job.status

    def status(self, key: str, seen: int = -1) -> Status:
        """Return how far a job is, without progress that was seen already."""
        for job in self._jobs.values():
            if job.status.key == key:
                job.asked = time.monotonic()
                hidden = {"progress": None} if job.status.step == seen else {}
                return job.status.model_copy(update=hidden)
        return Status(state="cancelled")

    def cancel(self, key: str) -> None:
        """End a job."""
        for job in self._jobs.values():
            if job.status.key == key:
                job.end("cancelled")

    def leave(self, visitor: str) -> None:
        """End and forget the job of a visitor."""
        if visitor in self._jobs:
            self._jobs.pop(visitor).end("cancelled")

    def close(self) -> None:
        """End all jobs."""
        for visitor in list(self._jobs):
            self.leave(visitor)
        self._threads.shutdown(wait=False, cancel_futures=True)


class _Job:
    """A job that a thread follows while the server may end it."""

    def __init__(self, function: Any, arguments: Any, release: Any, patience: float) -> None:
        self.status = Status(key=secrets.token_hex(12))
        self.asked = time.monotonic()
        self._call, self._release, self._patience = (function, arguments), release, patience
        self._process: Any = None
        self._lock = threading.Lock()

    @property
    def forgotten(self) -> bool:
        """Whether nobody has asked about it for long."""
        return time.monotonic() - self.asked > self._patience

    def run(self) -> None:
        """Run the job in a process, and follow its progress to the end."""
        with self._lock:
            if self.status.state != "waiting":
                return
            self.status.state = "running"
            pipe, theirs = CONTEXT.Pipe(duplex=False)
            self._process = CONTEXT.Process(target=_work, args=(theirs, *self._call), daemon=True)
            self._process.start()
            theirs.close()
        with suppress(EOFError):  # of a process that was killed
            while not self.forgotten:
                if pipe.poll(0.5):
                    self._hear(pipe.recv())
        self.end("failed", "The process that computed this has died.")
        self._process.join()

    def _hear(self, message: Progress | tuple[State, str]) -> None:
        if isinstance(message, Progress):
            with self._lock:
                step = self.status.step + 1
                self.status = self.status.model_copy(update={"step": step, "progress": message})
        else:
            self.end(*message)

    def end(self, state: State, message: str = "") -> None:
        """End the process and release what it used; the first to end a job says how."""
        with self._lock:
            if self.status.state in ("waiting", "running"):
                self.status.state, self.status.message = state, message
            if self._process is not None:
                self._process.kill()
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
