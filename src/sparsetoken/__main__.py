"""``python -m sparsetoken`` is the ``sparsetoken`` command."""

from sparsetoken.cli import main

if __name__ == "__main__":
    main()
