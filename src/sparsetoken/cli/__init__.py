"""The ``sparsetoken`` command: data on stdout, messages on stderr.

No module of this package imports numerics at its top: ``--help`` and the completion of a shell
need only the words.
"""

import sys

from sparsetoken._validation import MissingPackageError, import_extra

__all__ = ["main"]


def main(arguments: list[str] | None = None) -> None:
    """Run the command line, or say which extra it needs."""
    try:
        import_extra("typer", "the command line", "cli")
    except MissingPackageError as error:
        sys.exit(f"sparsetoken: {error}")
    from sparsetoken.cli.command import main as run

    run(arguments)
