"""``sparsetoken serve``: the explorer in a browser."""

from typing import Annotated

from sparsetoken._validation import import_extra
from sparsetoken.cli.options import option


def serve(
    port: Annotated[int, option("Port; 0 takes a free one.", min=0, max=65535)] = 8050,
    browser: Annotated[
        bool, option("Open the page in a browser.", "--browser/--no-browser")
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
