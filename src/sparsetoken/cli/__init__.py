"""The ``sparsetoken`` command: data on stdout, messages on stderr.

No module of this package imports numerics at its top: ``--help`` and the completion of a shell
need only the words.
"""

from sparsetoken.cli.command import main

__all__ = ["main"]
