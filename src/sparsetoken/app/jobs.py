"""Work in the background: started by a visitor, watched by asking, ended when nobody asks."""

import asyncio
import hashlib
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

from pydantic import BaseModel

from sparsetoken.app.content import Progress
from sparsetoken.app.processes import RefusedError, Task, Worker

__all__ = ["Jobs", "Status"]

State = Literal["waiting", "running", "done", "cancelled", "failed"]
_KEPT = 100  # jobs remembered after their end


class Status(BaseModel):
    """How far a job is."""

    key: str
    state: State
    message: str = ""
    """Why it failed."""
    step: int = 0
    """Counts what has been found; ask with ``seen`` to get nothing twice."""
    progress: Progress | None = None


@dataclass(eq=False)
class _Job:
    key: str
    task: Task
    state: State = "waiting"
    message: str = ""
    step: int = 0
    progress: bytes = b"null"
    visitors: set[str] = field(default_factory=set)
    worker: Worker | None = None


class Jobs:
    """A few processes for long work. A visitor has one job at a time; equal jobs are one job.

    Parameters
    ----------
    slots : int
        Jobs that run at once.
    most_waiting : int
        Jobs that may wait.
    patience : float
        Seconds after which a visitor who asks for nothing has left.
    longest : float
        Seconds a job may go on without any progress.
    """

    def __init__(
        self,
        slots: int = 2,
        most_waiting: int = 16,
        patience: float = 90.0,
        longest: float = 600.0,
    ) -> None:
        self._slots = slots
        self._most_waiting, self._patience, self._longest = most_waiting, patience, longest
        self._jobs: OrderedDict[str, _Job] = OrderedDict()
        self._heard: dict[str, float] = {}
        self._left: dict[str, Callable[[], None]] = {}
        self._changed = asyncio.Condition()
        self._loops: list[asyncio.Task[None]] = []
        self._workers: dict[int, Worker] = {}

    def start(self) -> None:
        """Start the processes."""
        self._loops = [asyncio.create_task(self._work(slot)) for slot in range(self._slots)]
        self._loops.append(asyncio.create_task(self._watch()))

    def close(self) -> None:
        """End all work and forget all visitors."""
        for loop in self._loops:
            loop.cancel()
        for worker in self._workers.values():
            worker.kill()
        for visitor in list(self._left):
            self.leave(visitor)

    async def add(self, visitor: str, task: Task) -> bytes:
        """Queue a task in place of the visitor's job before, and return its status."""
        self.hear(visitor)
        key = hashlib.sha256(task.key.encode()).hexdigest()[:24]
        self._release(visitor, but=key)
        job = self._jobs.get(key)
        if job is None or job.state in ("cancelled", "failed"):
            waiting = sum(other.state == "waiting" for other in self._jobs.values())
            if waiting >= self._most_waiting:
                raise RefusedError("Many others are computing: try again in a minute.")
            job = self._jobs[key] = _Job(key, task)
        job.visitors.add(visitor)
        ended = [old.key for old in self._jobs.values() if old.state not in ("waiting", "running")]
        for old in ended[: max(0, len(self._jobs) - _KEPT)]:
            del self._jobs[old]
        async with self._changed:
            self._changed.notify_all()
        return self.status(key)

    def status(self, key: str, seen: int = -1) -> bytes:
        """Return the status of a job as JSON, without progress that was seen already."""
        job = self._jobs.get(key)
        if job is None:
            return Status(key="", state="cancelled").model_dump_json().encode()
        said = Status(key=key, state=job.state, message=job.message, step=job.step)
        progress = b"null" if job.step == seen else job.progress
        head = said.model_dump_json(exclude={"progress"}).encode()[:-1]
        return head + b',"progress":' + progress + b"}"

    def cancel(self, key: str, visitor: str) -> None:
        """End a job for a visitor; it goes on if others want it."""
        job = self._jobs.get(key)
        if job is None or visitor not in job.visitors:
            return
        job.visitors.discard(visitor)
        if not job.visitors and job.state in ("waiting", "running"):
            job.state = "cancelled"
            if job.worker is not None:
                job.worker.kill()

    def hear(self, visitor: str, left: Callable[[], None] | None = None) -> None:
        """Note that a visitor is there, and what to do when it has left."""
        self._heard[visitor] = time.monotonic()
        if left is not None:
            self._left[visitor] = left

    def leave(self, visitor: str) -> None:
        """End what a visitor has started."""
        self._heard.pop(visitor, None)
        self._release(visitor)
        self._left.pop(visitor, lambda: None)()

    def _release(self, visitor: str, but: str = "") -> None:
        for key in list(self._jobs):
            if key != but:
                self.cancel(key, visitor)

    async def _watch(self) -> None:
        while True:
            await asyncio.sleep(min(1.0, self._patience / 2))
            late = time.monotonic() - self._patience
            for visitor in [name for name, heard in self._heard.items() if heard < late]:
                self.leave(visitor)

    def _next(self) -> _Job | None:
        return next((job for job in self._jobs.values() if job.state == "waiting"), None)

    async def _work(self, slot: int) -> None:
        while True:
            if slot not in self._workers or not self._workers[slot].alive:
                self._workers[slot] = await asyncio.to_thread(Worker, background=True)
            async with self._changed:
                await self._changed.wait_for(lambda: self._next() is not None)
                job = self._next()
            if job is not None:
                await self._run(job, self._workers[slot])

    async def _run(self, job: _Job, worker: Worker) -> None:
        job.state, job.worker = "running", worker
        try:
            while found := await worker.advance(job.task, job.step, self._longest):
                job.progress = found
                job.step += 1
                if job.state != "running":  # cancelled meanwhile
                    return
            job.state = "done"
        except RefusedError as error:
            if job.state == "running":
                job.state, job.message = "failed", str(error)
        finally:
            job.worker = None
