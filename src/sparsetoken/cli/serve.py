"""``sparsetoken serve``: the explorer in a browser."""

from typing import Annotated

import typer

from sparsetoken._validation import import_extra


def serve(
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port; 0 takes a free one.")] = 8050,
    browser: Annotated[
        bool, typer.Option("--browser/--no-browser", help="Open the page in a browser.")
    ] = True,
) -> None:
    """Open the explorer in a browser.

    A page where the theory answers while you move a slider. It serves this machine alone.
    """
    try:
        from sparsetoken.app.server import serve as run
    except ImportError as missing:
        import_extra(missing.name or "", "the explorer", "app")
        raise
    run(port, browser=browser)
