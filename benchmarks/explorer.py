"""The explorer: how soon a moved slider shows, in a browser, many visitors at once, and its end.

``python -m benchmarks.explorer`` needs Chromium or Chrome and takes three minutes. A move is timed
in the page from the slider's input event to the end of Plotly's drawing (``plotly_afterplot``): of
the first picture, and of the last refinement.
"""

import http.client
import json
import random
import shutil
import signal
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

import psutil
from playwright.sync_api import Page, sync_playwright

from benchmarks.report import Row, at_most, print_rows

CLIENTS, DURATION, PACE = 8, 60.0, 1.0  # pages that are open on one machine
QUIET = ("--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking")
STOPWATCH = """() => {
    const graph = document.querySelector("#figure > div");
    window.watch = {since: null, drawn: []};
    document.addEventListener("input", () => {
        window.watch = {since: performance.now(), drawn: []};
    }, true);
    graph.on("plotly_afterplot", () => window.watch.drawn.push(performance.now()));
}"""
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
# Where the visitors are; the first view is where everybody begins.
CROWD = [*["learning"] * 5, "alignment", "phase", "capacity"]


@contextmanager
def served() -> Iterator[tuple[str, psutil.Process]]:
    """Serve the explorer; yield its address and process once it has warmed up."""
    command = [sys.executable, "-m", "sparsetoken", "serve", "--no-browser", "--port", "0"]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert server.stdout is not None
    try:
        address = server.stdout.readline().split()[3]
        process = psutil.Process(server.pid)
        time.sleep(5.0)  # until all processes have begun
        while any(member.cpu_percent(interval=1.0) > 10.0 for member in family_of(process)):
            pass
        yield address, process
    finally:
        server.terminate()
        server.communicate()


def settle(page: Page) -> None:
    """Wait for the picture in full."""
    shown = """() => document.querySelector("#figure > div")?.data?.length > 0
        && document.querySelector("#sentence").innerText !== ""
        && !document.body.classList.contains("busy")"""
    while not page.evaluate(shown):
        page.wait_for_timeout(50)


def slider_times(page: Page, name: str, moves: int) -> tuple[list[float], list[float]]:
    """Return the seconds until the coarse and until the last picture, for each of the moves."""
    page.evaluate(STOPWATCH)
    page.locator(f'[data-name="{name}"] input[type=range]').focus()
    coarse, refined = [], []
    for _ in range(moves):
        page.keyboard.press("ArrowRight")
        while not page.evaluate("() => window.watch.drawn.length > 0"):
            page.wait_for_timeout(20)
        settle(page)
        since, drawn = page.evaluate("() => [window.watch.since, window.watch.drawn]")
        coarse.append((drawn[0] - since) / 1000)
        refined.append((drawn[-1] - since) / 1000)
    return coarse, refined


def slider_rows(address: str, browser: str) -> Iterator[Row]:
    with sync_playwright() as playwright:
        page = playwright.chromium.launch(executable_path=browser, args=QUIET).new_page()
        for what, query, name, moves, target in MOVES:
            page.goto(f"{address}?{query}")
            settle(page)
            coarse, refined = slider_times(page, name, moves)
            yield at_most(f"{what}: a move shows, median", statistics.median(coarse), target, "s")
            yield reported(f"{what}: a move shows, worst of {moves}", max(coarse), "s")
            yield reported(f"{what}: refined to the end, median", statistics.median(refined), "s")


def reported(what: str, measured: float, unit: str) -> Row:
    """Row for a figure without a target."""
    return Row(what, measured, unit, "no target", True)


