"""What the tests let processes do: they know these functions by name."""

import os
import time
from pathlib import Path

from sparsetoken.app.content import Progress


def nothing():
    """Do nothing first."""


def count(log, total):
    """Yield 1 to ``total``, and write down each number computed."""
    for number in range(1, total + 1):
        with Path(log).open("a") as file:
            file.write(f"{number}\n")
        yield Progress(done=number, total=total, message=str(os.getpid()))


def sleep(seconds):
    yield Progress(done=0, total=1, message=str(os.getpid()))
    time.sleep(seconds)
    yield Progress(done=1, total=1)


def fail(kind):
    if kind == "die":
        os._exit(3)
    raise {"value": ValueError, "other": RuntimeError}[kind]("n_tokens must be 1")
    yield
