"""A line on the terminal while something takes longer than a moment."""

import sys
import time

__all__ = ["Progress"]

_PATIENCE = 2.0  # seconds before anything is shown


class Progress:
    """One line on stderr, rewritten at each step; nothing if stderr is not a terminal."""

    def __init__(self) -> None:
        self.began = time.monotonic()
        self.shown = False

    def step(self, doing: str) -> None:
        """Say what is being done, if the work has taken longer than two seconds."""
        elapsed = time.monotonic() - self.began
        if elapsed > _PATIENCE and sys.stderr.isatty():
            print(f"\r\033[Kplan [{elapsed:.0f} s] {doing}", end="", file=sys.stderr, flush=True)
            self.shown = True

    def close(self) -> None:
        """Clear the line."""
        if self.shown:
            print("\r\033[K", end="", file=sys.stderr, flush=True)
