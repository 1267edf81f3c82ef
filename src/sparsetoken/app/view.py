"""What a view is: some controls, and what it answers, line by line."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypedDict

from sparsetoken.app.figures import Figure
from sparsetoken.app.parameters import CONTROLS, GROUPS, Values, check
from sparsetoken.vocabulary import Quantity, check_known


class Line(TypedDict, total=False):
    """A line of an answer; the page keeps what a later line does not replace."""

    sentence: str
    """What is shown, in plain words."""
    figures: list[Figure]
    facts: dict[str, str]
    """A few numbers with their names."""
    table: dict[str, list[Any]]
    """The numbers behind the picture, by column."""
    python: str
    """A script that computes the same."""
    command: str
    """A command line that computes the same, or one point of it."""
    progress: str
    """What is being done; empty at the end."""
    columns: list[str]
    """Of a visitor's file."""
    page: str
    """A report on it."""
    error: str
    """Why there is no answer."""


Send = Callable[[Line], None]


@dataclass(frozen=True)
class View:
    """A page of the explorer."""

    name: str
    title: str
    question: str
    """What the view answers."""
    names: tuple[str, ...]
    """What a visitor can set: controls, or groups of them."""
    draw: Callable[[Values, Send], None]
    """Sends the picture, coarse and fast at first, then refined."""
    simulate: Callable[[Values, Send], None] | None = None
    """Does the same and adds points of a simulation."""
    defaults: Mapping[str, Any] = field(default_factory=dict)
    """Values that differ from those of the other views."""
    long: bool = False
    """Whether it takes so long that pictures go first."""

    @property
    def controls(self) -> dict[str, Quantity]:
        """Return the controls with their defaults here."""
        names = [name for entry in self.names for name in GROUPS.get(entry, (entry,))]
        default = self.defaults.get
        return {n: replace(CONTROLS[n], default=default(n, CONTROLS[n].default)) for n in names}

    def check(self, asked: Mapping[str, Any]) -> Values:
        """Return all values, each in the right type and within its limits, or raise ValueError."""
        controls = self.controls
        for name in asked:
            check_known("value", name[:40], controls)
        values = {name: check(c, asked.get(name, c.default)) for name, c in controls.items()}
        length, signal = values.get("n_tokens", 1), values.get("n_signal", 1)
        if signal > length:
            raise ValueError(f"{signal} signal tokens do not fit into a sequence of {length}")
        return values
