"""``sparsetoken figure``: a named figure with the table behind it."""

from pathlib import Path
from typing import Annotated, Any

import typer

from sparsetoken.cli.executors import Cluster, Scheduler, Workers, chosen_executor
from sparsetoken.cli.output import message, print_json, print_table, progress_bar
from sparsetoken.experiments import FIGURES, Store, figure_table, in_store, write_table
from sparsetoken.experiments.values import check_known

__all__ = ["figure", "make_figure"]

_FORMATS = (".png", ".pdf", ".svg")


def _complete_name(typed: str) -> list[str]:
    return [name for name in FIGURES if name.startswith(typed)]


def figure(
    name: Annotated[
        str | None,
        typer.Argument(help="Which; without it they are listed.", autocompletion=_complete_name),
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Smaller sizes: within a minute on two processors.")
    ] = False,
    out: Annotated[
        Path | None,
        typer.Option(help="The picture, .png, .pdf or .svg; by default NAME.png in this folder."),
    ] = None,
    workers: Workers = None,
    scheduler: Scheduler = None,
    cluster: Cluster = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Compute a named figure: theory as lines, simulation as points with error bars.

    Beside the picture go its table (.csv) and the results (.db), so that a figure that was stopped
    goes on, and one that is done is only drawn again.
    """
    if name is None:
        if as_json:
            print_json({recipe.name: recipe.summary for recipe in FIGURES.values()})
        else:
            print_table(("figure", "shows"), [(r.name, r.summary) for r in FIGURES.values()])
        return
    check_known("figure", name, FIGURES)
    picture = out or Path(f"{name}.png")
    rows = make_figure(name, picture, quick, workers, scheduler, cluster)
    paths = {"picture": str(picture), "table": str(picture.with_suffix(".csv")), "rows": len(rows)}
    if as_json:
        print_json(paths)
    else:
        typer.echo(f"picture  {paths['picture']}\ntable    {paths['table']} ({len(rows)} rows)")


def make_figure(
    name: str,
    picture: Path,
    quick: bool,
    workers: int | None = None,
    scheduler: str | None = None,
    cluster: str | None = None,
    **settings: Any,
) -> list[dict[str, Any]]:
    """Compute, draw and save a figure; return its table."""
    from sparsetoken.plotting import draw, save_picture

    if picture.suffix not in _FORMATS:
        raise ValueError(f"--out must end in {', '.join(_FORMATS)}, got {picture.name!r}")
    with (
        Store(picture.with_suffix(".db")) as store,
        chosen_executor(workers, scheduler, cluster) as executor,
        progress_bar(name) as bar,
    ):
        runner = in_store(store, executor, bar)
        rows = figure_table(name, runner, quick=quick, **settings)
    doubtful = sum(not row.get("converged", True) for row in rows)
    if doubtful:
        message(f"{doubtful} of {len(rows)} numbers did not converge: column 'converged'")
    write_table(rows, picture.with_suffix(".csv"))
    save_picture(draw(name, rows), picture)
    return rows
