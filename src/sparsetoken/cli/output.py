"""What the commands share: tables on stdout, messages and progress on stderr."""

import json
import math
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import typer

from sparsetoken._validation import import_extra


def message(text: str) -> None:
    """Say something to the person at the terminal."""
    typer.echo(text, err=True)


def check_output(
    path: Path, endings: Sequence[str], option: str = "--out", others: Iterable[Path | None] = ()
) -> None:
    """Refuse a file that cannot be written, or that the command uses otherwise, before all else."""
    if path.suffix not in endings:
        raise ValueError(f"{option} must end in {', '.join(endings)}, got {path.name!r}")
    if path.suffix == ".parquet":
        import_extra("pyarrow", f"{path}: Parquet")
    if not path.parent.is_dir():
        raise RuntimeError(f"{path}: there is no folder {path.parent}")
    for other in filter(None, others):
        same = path.exists() and other.exists() and path.samefile(other)
        if same or path.resolve().is_relative_to(other.resolve()):
            raise ValueError(
                f"{option} must be a file of its own, not {other} or in it; got {path}"
            )
    if path.is_dir() or not os.access(path.parent, os.W_OK):
        raise RuntimeError(f"{path}: it may not be written to")


def print_result(
    as_json: bool, content: Any, columns: Sequence[str], rows: Sequence[Sequence[str]]
) -> None:
    """Print content as JSON if that was asked for, and rows as a table otherwise."""
    if as_json:
        print_json(content)
    else:
        print_table(columns, rows)


def print_json(content: Any) -> None:
    """Print content as JSON, which has no infinity and no NaN: they become null."""
    typer.echo(json.dumps(_finite(content), ensure_ascii=False))


def _finite(content: Any) -> Any:
    if isinstance(content, dict):
        return {name: _finite(value) for name, value in content.items()}
    if isinstance(content, list | tuple):
        return [_finite(value) for value in content]
    return None if isinstance(content, float) and not math.isfinite(content) else content


def print_table(columns: Sequence[str], rows: Sequence[Sequence[str]], title: str = "") -> None:
    """Print a table, as wide as it needs to be where stdout is not a terminal.

    In a narrow terminal text is folded, but never a number or the first column: it holds names.
    """
    from rich import box
    from rich.console import Console
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, title=title or None, title_justify="left")
    for position, column in enumerate(columns):
        cells = [row[position] for row in rows]
        numeric = all(cell[:1] in "-+0123456789−" for cell in cells)
        whole = numeric or not position
        width = max(map(len, (column, *cells))) if whole else None
        looks: Any = {"no_wrap": whole, "overflow": "fold", "min_width": width}
        table.add_column(column, justify="right" if numeric else "left", **looks)
    for row in rows:
        table.add_row(*row)
    console = Console()
    (console if console.is_terminal else Console(width=1000)).print(table)


def print_measures(measures: Sequence[Any], judged: str) -> None:
    """Print measures of a classifier with their intervals."""
    print_table((judged, "95 % interval"), [(m.name, str(m)) for m in measures])


def as_text(value: Any) -> str:
    """Return a value for a cell: lists, tokens with their weights, and names with numbers."""
    if isinstance(value, list):
        return " ".join(map(as_text, value))
    if isinstance(value, dict) and "token" in value:
        return f"{value['token']}:{value['weight']:.2f}"
    if isinstance(value, dict):
        return ", ".join(f"{name} {as_text(item)}" for name, item in value.items())
    return f"{value:.4g}" if isinstance(value, float) else str(value)


@contextmanager
def waiting(what: str, *, counted: bool = False) -> Iterator[Callable[..., None]]:
    """Show on a terminal what is being done and for how long; it vanishes at the end.

    Provides a function that says what is being done next or, if things are counted, how many are
    done and how many there are.
    """
    from rich import progress
    from rich.console import Console

    names, ends = ["description"], list[Any]([progress.TimeElapsedColumn()])
    if counted:
        names = ["completed", "total"]
        ends = [progress.BarColumn(), progress.MofNCompleteColumn(), progress.TimeRemainingColumn()]
    columns = [progress.SpinnerColumn(), progress.TextColumn("{task.description}"), *ends]
    console = Console(stderr=True)
    if not console.is_terminal:  # where progress is disabled old versions print an empty line
        yield lambda *_: None
        return
    with progress.Progress(*columns, console=console, transient=True) as shown:
        task = shown.add_task(what, total=None)
        yield lambda *news: shown.update(task, **dict(zip(names, news, strict=True)))
