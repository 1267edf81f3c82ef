"""What all benchmarks share: command line, timing, memory, tables, and results that are kept."""

import argparse
import inspect
import json
import re
import statistics
import sys
import time
import timeit
import tracemalloc
import types
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple, get_args, get_origin


def run(command: Callable[..., Any], **others: Callable[..., Any]) -> None:
    """Call ``command``, or that of ``others`` named first, with what the command line says.

    Parameters are positional, keyword-only ones options; annotations say of which type.
    """
    words = sys.argv[1:]
    if words and words[0] in others:
        command = others[words.pop(0)]
    about, how = sys.modules[command.__module__].__doc__, argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=about, formatter_class=how)
    rest = None
    for name, one in inspect.signature(command).parameters.items():
        kind, several = one.annotation, one.kind is one.VAR_POSITIONAL
        if several:
            rest = name
        for wrapper in (types.UnionType, list):  # X | None, list[X]
            if get_origin(kind) is wrapper:
                kind, several = get_args(kind)[0], several or wrapper is list
        default = () if one.default is one.empty else one.default
        if one.kind is one.KEYWORD_ONLY:
            name = f"--{name.replace('_', '-')}"
        if kind is bool:
            parser.add_argument(name, action="store_true")
            continue
        optional = one.kind is not one.KEYWORD_ONLY and one.default is not one.empty
        nargs: Any = "*" if several else "?" if optional else None
        parser.add_argument(name, type=kind, nargs=nargs, default=default)
    values = vars(parser.parse_args(words))
    command(*(values.pop(rest) if rest else ()), **values)


class Row(NamedTuple):
    """One measured figure and what it should be."""

    what: str
    measured: float
    unit: str = ""
    target: str = "no target"
    met: bool = True


def at_most(what: str, measured: float, bound: float, unit: str = "×") -> Row:
    """Row for a figure that must not exceed ``bound``."""
    return Row(what, measured, unit, f"≤ {bound:g}", measured <= bound)


def at_least(what: str, measured: float, bound: float, unit: str = "×") -> Row:
    """Row for a figure that must reach ``bound``."""
    return Row(what, measured, unit, f"≥ {bound:g}", measured >= bound)


def seconds(
    call: Callable[[], Any], repeats: int = 9, warm: bool = True, clock: Any = time.perf_counter
) -> float:
    """Median wall-clock time of ``call``, after one run to warm up unless told otherwise."""
    if warm:
        call()
    return statistics.median(timeit.repeat(call, timer=clock, repeat=repeats, number=1))


def cpu_seconds(call: Callable[[], Any], repeats: int = 5, warm: bool = True) -> float:
    """Median processor time of ``call``: what a bound on one core means on a busy machine."""
    return seconds(call, repeats, warm, time.process_time)


def ratio(call: Callable[[], Any], baseline: Callable[[], Any], repeats: int = 9) -> float:
    """Median of time(call)/time(baseline) over interleaved pairs, so that both see one machine."""
    call(), baseline()
    pairs = ([timeit.timeit(one, number=1) for one in (call, baseline)] for _ in range(repeats))
    return statistics.median(ours / other for ours, other in pairs)


def peak_bytes(call: Callable[[], Any]) -> int:
    """Most memory allocated at once by Python and NumPy during ``call``."""
    tracemalloc.start()
    try:
        call()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def print_rows(topic: str, rows: Iterable[Row]) -> None:
    print(f"{topic}\n{'-' * len(topic)}")
    for row in rows:
        figure = f"{row.measured:>10.3g} {row.unit:<3} ({row.target})"
        print(f"{'ok  ' if row.met else 'MISS'} {row.what:<72} {figure}", flush=True)
    print()


class Table:
    """A table that is printed row by row, as it is measured.

    Columns are written ``name:format``, such as ``set:14`` or ``error:9.3f``. A text in a column of
    numbers, such as a mean with its error, keeps the column's width.
    """

    def __init__(self, *columns: str) -> None:
        self._formats, self._widths, names = [], [], []
        for column in columns:
            name, _, how = column.rpartition(":")
            names.append(name)
            self._formats.append(how)
            self._widths.append(max(len(name), int(re.findall(r"\d+", how)[0])))
        self.add(*names)

    def add(self, *values: Any) -> None:
        """Print a row; texts of the first columns are aligned to the left."""
        cells = []
        for value, how, width in zip(values, self._formats, self._widths, strict=True):
            if how.isdecimal():
                cells.append(str(value).ljust(width))
            else:
                cells.append((value if isinstance(value, str) else format(value, how)).rjust(width))
        print(" ".join(cells).rstrip(), flush=True)


class Kept:
    """Results by name, kept in a file of one line each, so that a run that was stopped goes on."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        lines = path.read_text().splitlines() if path is not None and path.exists() else []
        self.results: dict[str, Any] = dict(map(json.loads, lines))

    def get(self, name: str, compute: Callable[[], Any]) -> Any:
        """Return the result of that name, computed if there is none yet."""
        if name not in self.results:
            self.results[name] = compute()
            if self._path is not None:
                with self._path.open("a") as file:
                    file.write(json.dumps([name, self.results[name]]) + "\n")
        return self.results[name]


def mean_and_error(values: Any, independent: int | None = None) -> tuple[float, float]:
    """Return the mean and its standard error, of so many independent values if not of all."""
    each = [float(value) for value in values]
    if len(each) < 2:
        return each[0], float("nan")
    return statistics.fmean(each), statistics.stdev(each) / (independent or len(each)) ** 0.5


def plus_minus(values: Any, independent: int | None = None, form: str = ".3f") -> str:
    """Return mean and standard error as a cell of a table."""
    mean, error = mean_and_error(values, independent)
    return f"{mean:{form}} ± {error:{form.lstrip('+')}}"
