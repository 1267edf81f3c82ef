"""``sparsetoken sweep``: run a sweep from a TOML file, look at its state, export its table."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from sparsetoken.cli.options import AsJson, Scheduler, Workers, open_executor, option
from sparsetoken.cli.output import (
    check_output,
    message,
    print_json,
    print_result,
    print_table,
    waiting,
)
from sparsetoken.experiments.table import TABLES, write_csv, write_table

app = typer.Typer(
    help="Compute theory and simulation over a grid of parameters; resumable.", no_args_is_help=True
)

SweepFile = Annotated[Path, typer.Argument(help="The sweep, a TOML file.")]
StorePath = Annotated[
    Path | None, option("The file of results; by default beside the sweep, ending in .db.")
]


@contextmanager
def _opened(file: Path, store: Path | None, read_only: bool = True) -> Iterator[Any]:
    """Provide the store and the sweep."""
    from sparsetoken.experiments import Store, load_sweep

    sys.path.insert(0, str(file.parent.resolve()))  # losses and poolings may lie beside it
    sweep = load_sweep(file)
    with Store(store or file.with_suffix(".db"), read_only=read_only) as opened:
        if opened.damaged and opened.missing(sweep.cells()):
            message(f"{opened.damaged} damaged lines of {opened.path} count as not computed")
        yield opened, sweep


@app.command("run")
def run_sweep(
    file: SweepFile,
    store: StorePath = None,
    workers: Workers = None,
    scheduler: Scheduler = None,
    as_json: AsJson = False,
) -> None:
    """Compute what the store does not have yet.

    Results are saved as they come: stop it at any time, and run it again to go on. Cells that
    failed are then tried again.

    A sweep names quantities and axes:

    \b
    quantities = ["test_error", "train_loss"]
    fixed.n_tokens = 10
    fixed.signal = 5.0
    axes.model = ["pooled", "two-step"]
    axes.alpha = {start = 0.5, stop = 8, count = 5, spacing = "log"}

    A loss or pooling of your own is named by its import path, "my_losses:Huber", from a module
    beside the sweep or installed.
    """  # noqa: D301 (the backslash keeps the lines of the example)
    from sparsetoken.experiments import run

    with (
        _opened(file, store, read_only=False) as (opened, sweep),
        open_executor(workers, scheduler) as executor,
        waiting("cells", counted=True) as bar,
    ):
        report = run(sweep, opened, executor, progress=bar)
    if as_json:
        print_json({"store": str(opened.path), **report._asdict()})
    computed, failed, already_done = report
    message(f"{computed} computed, {failed} failed, {already_done} already done: {opened.path}")
    if failed:
        raise RuntimeError(f"{failed} cells have failed, see 'sparsetoken sweep status {file}'")


@app.command()
def status(file: SweepFile, store: StorePath = None, as_json: AsJson = False) -> None:
    """Say how many cells are done, pending and failed, and why they failed."""
    with _opened(file, store) as (opened, sweep):
        cells = sweep.cells()
        counts, failures = opened.counts(cells), opened.failures(cells)
    listed = [{"values": cell.values, "error": error} for cell, error in failures]
    rows = [(name, str(count)) for name, count in counts.items()]
    print_result(as_json, counts | {"failures": listed}, ("cells", "number"), rows)
    if failures and not as_json:
        lines = [(error, cell.source, cell.describe()) for cell, error in failures]
        print_table(("error", "source", "cell"), lines)


@app.command()
def export(
    file: SweepFile,
    store: StorePath = None,
    out: Annotated[
        Path | None, option("A file ending in .csv or .parquet; by default CSV on stdout.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Write the results as a table in long format."""
    if out is not None:
        check_output(out, TABLES, others=(file, store or file.with_suffix(".db")))
    with _opened(file, store) as (opened, sweep):
        rows, missing = opened.rows(sweep.cells()), len(opened.missing(sweep.cells()))
    if out is not None:
        write_table(rows, out)
        message(f"{len(rows)} rows: {out}")
    if as_json:
        print_json(rows)
    elif out is None:
        write_csv(rows, sys.stdout)
    if missing:
        message(f"{missing} cells are not in the table: pending or failed")
