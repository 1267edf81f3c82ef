"""The explorer: how soon a moved slider shows in a browser: ``python -m benchmarks.explorer``.

Needs Chromium or Chrome and takes two minutes. A move is timed in the page from the slider's input
event to the end of Plotly's drawing of the first picture (``plotly_afterplot``).
"""

import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

import psutil
from playwright.sync_api import Page, sync_playwright

from benchmarks.report import Row, at_most, print_rows, run

QUIET = ("--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking")
STOPWATCH = """() => {
    const graph = document.querySelector("#figure > div");
    window.watch = {since: null, drawn: []};
    document.addEventListener("input", () => {
        window.watch = {since: performance.now(), drawn: []};
    }, true);
    graph.on("plotly_afterplot", () => window.watch.drawn.push(performance.now()));
}"""
SHOWN = """() => document.querySelector("#figure > div")?.data?.length > 0
    && document.querySelector("#sentence").innerText !== ""
    && !document.body.classList.contains("busy")"""
# What is moved, by how many steps, and how soon the first picture should be there, in seconds.
MOVES = (
    ("learning, square loss", "view=learning&loss=square", "signal", 20, 0.1),
    ("learning, logistic loss", "view=learning", "signal", 20, 0.15),
    ("learning, hinge loss", "view=learning&loss=hinge", "signal", 5, 1.0),
    ("recall", "view=learning&quantity=recall", "signal", 5, 1.0),
    ("alignment", "view=alignment", "signal", 5, 1.0),
    ("training", "view=learning&quantity=training", "signal", 5, 1.0),
    ("capacity", "view=capacity", "alpha0", 5, 1.0),
    ("phase diagram", "view=phase", "reg", 5, 1.0),
)


@contextmanager
def served() -> Iterator[str]:
    """Serve the explorer; yield its address once its processes have warmed up."""
    command = [sys.executable, "-m", "sparsetoken", "serve", "--no-browser", "--port", "0"]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert server.stdout is not None
    try:
        address = server.stdout.readline().split()[3]
        process = psutil.Process(server.pid)
        time.sleep(5.0)  # until all processes have begun
        family = [process, *process.children(recursive=True)]
        while any(member.cpu_percent(interval=1.0) > 10.0 for member in family):
            pass
        yield address
    finally:
        server.terminate()
        server.communicate()


def wait(page: Page, condition: str) -> None:
    while not page.evaluate(condition):
        page.wait_for_timeout(20)


def slider_times(page: Page, name: str, moves: int) -> list[float]:
    """Return the seconds until the first picture, for each of the moves."""
    page.evaluate(STOPWATCH)
    page.locator(f'[data-name="{name}"] input[type=range]').focus()
    taken = []
    for _ in range(moves):
        page.keyboard.press("ArrowRight")
        wait(page, "() => window.watch.drawn.length > 0")
        wait(page, SHOWN)
        since, drawn = page.evaluate("() => [window.watch.since, window.watch.drawn]")
        taken.append((drawn[0] - since) / 1000)
    return taken


def rows() -> Iterator[Row]:
    names = ("chromium", "chromium-browser", "google-chrome")
    browser = next(filter(None, map(shutil.which, names)), None)
    if browser is None:
        sys.exit("no Chromium or Chrome in PATH")
    with served() as address, sync_playwright() as playwright:
        page = playwright.chromium.launch(executable_path=browser, args=QUIET).new_page()
        for what, query, name, moves, target in MOVES:
            page.goto(f"{address}?{query}")
            wait(page, SHOWN)
            taken = slider_times(page, name, moves)
            yield at_most(f"{what}: a move shows, median", statistics.median(taken), target, "s")
            yield Row(f"{what}: a move shows, worst of {moves}", max(taken), "s")


if __name__ == "__main__":
    run(lambda: print_rows("explorer", rows()))
