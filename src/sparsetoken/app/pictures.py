"""Pictures while a slider moves: the newest request of each visitor, equal ones computed once."""

import asyncio
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field

from sparsetoken.app.processes import RefusedError, Task, Worker

__all__ = ["OvertakenError", "Pictures"]

_REMEMBERED = 64_000_000  # bytes of pictures
_VISITORS = 1000


class OvertakenError(Exception):
    """The same visitor has asked for something newer."""


@dataclass(eq=False)
class _Asked:
    task: Task
    step: int
    waiting: dict[str, "asyncio.Future[bytes]"] = field(default_factory=dict)
    running: bool = False


class Pictures:
    """A few processes that draw. First pictures go before refinements, in the order they came.

    One process is always left for first pictures, if there is more than one.

    Parameters
    ----------
    warm_up : callable
        What each process does first.
    size : int
        How many processes.
    longest : float
        Seconds a step may take.
    """

    def __init__(self, warm_up: Callable[[], None], size: int, longest: float = 20.0) -> None:
        self._warm_up, self._size, self._longest = warm_up, size, longest
        self._asked: dict[tuple[str, int], _Asked] = {}
        self._memory: OrderedDict[tuple[str, int], bytes] = OrderedDict()
        self._latest: OrderedDict[str, int] = OrderedDict()
        self._home: OrderedDict[str, int] = OrderedDict()  # the process that suspends a task
        self._arrived = asyncio.Condition()
        self._workers: list[Worker] = []
        self._loops: list[asyncio.Task[None]] = []

    def start(self) -> None:
        """Start the processes."""
        self._workers = [Worker(self._warm_up) for _ in range(self._size)]
        self._loops = [asyncio.create_task(self._work(slot)) for slot in range(self._size)]

    def close(self) -> None:
        """End the processes; whoever waits is told that it was overtaken."""
        while self._loops:
            self._loops.pop().cancel()
        for worker in self._workers:
            worker.kill()
        for asked in self._asked.values():
            for future in asked.waiting.values():
                future.cancel()

    async def draw(self, visitor: str, sequence: int, task: Task, step: int) -> bytes:
        """Return a step of a picture, or raise OvertakenError or RefusedError."""
        if not self._loops or self._latest.get(visitor, sequence) > sequence:
            raise OvertakenError
        _keep(self._latest, visitor, sequence, _VISITORS)
        self._drop(visitor)
        key = task.key, step
        if key in self._memory:
            self._memory.move_to_end(key)
            return self._memory[key]
        asked = self._asked.setdefault(key, _Asked(task, step))
        future = asyncio.get_running_loop().create_future()
        asked.waiting[visitor] = future
        await self._tell()
        try:
            return await future
        except asyncio.CancelledError:
            if future.cancelled():  # by the server's end
                raise OvertakenError from None
            raise

    def _drop(self, visitor: str) -> None:
        """Forget what a visitor asked for before; what nobody waits for is not computed."""
        for key, asked in list(self._asked.items()):
            future = asked.waiting.pop(visitor, None)
            if future is not None and not future.done():
                future.set_exception(OvertakenError())
            if not asked.waiting and not asked.running:
                del self._asked[key]

    def _next(self, slot: int) -> _Asked | None:
        free = [asked for asked in self._asked.values() if not asked.running]
        for asked in free:
            if asked.step == 0:
                return asked
        refining = sum(asked.running and asked.step > 0 for asked in self._asked.values())
        if refining >= max(1, self._size - 1):  # somebody has to be there for first pictures
            return None
        return next((a for a in free if self._home.get(a.task.key, slot) == slot), None)

    async def _work(self, slot: int) -> None:
        while True:
            async with self._arrived:
                await self._arrived.wait_for(lambda: self._next(slot) is not None)
                asked = self._next(slot)
            if asked is None:
                continue
            asked.running = True
            _keep(self._home, asked.task.key, slot, _VISITORS)
            key = asked.task.key, asked.step
            try:
                answer = await self._workers[slot].advance(asked.task, asked.step, self._longest)
                if answer is None:
                    raise RefusedError(f"There is no step {asked.step}.")
                self._remember(key, answer)
                for future in asked.waiting.values():
                    future.set_result(answer)
            except RefusedError as error:
                for future in asked.waiting.values():
                    future.set_exception(error)
            finally:
                self._asked.pop(key, None)
            if not self._workers[slot].alive:
                self._workers[slot] = await asyncio.to_thread(Worker, self._warm_up)
            await self._tell()

    async def _tell(self) -> None:
        async with self._arrived:
            self._arrived.notify_all()

    def _remember(self, key: tuple[str, int], answer: bytes) -> None:
        self._memory[key] = answer
        while sum(map(len, self._memory.values())) > _REMEMBERED:
            self._memory.popitem(last=False)


def _keep(kept: "OrderedDict[str, int]", name: str, value: int, most: int) -> None:
    kept[name] = value
    kept.move_to_end(name)
    if len(kept) > most:
        kept.popitem(last=False)
