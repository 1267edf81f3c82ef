"""Processes that compute: each runs generators, one step at a time, and can be ended at any moment.

A process of its own has no lock to share with the server, and ending it ends the work at once,
which a thread cannot do. A generator stays suspended in its process between two steps, so what
refines a picture goes on where the picture before it stopped.
"""

import asyncio
import os
import warnings
from collections import OrderedDict
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from pydantic import BaseModel

from sparsetoken.estimators.threads import one_blas_thread
from sparsetoken.experiments.workers import end_with_parent, process_context

__all__ = ["RefusedError", "Task", "Worker"]

_SUSPENDED = 32  # generators that a process keeps
_CONTEXT = process_context("sparsetoken.app.work")


class RefusedError(Exception):
    """The work cannot be done; the message is for the visitor."""


class Task(NamedTuple):
    """A generator function and its arguments, known to every process; equal keys, equal results."""

    key: str
    function: Callable[..., Iterator[BaseModel]]
    arguments: tuple[Any, ...]


class Worker:
    """A process, and a line to it. Whoever uses it waits for each answer before asking again.

    Parameters
    ----------
    warm_up : callable, optional
        Called by the process before anything else, so that no visitor waits for compiled code.
    background : bool, default=False
        Whether others go first on a busy machine.
    """

    def __init__(
        self, warm_up: Callable[[], None] | None = None, *, background: bool = False
    ) -> None:
        self._pipe, theirs = _CONTEXT.Pipe()
        self._process = _CONTEXT.Process(
            target=_serve, args=(theirs, warm_up, background), daemon=True
        )
        self._process.start()
        theirs.close()
        self._warm = False

    async def advance(self, task: Task, step: int, seconds: float) -> bytes | None:
        """Return a step of a task as JSON, None after the last; the process ends if it takes long.

        Raises
        ------
        RefusedError
            If the task raised an error, took too long, or the process has died.
        """
        try:
            if not self._warm:
                self._warm = await asyncio.to_thread(self._pipe.recv)
            kind, answer = await asyncio.wait_for(
                asyncio.to_thread(self._exchange, task, step), seconds
            )
        except TimeoutError:
            self.kill()
            raise RefusedError(f"This took more than {seconds:g} s and was stopped.") from None
        except (EOFError, OSError):
            self.kill()
            raise RefusedError("The process that computed this has died.") from None
        if kind == "refused":
            raise RefusedError(answer)
        return answer if kind == "step" else None

    def _exchange(self, task: Task, step: int) -> Any:
        self._pipe.send((task, step))
        return self._pipe.recv()

    @property
    def alive(self) -> bool:
        """Whether the process can be asked."""
        return self._process.is_alive()

    def kill(self) -> None:
        """End the process, whatever it is doing."""
        self._process.kill()
        self._process.join()


def _serve(pipe: Any, warm_up: Callable[[], None] | None, background: bool) -> None:
    """Answer with steps of tasks until the pipe closes."""
    end_with_parent()
    warnings.simplefilter("ignore")  # a server has nobody to warn; results say what they are
    if background and hasattr(os, "nice"):
        os.nice(10)
    suspended: OrderedDict[str, tuple[int, Iterator[BaseModel]]] = OrderedDict()
    with one_blas_thread():
        if warm_up is not None:
            warm_up()
        pipe.send(True)
        while True:
            try:
                task, step = pipe.recv()
            except EOFError:
                return
            pipe.send(_answer(suspended, task, step))


def _answer(suspended: Any, task: Task, step: int) -> tuple[str, Any]:
    at, steps = suspended.pop(task.key, (0, None))
    try:
        if steps is None or at > step:
            at, steps = 0, task.function(*task.arguments)
        for _ in range(at, step + 1):
            found = next(steps)
        suspended[task.key] = step + 1, steps
        if len(suspended) > _SUSPENDED:
            suspended.popitem(last=False)
        return "step", found.model_dump_json().encode()
    except StopIteration:
        return "end", None
    except ValueError as error:
        return "refused", _sentence(str(error))
    except Exception as error:  # whatever it is, the visitor is told in one line
        return "refused", _sentence(f"{type(error).__name__}: {error}")


def _sentence(text: str) -> str:
    line = " ".join(text.split())[:500].rstrip(".")
    if line.partition(" ")[0].isalpha():  # a word, not the name of a value or a file
        line = line[:1].upper() + line[1:]
    return f"{line}."
