"""What the processes run: generators that yield pictures or progress, by name of the view."""

from collections.abc import Iterator

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
    """Load compiled code by drawing what everybody sees first."""
    view = VIEWS["learning"]
    for loss in CONTROLS["loss"].options:
        values = {name: CONTROLS[name].default for name in view.names} | {"loss": loss}
        next(view.draw(values))