class Visitor(threading.Thread):
    """Moves a slider every second, as the page does.

    While a first picture is under way, a move is only noted, and the last one is asked for when it
    arrives; then the picture is refined until the next move aborts it.
    """

    def __init__(self, address: str, number: int, end: float) -> None:
        super().__init__()
        self.waits: list[float] = []
        self.errors: list[str] = []
        self._netloc, self._end = urlsplit(address).netloc, end
        self._view, self._rng = CROWD[number % len(CROWD)], random.Random(number)

    def run(self) -> None:
        """Move until the end."""
        time.sleep(self._rng.uniform(0.0, PACE))
        moved = time.perf_counter()
        while time.monotonic() < self._end:
            values: dict[str, Any] = {"signal": round(self._rng.uniform(1.0, 10.0), 6)}
            # A map whose axis is the signal would be remembered, but for this.
            values["positive_rate"] = round(self._rng.uniform(0.2, 0.8), 6)
            values["loss"] = self._rng.choice(("square", "logistic"))
            link = http.client.HTTPConnection(self._netloc, timeout=120)
            try:
                self._see_first_picture(link, values)
                self.waits.append(time.perf_counter() - moved)
                moved += PACE * max(1, int((time.perf_counter() - moved) / PACE))
                time.sleep(max(0.0, moved - time.perf_counter()))
            except (OSError, ValueError) as error:
                self.errors.append(repr(error))
            finally:
                link.close()

    def _see_first_picture(self, link: http.client.HTTPConnection, values: dict[str, Any]) -> None:
        body, kind = json.dumps({"values": values}), {"Content-Type": "application/json"}
        link.request("POST", f"/api/views/{self._view}", body, kind)
        reply = link.getresponse()
        line: dict[str, Any] = {}
        while "figures" not in line:
            line = json.loads(reply.readline())
            if reply.status != 200 or "error" in line:
                raise ValueError(f"{reply.status} {line}")


def load_rows(address: str, process: psutil.Process) -> Iterator[Row]:
    end = time.monotonic() + DURATION
    visitors = [Visitor(address, number, end) for number in range(CLIENTS)]
    memory = [megabytes(process)]
    for visitor in visitors:
        visitor.start()
    time.sleep(DURATION / 2)
    memory.append(megabytes(process))
    for visitor in visitors:
        visitor.join()
    memory.append(megabytes(process))
    waits = [wait for visitor in visitors for wait in visitor.waits]
    errors = [error for visitor in visitors for error in visitor.errors]
    for error in sorted(set(errors)):
        print(error, file=sys.stderr)
    crowd = f"{CLIENTS} visitors for {DURATION:g} s"
    yield at_most(f"{crowd}: requests that failed", len(errors), 0, "")
    yield reported(f"{crowd}: first pictures per second", len(waits) / DURATION, "/s")
    yield at_most(f"{crowd}: median wait for a picture", statistics.median(waits), 1.0, "s")
    yield at_most(f"{crowd}: 95 % wait less than", statistics.quantiles(waits, n=20)[-1], 3.0, "s")
    yield reported(f"{crowd}: longest wait", max(waits), "s")
    for when, amount in zip(("start", "middle", "end"), memory, strict=True):
        yield reported(f"{crowd}: memory of all processes at the {when}", amount, "MB")
    yield at_most(f"{crowd}: memory at the end over that in the middle", memory[2] / memory[1], 1.1)


def megabytes(process: psutil.Process) -> float:
    """Return the memory of the server and its processes."""
    return float(sum(member.memory_info().rss for member in family_of(process))) / 1e6


def family_of(process: psutil.Process) -> list[psutil.Process]:
    """Return the server and its processes."""
    return [process, *process.children(recursive=True)]


def runs(process: psutil.Process) -> bool:
    """Return whether a process runs; one that has ended may still wait to be counted as such."""
    try:
        return process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def ending_row(address: str, process: psutil.Process) -> Row:
    """Interrupt a busy server."""
    for number in range(4):
        Visitor(address, number, time.monotonic() + 0.5).start()
    time.sleep(0.5)
    family = family_of(process)
    start = time.perf_counter()
    process.send_signal(signal.SIGINT)
    while any(map(runs, family)) and time.perf_counter() - start < 30.0:
        time.sleep(0.01)
    return at_most("an interrupt ends every process", time.perf_counter() - start, 2.0, "s")


def rows() -> Iterator[Row]:
    names = ("chromium", "chromium-browser", "google-chrome")
    browser = next(filter(None, map(shutil.which, names)), None)
    if browser is None:
        sys.exit("no Chromium or Chrome in PATH")
    with served() as (address, process):
        yield from slider_rows(address, browser)
        yield from load_rows(address, process)
        yield ending_row(address, process)


if __name__ == "__main__":
    print_rows("explorer", rows())
