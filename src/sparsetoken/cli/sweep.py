"""``sparsetoken sweep``: run a sweep from a TOML file, look at its state, export its table."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from sparsetoken.cli.options import AsJson, Scheduler, Workers, open_executor, option
from sparsetoken.cli.output import (
    CommandError,
    check_not_read,
    check_output,
    message,
    print_json,
    print_result,
    print_table,
    waiting,
)

app = typer.Typer(
    help="Compute theory and simulation over a grid of parameters; resumable.", no_args_is_help=True
)

StorePath = Annotated[Path, option("The file of results.", "--store")]


@app.command("run")
def run_sweep(
    file: Annotated[Path, typer.Argument(help="The sweep, a TOML file.")],
    store: Annotated[
        Path | None, option("The file of results; by default beside the sweep, ending in .db.")
    ] = None,
    workers: Workers = None,
    scheduler: Scheduler = None,
    retry_failed: Annotated[bool, typer.Option("--retry-failed", hidden=True)] = False,
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
    from sparsetoken.experiments import Store, load_sweep, run

    path = store or file.with_suffix(".db")
    check_not_read(path, "--store", [file])
    sys.path.insert(0, str(file.parent.resolve()))
    sweep = load_sweep(file)
    if retry_failed:
        message("failed cells are always computed again: --retry-failed will go in 0.4")
    with Store(path) as opened:
        if opened.damaged:
            message(
                f"{opened.damaged} lines of {path} are damaged: what they held is computed again"
            )
        with (
            open_executor(workers, scheduler) as executor,
            waiting("cells", counted=True) as bar,
        ):
            report = run(sweep, opened, executor, progress=bar)
        failed = opened.failures(sweep.cells())
    if as_json:
        print_json({"store": str(path), **report._asdict()})
    message(
        f"{report.computed} computed, {report.failed} failed, "
        f"{report.already_done} already done: {path}"
    )
    if failed:
        raise CommandError(
            f"{len(failed)} cells have failed, see 'sparsetoken sweep status --store {path}'"
        )


@app.command()
def status(store: StorePath, as_json: AsJson = False) -> None:
    """Say how many cells are done, pending and failed, and why they failed."""
    from sparsetoken.experiments import Store

    with Store(store, read_only=True) as opened:
        counts, failures, damaged = opened.counts(), opened.failures(), opened.damaged
    if damaged:
        message(f"{damaged} lines of {store} are damaged: run the sweep again")
    listed = [{"values": f.cell.values, "error": f.error} for f in failures]
    rows = [(name, str(count)) for name, count in counts.items()]
    print_result(as_json, counts | {"failures": listed}, ("cells", "number"), rows)
    if failures and not as_json:
        lines = [(f.error, f.cell.source, f.cell.describe()) for f in failures]
        print_table(("error", "source", "cell"), lines)


@app.command()
def export(
    store: StorePath,
    out: Annotated[
        Path | None, option("A file ending in .csv or .parquet; by default CSV on stdout.")
    ] = None,
    skip_damaged: Annotated[
        bool, option("Leave out what a damaged file has lost.", "--skip-damaged")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Write the results as a table in long format."""
    from sparsetoken.experiments import Store, write_table
    from sparsetoken.experiments.table import as_columns, write_csv

    if out is not None:
        check_output(out, (".csv", ".parquet"), reads=(store,))
    with Store(store, read_only=True) as opened:
        rows = opened.rows(skip_damaged=skip_damaged)
        counts = {} if skip_damaged else opened.counts()
    if out is not None:
        write_table(rows, out)
        message(f"{len(rows)} rows: {out}")
    elif as_json:
        print_json(rows)
    else:
        write_csv(as_columns(rows), sys.stdout)
    unfinished = counts.get("pending", 0) + counts.get("failed", 0)
    if unfinished:
        message(f"{unfinished} cells are not in the table: pending or failed")
