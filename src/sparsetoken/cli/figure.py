"""``sparsetoken figure``: a named figure with the table behind it."""

from pathlib import Path
from typing import Annotated, Any

import typer

from sparsetoken.cli.options import AsJson, Scheduler, Workers, open_executor, option
from sparsetoken.cli.output import check_output, message, print_json, print_result, waiting
from sparsetoken.experiments.figures import SUMMARIES, WIDTHS, get_figure


def figure(
    name: Annotated[str | None, typer.Argument(help="Its name; leave it out for the list.")] = None,
    quick: Annotated[
        bool, option("Smaller sizes: within a minute on two processors.", "--quick")
    ] = False,
    out: Annotated[
        Path | None, option("The picture, .png, .pdf or .svg; by default NAME.png in this folder.")
    ] = None,
    width: Annotated[
        float | None,
        option(
            "Width in mm: 85 is a column of a journal, 170 two. Text keeps its size.",
            **{"min": WIDTHS[0], "max": WIDTHS[1], "metavar": "MM"},
        ),
    ] = None,
    title: Annotated[bool, option("Write title and caption above the panels.", "--title")] = False,
    letters: Annotated[bool, option("Mark the panels a, b, c, ...", "--letters")] = False,
    workers: Workers = None,
    scheduler: Scheduler = None,
    as_json: AsJson = False,
) -> None:
    """Compute and draw a named figure.

    Lines are theory, points with error bars simulation. The caption, with the parameters, is
    printed and kept in the picture's metadata. The table (.csv) and the results (.db) go beside the
    picture. Stop it at any time: the next run goes on from the results.
    """
    if name is None:
        print_result(as_json, SUMMARIES, ("figure", "shows"), list(SUMMARIES.items()))
        return
    picture = out or Path(f"{name}.png")
    style = {"width": width, "title": title, "letters": letters}
    executor = {"workers": workers, "scheduler": scheduler}
    rows, caption = make_figure(name, picture, quick, style, executor)
    table = str(picture.with_suffix(".csv"))
    if as_json:
        print_json({"picture": str(picture), "table": table, "rows": len(rows), "caption": caption})
    else:
        print_files(picture, f" ({len(rows)} rows)")
        typer.echo(f"caption  {caption}")


def print_files(picture: Path, rows: str = "") -> None:
    """Name the files that a figure leaves."""
    typer.echo(f"picture  {picture}")
    typer.echo(f"table    {picture.with_suffix('.csv')}{rows}")
    typer.echo(f"results  {picture.with_suffix('.db')}, read again by the next run")


def make_figure(
    name: str,
    picture: Path,
    quick: bool,
    style: dict[str, Any],
    executor: dict[str, Any],
    **settings: Any,
) -> tuple[list[dict[str, Any]], str]:
    """Compute, draw and save a figure; return its table and its caption."""
    from sparsetoken.experiments import Store, draw_figure, figure_rows, write_table
    from sparsetoken.plotting import FORMATS, save_picture

    minutes = get_figure(name).MINUTES
    check_output(picture, FORMATS)
    with (
        Store(picture.with_suffix(".db")) as store,
        open_executor(**executor) as opened,
        waiting(name, counted=True) as bar,
    ):
        if not quick:
            message(f"{name} takes about {minutes:g} min on two processors; a look: --quick")
        rows = figure_rows(name, store, opened, quick=quick, progress=bar, **settings)
    doubtful = sum(not row.get("converged", True) for row in rows)
    if doubtful:
        message(f"{doubtful} of {len(rows)} numbers did not converge: column 'converged'")
    write_table(rows, picture.with_suffix(".csv"))
    drawn = draw_figure(name, rows, **style)
    save_picture(drawn, picture)
    return rows, drawn.caption
