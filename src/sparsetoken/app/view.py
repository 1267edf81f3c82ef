"""What a view is: some controls, and what it answers, line by line, in plain words."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypedDict

from sparsetoken.app.figures import Figure
from sparsetoken.app.parameters import CONTROLS, GROUPS, Values, check
from sparsetoken.vocabulary import Quantity, check_known, group


class Line(TypedDict, total=False):
    """A line of an answer; the page keeps what a later line does not replace."""

    sentence: str  # what is shown, in plain words
    figures: list[Figure]
    facts: dict[str, str]  # a few numbers with their names
    table: dict[str, list[Any]]  # the numbers behind the picture, by column
    progress: str  # what is being done; empty at the end
    columns: list[str]  # of a visitor's file
    page: str  # a report on it
    error: str  # why there is no answer


Send = Callable[[Line], None]


def _keywords(*groups: str) -> str:
    """Return quantities as keyword arguments, with braces for their values."""
    return ", ".join(f"{name}={{{name}}}" for name in group(*groups))


_PROBLEM = f"import sparsetoken as st\n\nproblem = st.SparseTokenProblem({_keywords('problem')})\n"
_TRAINING = f"training = dict({_keywords('two steps')}, loss={{loss}})\n"


@dataclass(frozen=True)
class View:
    """A page of the explorer."""

    name: str
    title: str
    question: str  # that it answers
    names: tuple[str, ...]  # what a visitor can set: controls, or groups of them
    python: str  # goes on with the problem, and the training if it is set here
    draw: Callable[[Values, Send], None]  # sends the picture, coarse and fast at first
    simulate: Callable[[Values, Send], None] | None = None  # the same, with simulated points

    @property
    def controls(self) -> dict[str, Quantity]:
        """Return the controls."""
        return {n: CONTROLS[n] for entry in self.names for n in GROUPS.get(entry, (entry,))}

    @property
    def script(self) -> str:
        """Return a script for the same numbers; the page puts the values into its braces."""
        return _PROBLEM + _TRAINING * ("beta" in self.controls) + self.python

    def check(self, asked: Mapping[str, Any]) -> Values:
        """Return all values, each in the right type and within its limits, or raise ValueError."""
        controls = self.controls
        for name in asked:
            check_known("value", name[:40], controls)
        return {name: check(c, asked.get(name, c.default)) for name, c in controls.items()}
