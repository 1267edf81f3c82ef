"""Background work: a few processes, each ended when its work is cancelled, late or unwatched."""

import itertools
import multiprocessing
import secrets
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from multiprocessing import forkserver
from typing import Any, NamedTuple

from sparsetoken.app.content import Task
from sparsetoken.app.measure import Memory
from sparsetoken.experiments.workers import end_with_parent

__all__ = ["BusyError", "Jobs", "Status"]

_KEPT = 200  # jobs remembered after their end


class BusyError(Exception):
    """Too much work is waiting already."""


class Status(NamedTuple):
    """How far a job is."""

    state: str
    """"waiting", "running", "done", "cancelled" or "failed"."""
    done: int
    total: int
    message: str = ""


@dataclass
class _Job:
    client: str
    tasks: list[Task]
    seen: float
    state: str = "waiting"
    done: int = 0
    message: str = ""
    key: str = field(default_factory=lambda: secrets.token_urlsafe(12))


class Jobs:
    """Runs lists of tasks in processes of their own, and remembers the results.

    A process can be ended at any moment, which a thread cannot: so cancelling is immediate and no
    task outlives its time limit.

    Parameters
    ----------
    slots : int
        Jobs that run at once.
    most_waiting : int
        Jobs that may wait; beyond, :meth:`start` raises :class:`BusyError`.
    patience : float
        Seconds after which a job that nobody asks about is ended: its visitor has left.
    longest : float
        Seconds a job may run.
    """

    def __init__(
        self,
        slots: int = 2,
        most_waiting: int = 16,
        patience: float = 10.0,
        longest: float = 120.0,
    ) -> None:
        self._most_waiting = most_waiting
        self._patience, self._longest = patience, longest
        self._memory = Memory(5000)
        self._jobs: OrderedDict[str, _Job] = OrderedDict()
        self._changed = threading.Condition()
        self._closed = False
        self._context = _context()
        self._threads = [
            threading.Thread(target=self._work, name=f"jobs-{slot}", daemon=True)
            for slot in range(slots)
        ]
        for thread in self._threads:
            thread.start()

    def known(self, key: str) -> Any:
        """Return the result of a task by its key, or None."""
        return self._memory.get(key)

    def start(self, client: str, tasks: list[Task]) -> str:
        """Queue the tasks and return the key of the job; a client's earlier job is cancelled."""
        todo = [task for task in tasks if self.known(task.key) is None]
        with self._changed:
            for job in self._jobs.values():
                if job.client == client and job.state in ("waiting", "running"):
                    job.state = "cancelled"
            waiting = sum(job.state == "waiting" for job in self._jobs.values())
            if todo and waiting >= self._most_waiting:
                raise BusyError("many others are computing: try again in a minute")
            job = _Job(client, tasks, time.monotonic(), done=len(tasks) - len(todo))
            job.state = "waiting" if todo else "done"
            self._jobs[job.key] = job
            for old in itertools.islice(list(self._jobs), max(0, len(self._jobs) - _KEPT)):
                if self._jobs[old].state not in ("waiting", "running"):
                    del self._jobs[old]
            self._changed.notify_all()
            return job.key

    def status(self, key: str) -> Status:
        """Say how far a job is; asking keeps it alive."""
        with self._changed:
            job = self._jobs.get(key)
            if job is None:
                return Status("cancelled", 0, 0)
            job.seen = time.monotonic()
            return Status(job.state, job.done, len(job.tasks), job.message)

    def cancel(self, key: str) -> None:
        """End a job."""
        with self._changed:
            job = self._jobs.get(key)
            if job is not None and job.state in ("waiting", "running"):
                job.state = "cancelled"

    def close(self) -> None:
        """End all work."""
        with self._changed:
            self._closed = True
            for job in self._jobs.values():
                if job.state in ("waiting", "running"):
                    job.state = "cancelled"
            self._changed.notify_all()
        for thread in self._threads:
            thread.join(5.0)

    def _work(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._closed or self._next() is not None)
                job = self._next()
                if self._closed or job is None:
                    return
                job.state = "running"
            self._run(job)

    def _next(self) -> _Job | None:
        return next((job for job in self._jobs.values() if job.state == "waiting"), None)

    def _run(self, job: _Job) -> None:
        """Hand the tasks to a fresh process, one after the other, while they are wanted."""
        ours, theirs = self._context.Pipe()
        process = self._context.Process(target=_serve, args=(theirs,), daemon=True)
        process.start()
        theirs.close()
        deadline = time.monotonic() + self._longest
        try:
            for task in job.tasks:
                if self.known(task.key) is not None:
                    continue
                ours.send((task.function, task.argument))
                while not ours.poll(0.1):
                    if not self._wanted(job, deadline):
                        return
                result, error = ours.recv()
                if error:
                    self._end(job, "failed", error)
                    return
                self._memory.put(task.key, result)
                with self._changed:
                    job.done += 1
                if not self._wanted(job, deadline):
                    return
            self._end(job, "done")
        except (EOFError, OSError):
            self._end(job, "failed", "its process died")
        finally:
            process.kill()
            process.join()
            ours.close()

    def _wanted(self, job: _Job, deadline: float) -> bool:
        now = time.monotonic()
        if now > deadline:
            self._end(job, "failed", f"stopped after {self._longest:g} s")
        elif now - job.seen > self._patience:
            self._end(job, "cancelled")
        return job.state == "running"

    def _end(self, job: _Job, state: str, message: str = "") -> None:
        with self._changed:
            if job.state == "running":
                job.state, job.message = state, message


def _context() -> Any:
    """Return how processes start: by copies of a clean one that has imported what they need."""
    if "forkserver" not in multiprocessing.get_all_start_methods():
        return multiprocessing.get_context("spawn")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["sparsetoken.app.prepared"])
    forkserver.ensure_running()
    return context


def _serve(pipe: Any) -> None:
    """Answer tasks with (result, error) until the pipe closes."""
    end_with_parent()
    while True:
        try:
            function, argument = pipe.recv()
        except EOFError:
            return
        pipe.send(_attempt(function, argument))


def _attempt(function: Callable[[Any], Any], argument: Any) -> tuple[Any, str]:
    try:
        return function(argument), ""
    except Exception as error:  # whatever it is, the visitor is told in one line
        return None, f"{type(error).__name__}: {error}"[:300]
