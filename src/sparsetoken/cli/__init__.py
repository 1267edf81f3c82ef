"""The ``sparsetoken`` command: data on stdout, messages on stderr."""

from sparsetoken.cli.main import main

__all__ = ["main"]
