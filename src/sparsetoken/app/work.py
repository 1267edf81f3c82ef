"""What the processes run: generators that yield pictures or progress, by name of the view."""

from collections.abc import Iterator
from itertools import islice

from sparsetoken.app.content import Content, Progress, Values
from sparsetoken.app.parameters import CONTROLS
from sparsetoken.app.views import VIEWS

__all__ = ["draw", "warm_up", "work"]


def draw(view: str, values: Values) -> Iterator[Content]:
    """Yield the pictures of a view."""
    return VIEWS[view].draw(values)


def work(view: str, values: Values) -> Iterator[Progress]:
    """Yield the progress of a view's work."""
    found = VIEWS[view].work
    assert found is not None
    return found(values)


def warm_up() -> None:
    """Load compiled code by drawing a little of what it is needed for."""
    for loss in CONTROLS["loss"].options:
        for view in ("learning", "alignment", "capacity"):
            names = VIEWS[view].names
            values = {name: CONTROLS[name].default for name in names} | {"loss": loss}
            list(islice(draw(view, values), 1))
