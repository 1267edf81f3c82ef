"""Timing, peak memory, and one table format for all benchmarks."""

import statistics
import time
import tracemalloc
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple


class Row(NamedTuple):
    """One measured figure and what it should be."""

    what: str
    measured: float
    unit: str
    target: str
    met: bool


def at_most(what: str, measured: float, bound: float, unit: str = "×") -> Row:
    """Row for a figure that must not exceed ``bound``."""
    return Row(what, measured, unit, f"≤ {bound:g}", measured <= bound)


def at_least(what: str, measured: float, bound: float, unit: str = "×") -> Row:
    """Row for a figure that must reach ``bound``."""
    return Row(what, measured, unit, f"≥ {bound:g}", measured >= bound)


def seconds(call: Callable[[], Any], repeats: int = 9, warm: bool = True) -> float:
    """Median wall-clock time of ``call``, after one run to warm up unless told otherwise."""
    if warm:
        call()
    return statistics.median(_once(call) for _ in range(repeats))


def cpu_seconds(call: Callable[[], Any], repeats: int = 5, warm: bool = True) -> float:
    """Median processor time of ``call``: what a bound on one core means on a busy machine."""
    if warm:
        call()
    return statistics.median(_once(call, time.process_time) for _ in range(repeats))


def ratio(call: Callable[[], Any], baseline: Callable[[], Any], repeats: int = 9) -> float:
    """Median of time(call)/time(baseline) over interleaved pairs, so that both see one machine."""
    call(), baseline()
    return statistics.median(_once(call) / _once(baseline) for _ in range(repeats))


def peak_bytes(call: Callable[[], Any]) -> int:
    """Most memory allocated at once by Python and NumPy during ``call``."""
    tracemalloc.start()
    try:
        call()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def print_rows(topic: str, rows: Iterable[Row]) -> None:
    """Print the rows as they are measured."""
    print(f"{topic}\n{'-' * len(topic)}")
    for row in rows:
        verdict = "ok  " if row.met else "MISS"
        print(
            f"{verdict} {row.what:<72} {row.measured:>10.3g} {row.unit:<3} ({row.target})",
            flush=True,
        )
    print()


def _once(call: Callable[[], Any], clock: Callable[[], float] = time.perf_counter) -> float:
    start = clock()
    call()
    return clock() - start
