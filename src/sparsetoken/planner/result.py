"""What all plans have in common: an answer in a sentence, a summary, data, a picture, a report."""

import platform
import sys
from abc import ABC, abstractmethod
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class Sections(NamedTuple):
    """The paragraphs of a report; a table is a list of rows, the first of which is its head."""

    question: str
    assumptions: list[str]
    answer: list[str]
    basis: list[str]
    tables: dict[str, list[tuple[str, ...]]]


class PlanResult(ABC):
    """A plan."""

    @property
    @abstractmethod
    def answer(self) -> str:
        """The plan in one sentence."""

    @abstractmethod
    def summary(self) -> str:
        """Return the answer, what to be careful about, and the details, as text."""

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain data, ready for JSON."""

    @abstractmethod
    def _draw(self) -> "Figure":
        """Return the picture."""

    @abstractmethod
    def _sections(self) -> Sections:
        """Return the paragraphs of the report."""

    def plot(self, path: str | Path | None = None) -> "Figure":
        """Draw the plan.

        Parameters
        ----------
        path : str, Path or None, default=None
            Also save the picture: a file ending in .png, .pdf or .svg.
        """
        from sparsetoken.plotting import save_picture

        figure = self._draw()
        if path is not None:
            save_picture(figure, path)
        return figure

    def report(self, *, markdown: bool = False) -> str:
        """Return the text that a protocol or a methods section needs.

        It has the question, the assumptions, the answer with its interval, what the answer rests
        on, and the software.

        Parameters
        ----------
        markdown : bool, default=False
            Return headings and tables in Markdown instead of plain text.
        """
        sections = self._sections()
        release = sys.modules["sparsetoken"].__version__  # the parent is there, installed or not
        software = (
            f"sparsetoken {release}, with Python {platform.python_version()}, "
            f"NumPy {version('numpy')} and SciPy {version('scipy')}."
        )
        blocks = [
            *_titled("Question", [sections.question], markdown),
            *_titled("Assumptions", sections.assumptions, markdown),
            *_titled("Answer", sections.answer, markdown),
            *_titled("What it rests on", sections.basis, markdown),
        ]
        for caption, rows in sections.tables.items():
            blocks += [f"{caption}:", _table(rows, markdown)]
        blocks += _titled("Software", [software], markdown)
        return "\n\n".join(blocks) + "\n"

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.answer})"


def _titled(title: str, sentences: list[str], markdown: bool) -> list[str]:
    text = " ".join(sentences)
    return [f"## {title}", text] if markdown else [f"{title}. {text}"]


def _table(rows: list[tuple[str, ...]], markdown: bool) -> str:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    cells = [[cell.rjust(width) for cell, width in zip(row, widths, strict=True)] for row in rows]
    if not markdown:
        return "\n".join("  " + "  ".join(row) for row in cells)
    rule = ["-" * (width - 1) + ":" for width in widths]
    return "\n".join(f"| {' | '.join(row)} |" for row in [cells[0], rule, *cells[1:]])
