"""Pictures while a slider moves: first ones before refined ones, the newest request alone."""

import json
from collections import OrderedDict
from collections.abc import Iterator

from sparsetoken.app.content import Content
from sparsetoken.app.parameters import CONTROLS, Values
from sparsetoken.app.processes import Pool, prepare, refusal
from sparsetoken.app.views import VIEWS
from sparsetoken.experiments.workers import available_workers

_BEGUN = 32  # pictures that a process can go on with
_begun: OrderedDict[str, tuple[list[bytes], Iterator[Content]]] = OrderedDict()  # in a process


def draw(view: str, values: Values, step: int) -> bytes:
    """Return a step of a view's picture as JSON, or nothing if the step before was the last.

    A process keeps what it has begun, so that a step goes on where the one before it stopped.
    """
    key = json.dumps([view, values], sort_keys=True)
    drawn, rest = _begun.pop(key, None) or ([], VIEWS[view].draw(values))
    try:
        while len(drawn) <= step and (content := next(rest, None)) is not None:
            drawn.append(content.model_dump_json().encode())
    except Exception as error:
        raise refusal(error) from None
    _begun[key] = drawn, rest
    if len(_begun) > _BEGUN:
        _begun.popitem(last=False)
    return drawn[step] if step < len(drawn) else b""


def warm_up() -> None:
    """Load compiled code by drawing what everybody sees first."""
    prepare()
    view = VIEWS["learning"]
    for loss in CONTROLS["loss"].options:
        values = {name: CONTROLS[name].default for name in view.names} | {"loss": loss}
        next(view.draw(values))


class Pictures:
    """One process refines pictures; as many as there are other processors draw first ones."""

    def __init__(self, longest: float = 20.0) -> None:
        self._first = Pool(max(1, available_workers() - 1), longest, warm_up)
        self._refining = Pool(1, longest, warm_up)
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
