"""What all plans have in common: an answer in a sentence, a summary, data, a picture, a report."""

import platform
import sys
from abc import ABC, abstractmethod
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Table = list[tuple[str, ...]]
"""Rows of cells; the first row is the head."""


class Sections(NamedTuple):
    """What is said of a plan beside its answer."""

    question: str
    assumptions: list[str]
    remarks: list[str]
    """On the answer: what to be careful about."""
    basis: list[str]
    tables: dict[str, Table]


class Drawable(ABC):
    """A result with plain data and a picture of them."""

    _drawing: str
    """Name of the function of ``sparsetoken.plotting`` that draws it."""

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain data, ready for JSON."""

    def plot(self, path: str | Path | None = None) -> "Figure":
        """Draw the result.

        Parameters
        ----------
        path : str, Path or None, default=None
            Also save the picture: a file ending in .png, .pdf or .svg.
        """
        from sparsetoken import plotting

        figure: Figure = getattr(plotting, self._drawing)(self.to_dict())
        if path is not None:
            plotting.save_picture(figure, path)
        return figure


class PlanResult(Drawable):
    """A plan."""

    @property
    @abstractmethod
    def answer(self) -> str:
        """The plan in one sentence."""

    @abstractmethod
    def _sections(self) -> Sections:
        """Return what is said beside the answer."""

    def summary(self) -> str:
        """Return the answer, what to be careful about, and the details, as text."""
        sections = self._sections()
        tables = [f"{caption}\n{_text(rows)}" for caption, rows in sections.tables.items()]
        return "\n".join([self.answer, *sections.remarks, "", *sections.basis, *tables])

    def report(self, *, markdown: bool = False) -> str:
        """Return the text that a protocol or a methods section needs.

        It has the question, the assumptions, the answer with its interval, what the answer rests
        on, and the software.

        Parameters
        ----------
        markdown : bool, default=False
            Return headings and tables in Markdown instead of plain text.
        """
        question, assumptions, remarks, basis, tables = self._sections()
        release = sys.modules["sparsetoken"].__version__  # the parent is there, installed or not
        software = (
            f"sparsetoken {release}, with Python {platform.python_version()}, "
            f"NumPy {version('numpy')} and SciPy {version('scipy')}."
        )

        def block(title: str, *texts: str) -> str:
            sentences = " ".join(t if t.endswith((".", "?")) else f"{t}." for t in texts)
            return f"## {title}\n\n{sentences}" if markdown else f"{title}. {sentences}"

        blocks = [
            block("Question", question),
            block("Assumptions", *assumptions),
            block("Answer", self.answer, *remarks),
            block("What it rests on", *basis),
            *(f"{caption}:\n\n{_text(rows, markdown)}" for caption, rows in tables.items()),
            block("Software", software),
        ]
        return "\n\n".join(blocks) + "\n"

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.answer})"


def _text(rows: Table, markdown: bool = False) -> str:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    cells = [[cell.rjust(width) for cell, width in zip(row, widths, strict=True)] for row in rows]
    if not markdown:
        return "\n".join("  " + "  ".join(row) for row in cells)
    rule = ["-" * (width - 1) + ":" for width in widths]
    return "\n".join(f"| {' | '.join(row)} |" for row in [cells[0], rule, *cells[1:]])
