"""What all plans share: an answer, plain data, a picture, and a report in words."""

import platform
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Progress = Callable[[str], object]
"""Called at each step of a long computation, with a few words about what is done next."""

Sections = dict[str, list[Any]]
"""Of a report, by title: sentences, or the rows of a table, tuples of which the first is the
head."""


def no_progress(doing: str) -> None:
    """Report no progress."""


class PlanResult(ABC):
    """A plan: an answer in a sentence, plain data, a picture, and a report."""

    _drawing: str
    """Name of the function of ``sparsetoken.plotting`` that draws it."""

    @property
    @abstractmethod
    def answer(self) -> str:
        """The plan in one sentence."""

    @abstractmethod
    def _sections(self) -> Sections:
        """Return the report: first the answer, with what to be careful about."""

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain data, ready for JSON."""

    def plot(self, path: str | Path | None = None) -> "Figure":
        """Draw the plan.

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

    def summary(self) -> str:
        """Return the report as plain text, without the versions of the software."""
        return _text(self._sections(), markdown=False)

    def report(self, *, markdown: bool = False) -> str:
        """Return the text that a protocol or a methods section needs.

        It has the answer with its interval, the assumptions, what the answer rests on, and the
        software.

        Parameters
        ----------
        markdown : bool, default=False
            Return headings and tables in Markdown instead of plain text.
        """
        release = sys.modules["sparsetoken"].__version__  # the parent is there, installed or not
        software = (
            f"sparsetoken {release}, with Python {platform.python_version()}, "
            f"NumPy {version('numpy')} and SciPy {version('scipy')}."
        )
        return _text(self._sections() | {"Software": [software]}, markdown) + "\n"

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.answer.rstrip('.')})"


def _text(sections: Sections, markdown: bool) -> str:
    blocks = []
    for title, content in sections.items():
        if isinstance(content[0], tuple):
            blocks.append(f"{title}:\n\n{_table(content, markdown)}")
        elif markdown:
            blocks.append(f"## {title}\n\n{' '.join(content)}")
        else:
            blocks.append(f"{title}: {' '.join(content)}" if blocks else "\n".join(content))
    return "\n\n".join(blocks)


def _table(rows: list[tuple[str, ...]], markdown: bool) -> str:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    cells = [[cell.rjust(width) for cell, width in zip(row, widths, strict=True)] for row in rows]
    if not markdown:
        return "\n".join("  " + "  ".join(row) for row in cells)
    rule = ["-" * (width - 1) + ":" for width in widths]
    return "\n".join(f"| {' | '.join(row)} |" for row in [cells[0], rule, *cells[1:]])


def number(value: Any) -> str:
    """Return a number as text; nobody will ever tell an error below 1e-9 from none."""
    if not isinstance(value, float):
        return str(value)
    return f"{value:.4g}" if value >= 1e-9 else "below 1e-9"


def capital(text: str) -> str:
    """Return a sentence with a capital at its start."""
    return text[:1].upper() + text[1:]
