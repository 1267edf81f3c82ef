"""What all processes of the explorer have in common: how they start, and how they refuse."""

import re
import warnings

from threadpoolctl import threadpool_limits

from sparsetoken.app.parameters import CONTROLS
from sparsetoken.experiments.workers import end_with_parent, process_context

CONTEXT = process_context("sparsetoken.app.pictures")
_LONGEST = 500  # characters of a refusal


class RefusedError(Exception):
    """The work cannot be done; the message is a sentence for the page."""


def prepare() -> None:
    """Do what every process does first."""
    end_with_parent()
    warnings.simplefilter("ignore")  # a server has nobody to warn; results say what they are
    threadpool_limits(1, user_api="blas")


def refusal(error: Exception) -> RefusedError:
    """Return an error as a sentence in the words of the page: labels instead of arguments."""
    text = str(error) if isinstance(error, ValueError) else f"{type(error).__name__}: {error}"
    line = " ".join(text.split())[:_LONGEST].rstrip(".")
    for name, control in CONTROLS.items():
        if "_" in name or line.startswith(f"{name} must"):
            line = re.sub(rf"\b{name}\b", control.label, line)
    if line.partition(" ")[0].isalpha():  # a word, not the name of a value or a file
        line = line[:1].upper() + line[1:]
    return RefusedError(f"{line}.")
