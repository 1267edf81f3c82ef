"""What a view is, and what it shows."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from sparsetoken.app.parameters import Values

__all__ = ["Content", "Draw", "Drawing", "StaleError", "Task", "View", "time_limit"]


class StaleError(Exception):
    """The visitor has moved on: what is being computed is not wanted any more."""


def time_limit(seconds: float) -> Callable[[], None]:
    """Return a check that refuses to go on after so many seconds from now."""
    end = time.monotonic() + seconds

    def check() -> None:
        if time.monotonic() > end:
            raise ValueError(
                f"This took more than {seconds:g} s here; what is done is kept, so ask again, "
                "or compute it yourself with the script below"
            )

    return check


@dataclass(frozen=True)
class Drawing:
    """How far to go with a picture, and what is known already.

    Parameters
    ----------
    step : int
        0 is coarse and fast; each further step refines.
    check : callable
        Raises :class:`StaleError` when the picture is not wanted any more; called often.
    known : callable
        Returns the result of a background task by its key, or None.
    """

    step: int = 0
    check: Callable[[], None] = lambda: None
    known: Callable[[str], Any] = lambda key: None


@dataclass(frozen=True)
class Content:
    """One view at some values."""

    figure: dict[str, Any]
    sentence: str
    """What is shown, in plain words."""
    rows: list[dict[str, Any]]
    """The table behind the figure."""
    python: str
    """A script that computes the same."""
    command: str
    """A command line that computes the same."""
    facts: Sequence[tuple[str, str]] = field(default=())
    """A few numbers with their names."""
    more: bool = False
    """Whether another step refines it."""


@dataclass(frozen=True)
class Task:
    """Work for the background: a function of one argument, both known to another process."""

    key: str
    function: Callable[[Any], Any]
    argument: Any


Draw = Callable[[Values, Drawing], Content]


@dataclass(frozen=True)
class View:
    """A page of the explorer."""

    name: str
    title: str
    question: str
    """What the view answers."""
    names: tuple[str, ...]
    """Its parameters."""
    draw: Draw
    tasks: Callable[[Values], list[Task]] | None = None
    """The background work for the view's button."""
    button: str = ""
    automatic: bool = False
    """Whether the work starts by itself."""
