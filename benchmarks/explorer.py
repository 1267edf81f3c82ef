"""The explorer: how soon a moved slider shows, in a browser, and many visitors at once.

``python -m benchmarks.explorer`` needs Chromium or Chrome and takes five minutes. A move is timed
in the page from the slider's input event to the end of Plotly's drawing (``plotly_afterplot``): of
the coarse picture, and of the last refinement.
"""

import http.client
import json
import random
import shutil
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

CLIENTS, DURATION, THINK = 32, 60.0, 0.5
QUIET = ("--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking")
STOPWATCH = """() => {
    const graph = document.querySelector("#figure .js-plotly-plot");
    window.watch = {since: null, drawn: []};
    document.addEventListener("input", () => {
        window.watch = {since: performance.now(), drawn: []};
    }, true);
    graph.on("plotly_afterplot", () => window.watch.drawn.push(performance.now()));
}"""
# What is moved, by how many steps, and how soon the coarse picture should be there, in seconds.
MOVES = (
    ("learning, square loss", "view=learning&loss=square", "signal", 20, 0.15),
    ("learning, logistic loss", "view=learning", "signal", 20, 1.0),
    ("learning, hinge loss", "view=learning&loss=hinge", "signal", 20, 1.0),
    ("alignment", "view=alignment", "signal", 20, 1.0),
    ("capacity", "view=capacity", "alpha0", 20, 1.0),
    ("attention map", "view=attention-map", "signal", 20, 1.0),
    ("phase diagram", "view=phase", "reg", 5, 1.0),
)


@contextmanager
def served() -> Iterator[tuple[str, psutil.Process]]:
    """Serve the explorer; yield its address and process once it has warmed up."""
    command = [sys.executable, "-m", "sparsetoken", "serve", "--no-browser", "--port", "0"]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert server.stdout is not None
    try:
        address = server.stdout.readline().split()[3]
        process = psutil.Process(server.pid)
        while process.cpu_percent(interval=2.0) > 10.0:
            pass
        yield address, process
    finally:
        server.terminate()
        server.communicate()


def settle(page: Page) -> None:
    """Wait for the picture in full."""
    shown = """() => document.querySelector("#figure .js-plotly-plot")?.data?.length > 0
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


def draw_request(rng: random.Random, client: str, sequence: int, step: int) -> str:
    """Return the body of a picture that nobody has asked for yet."""
    view = rng.choice(("learning", "learning", "alignment", "capacity", "attention-map", "phase"))
    values: dict[str, Any] = {"signal": round(rng.uniform(1.0, 10.0), 3)}
    values["loss"] = rng.choice(("square", "logistic"))
    asked = {"client": client, "sequence": sequence, "step": step, "view": view, "values": values}
    shown = ("figure.figure", "sentence.children", "facts.children")
    parts = (*shown, "python.children", "command.children", "answer.data")
    places = [dict(zip(("id", "property"), part.split("."), strict=True)) for part in parts]
    return json.dumps(
        {
            "output": f"..{'...'.join(parts)}..",
            "outputs": places,
            "inputs": [{"id": "request", "property": "data", "value": asked}],
            "changedPropIds": ["request.data"],
        }
    )


def visit(address: str, number: int, end: float, times: list[float], errors: list[str]) -> None:
    """Be one visitor: ask for a coarse picture, for its refinement, think, and again."""
    rng, client = random.Random(number), f"visitor {number:04d}"
    sequence = 0
    while time.monotonic() < end:
        for step in (0, 1):
            sequence += 1
            body = draw_request(rng, client, sequence, step)
            start = time.perf_counter()
            link = http.client.HTTPConnection(urlsplit(address).netloc, timeout=120)
            try:
                kind = {"Content-Type": "application/json"}
                link.request("POST", "/_dash-update-component", body, kind)
                reply = link.getresponse()
                text = reply.read().decode()
                if reply.status != 200:
                    errors.append(f"{reply.status} {text[:100]}")
            except OSError as error:
                errors.append(repr(error))
            finally:
                link.close()
            times.append(time.perf_counter() - start)
        time.sleep(rng.uniform(0.5, 1.5) * THINK)


def load_rows(address: str, process: psutil.Process) -> Iterator[Row]:
    times: list[float] = []
    errors: list[str] = []
    memory = [process.memory_info().rss / 1e6]
    end = time.monotonic() + DURATION
    visitors = [
        threading.Thread(target=visit, args=(address, number, end, times, errors))
        for number in range(CLIENTS)
    ]
    for visitor in visitors:
        visitor.start()
    time.sleep(DURATION / 2)
    memory.append(process.memory_info().rss / 1e6)
    for visitor in visitors:
        visitor.join()
    memory.append(process.memory_info().rss / 1e6)
    for error in sorted(set(errors)):
        print(error, file=sys.stderr)
    crowd = f"{CLIENTS} visitors for {DURATION:g} s"
    yield at_most(f"{crowd}: requests that failed", len(errors), 0, "")
    yield reported(f"{crowd}: pictures per second", len(times) / DURATION, "/s")
    yield reported(f"{crowd}: median wait for a picture", statistics.median(times), "s")
    yield reported(f"{crowd}: 95 % wait less than", statistics.quantiles(times, n=20)[-1], "s")
    yield reported(f"{crowd}: longest wait", max(times), "s")
    for when, megabytes in zip(("start", "middle", "end"), memory, strict=True):
        yield reported(f"{crowd}: memory of the server at the {when}", megabytes, "MB")
    yield at_most(f"{crowd}: memory at the end over that in the middle", memory[2] / memory[1], 1.1)


def rows() -> Iterator[Row]:
    names = ("chromium", "chromium-browser", "google-chrome")
    browser = next(filter(None, map(shutil.which, names)), None)
    if browser is None:
        sys.exit("no Chromium or Chrome in PATH")
    with served() as (address, process):
        yield from slider_rows(address, browser)
        yield from load_rows(address, process)


if __name__ == "__main__":
    print_rows("explorer", rows())
