"""Something to look at while a computation lasts."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

_PATIENCE = 2.0  # seconds


@contextmanager
def waiting(what: str) -> Iterator[None]:
    """Show what is being done and for how long, on a terminal and after two seconds."""
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    console = Console(stderr=True)
    if not console.is_terminal:
        yield
        return
    columns = (SpinnerColumn(), TextColumn(what), TimeElapsedColumn())
    shown = Progress(*columns, console=console, transient=True)
    shown.add_task(what, total=None)
    timer = threading.Timer(_PATIENCE, shown.start)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()
        shown.stop()
