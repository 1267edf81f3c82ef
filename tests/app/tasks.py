"""What the tests let processes do: they know these functions by name."""

import asyncio
import os
import time
from pathlib import Path

from sparsetoken.app.content import Progress

SLOW = 120.0


async def until(path):
    """Wait for a file that a process writes, and return what it says."""
    deadline = time.monotonic() + SLOW
    while not Path(path).exists():
        assert time.monotonic() < deadline
        await asyncio.sleep(0.01)
    return Path(path).read_text()


def nothing():
    """Do nothing first."""


def touch(path):
    """Leave a file as a sign that this has run."""
    Path(path).touch()
    return b"done"


def hold(begun, gate):
    """Say that this has begun, with the number of the process, and wait for a file to appear."""
    Path(begun).with_suffix(".new").write_text(str(os.getpid()))
    Path(begun).with_suffix(".new").rename(begun)
    while not Path(gate).exists():
        time.sleep(0.01)
    return b"held"


def die_once(path):
    """End the process the first time."""
    if not Path(path).exists():
        Path(path).touch()
        os._exit(3)
    return b"alive"


def die():
    os._exit(3)


def count(total, send):
    for number in range(1, total + 1):
        send(Progress(done=number, total=total, message=str(os.getpid())))


def work_until(gate, send):
    """Say the number of the process, and wait for a file to appear."""
    send(Progress(done=0, total=1, message=str(os.getpid())))
    while not Path(gate).exists():
        time.sleep(0.01)


def fail(kind, send):
    if kind == "die":
        os._exit(3)
    raise {"value": ValueError, "other": RuntimeError}[kind]("n_tokens must be 1")
