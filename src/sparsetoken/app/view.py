"""What a view is: some controls, and what it answers, line by line, in plain words."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypedDict

from sparsetoken.app.figures import Figure
from sparsetoken.app.parameters import CONTROLS, GROUPS, Values, check, select, training_settings
from sparsetoken.vocabulary import Quantity, check_known


class Line(TypedDict, total=False):
    """A line of an answer; the page keeps what a later line does not replace."""

    sentence: str  # what is shown, in plain words
    figures: list[Figure]
    facts: dict[str, str]  # a few numbers with their names
    table: dict[str, list[Any]]  # the numbers behind the picture, by column
    python: str  # a script that computes the same
    progress: str  # what is being done; empty at the end
    columns: list[str]  # of a visitor's file
    page: str  # a report on it
    error: str  # why there is no answer


Send = Callable[[Line], None]


@dataclass(frozen=True)
class View:
    """A page of the explorer."""

    name: str
    title: str
    question: str  # that it answers
    names: tuple[str, ...]  # what a visitor can set: controls, or groups of them
    draw: Callable[[Values, Send], None]  # sends the picture, coarse and fast at first
    simulate: Callable[[Values, Send], None] | None = None  # the same, with simulated points
    defaults: Mapping[str, Any] = field(default_factory=dict)  # that differ from other views'

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


def script(values: Values, code: str, **more: Any) -> str:
    """Return a script that makes the problem and then runs code with values filled in.

    The code is a template: ``{signal!r}`` stands for a value, ``{training!r}`` for the rates and
    the loss.
    """
    problem = keywords(select(values, "problem"))
    head = "import numpy as np\nimport sparsetoken as st\n\n"
    head += f"problem = st.SparseTokenProblem({problem})\n"
    return head + code.format(**values, training=training_settings(values), **more)


def keywords(arguments: Values) -> str:
    """Return values as keyword arguments."""
    return ", ".join(f"{name}={value!r}" for name, value in arguments.items())


def per_cent(fraction: float) -> str:
    """Return a fraction in per cent, to two or three digits, that no line break divides."""
    value = 100.0 * fraction
    if 0.0 < value < 1e-3:
        return "less than 0.001\N{NO-BREAK SPACE}%"
    digits = f"{value:.3g}" if value < 10 or value > 99 else f"{value:.0f}"
    return f"{digits}\N{NO-BREAK SPACE}%"


def samples(alpha: float, dim: int | None = None) -> str:
    """Return samples per dimension, and their number where the dimension is known."""
    number = f"{alpha:.3g}" if alpha < 99.5 else f"{alpha:.0f}"
    counted = f" (n = {alpha * dim:.0f})" if dim else ""
    return f"{plural(number, 'sample')} per dimension{counted}"


def plural(count: int | str, noun: str) -> str:
    """Return a count with its noun."""
    return f"{count} {noun}" if str(count) == "1" else f"{count} {noun}s"
