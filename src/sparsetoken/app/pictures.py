"""Pictures while a slider moves: first ones before refined ones, the newest request alone."""

import asyncio
import json
import os
from collections import OrderedDict
from collections.abc import Callable, Iterator
from concurrent.futures import BrokenExecutor, ProcessPoolExecutor

from sparsetoken.app.content import Content, Values
from sparsetoken.app.parameters import CONTROLS
from sparsetoken.app.processes import CONTEXT, RefusedError, prepare, refusal
from sparsetoken.app.views import VIEWS
from sparsetoken.experiments.workers import available_workers

_BEGUN = 32  # pictures that a process can go on with
_begun: OrderedDict[str, tuple[list[bytes], Iterator[Content]]] = OrderedDict()  # in a process


class OvertakenError(Exception):
    """The same visitor has asked for something newer, or the server ends."""


def draw(view: str, values: Values, step: int) -> bytes:
    """Return a step of a view's picture as JSON: a function of its arguments alone.

    A process keeps what it has begun, so that a step goes on where the one before it stopped.
    """
    key = json.dumps([view, values], sort_keys=True)
    drawn, rest = _begun.pop(key, None) or ([], VIEWS[view].draw(values))
    try:
        while len(drawn) <= step:
            content = next(rest, None)
            if content is None:
                raise ValueError(f"there is no step {step}")
            drawn.append(content.model_dump_json().encode())
    except Exception as error:
        raise refusal(error) from None
    _begun[key] = drawn, rest
    if len(_begun) > _BEGUN:
        _begun.popitem(last=False)
    return drawn[step]


def warm_up() -> None:
    """Load compiled code by drawing what everybody sees first."""
    prepare()
    view = VIEWS["learning"]
    for loss in CONTROLS["loss"].options:
        values = {name: CONTROLS[name].default for name in view.names} | {"loss": loss}
        next(view.draw(values))


class Pool:
    """Processes that are started anew when one of them dies or takes too long.

    A call may take ``longest`` seconds once its process is warm; ``begin`` is what warms it.
    """

    def __init__(self, size: int, longest: float, begin: Callable[[], None] = warm_up) -> None:
        self._size, self._longest, self._begin = size, longest, begin
        self._free = asyncio.Semaphore(size)
        self._closed = False
        self._start()

    def _start(self) -> None:
        self._executor = ProcessPoolExecutor(self._size, CONTEXT, initializer=self._begin)
        self._warm = [self._executor.submit(os.getpid) for _ in range(self._size)]

    def _replace(self, executor: ProcessPoolExecutor) -> None:
        """End processes that are broken or take too long, and start others in their place."""
        for process in list((executor._processes or {}).values()):  # 3.14 has kill_workers()
            process.kill()
        executor.shutdown(wait=False, cancel_futures=True)
        if executor is self._executor and not self._closed:
            self._start()

    def close(self) -> None:
        """End the processes, whatever they are doing."""
        self._closed = True
        self._replace(self._executor)

    async def run(
        self, wanted: Callable[[], bool], function: Callable[..., bytes], *arguments: object
    ) -> bytes:
        """Call a function in a process, unless nobody wants it when its turn has come.

        If the process dies, it is called once more.
        """
        async with self._free:
            for last in (False, True):
                if self._closed or not wanted():
                    break
                executor = self._executor
                try:
                    await asyncio.gather(*map(asyncio.wrap_future, self._warm))
                    call = asyncio.wrap_future(executor.submit(function, *arguments))
                    return await asyncio.wait_for(call, self._longest)
                except TimeoutError:
                    self._replace(executor)
                    words = f"This took more than {self._longest:g} s and was stopped."
                    raise RefusedError(words) from None
                except BrokenExecutor:
                    self._replace(executor)
                    if last and not self._closed:
                        raise RefusedError("The process that computed this has died.") from None
        raise OvertakenError


class Pictures:
    """One process refines pictures; as many as there are other processors draw first ones."""

    def __init__(self, longest: float = 20.0) -> None:
        self._first = Pool(max(1, available_workers() - 1), longest)
        self._refining = Pool(1, longest)
        self._latest: dict[str, int] = {}  # request of each visitor

    def close(self) -> None:
        """End the processes; whoever waits is told that it was overtaken."""
        self._first.close()
        self._refining.close()

    async def draw(
        self, visitor: str, sequence: int, view: str, values: Values, step: int
    ) -> bytes:
        """Return a step of a picture, or raise OvertakenError or RefusedError."""
        self._latest[visitor] = max(sequence, self._latest.get(visitor, 0))
        pool = self._refining if step else self._first
        return await pool.run(lambda: self._latest[visitor] <= sequence, draw, view, values, step)
