"""Fits to a folder larger than the memory that may be used.

``python -m benchmarks.larger_than_memory`` takes half an hour and 2.6 GB of disk; sizes in tokens
may be given: ``python -m benchmarks.larger_than_memory 1e5 1e6``. Each fit is a process of its own,
so that its largest resident memory is known: that of the process itself, without the pages of the
file that are mapped, which the system drops when it needs the memory.
"""

import json
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import psutil

from benchmarks.report import Row, at_most, print_rows
from sparsetoken import AttentionClassifier, Sequences
from sparsetoken.estimators.head_passes import TaskHeads, evidence_gradients
from sparsetoken.sequences.data import MemoryData

LENGTH, DIM, HEADS = 20, 32, 4
SIZES = (1e5, 1e6, 5e6, 2e7)
_CHUNK = 2**22 // DIM  # tokens, as a pass over a folder reads them


def rows(sizes: tuple[float, ...] = SIZES) -> Iterator[Row]:
    cost: dict[float, float] = {}
    for size in sizes:
        with tempfile.TemporaryDirectory() as folder:
            _write(Path(folder, "sequences"), int(size))
            found = _in_process(Path(folder, "sequences"))
        name = f"{size:g} tokens"
        where = f"{found['read']} over all tokens"
        yield Row(f"{name}: passes, {where}", found["passes"], "", "", True)
        yield at_most(f"{name}: fit", found["seconds"], 600.0, "s")
        yield Row(f"{name}: fit, CPU", found["cpu"], "s", "", True)
        yield at_most(f"{name}: largest resident memory", found["resident"] / 1e9, 1.0, "GB")
        if found["read"]:
            by_hand = found["cpu_of_a_pass_by_hand"] * found["read"]
            yield at_most(f"{name}: fit / its passes by hand, CPU", found["cpu"] / by_hand, 1.5)
        cost[size] = found["cpu_of_a_pass"] / size * 1e9
        yield Row(f"{name}: CPU of a pass from the folder, by token", cost[size], "ns", "", True)
    if len(cost) > 1:
        growth = cost[max(cost)] / cost[min(cost)]
        yield at_most("a pass, CPU by token: largest / smallest folder", growth, 1.2)


def _write(folder: Path, n_tokens: int) -> None:
    """Write sequences in which one token of a positive is shifted."""
    rng, left = np.random.default_rng(0), n_tokens // LENGTH
    with Sequences.writer(folder) as out:
        while left:
            count = min(left, 20_000)
            X = rng.standard_normal((count, LENGTH, DIM), dtype=np.float32)
            y = rng.integers(0, 2, count)
            X[np.arange(count), rng.integers(0, LENGTH, count), 0] += 3.0 * y
            out.add(X, y)
            left -= count


def _in_process(folder: Path) -> dict[str, float]:
    command = [sys.executable, "-m", "benchmarks.larger_than_memory", "--fit", str(folder)]
    found: dict[str, float] = json.loads(subprocess.check_output(command))
    return found


def _fit(folder: str) -> dict[str, float]:
    """Fit in this process, which does nothing else before, and return what it took."""
    read, run = [0], MemoryData.run

    def counted(self: Any, *arguments: Any) -> Any:
        read[0] += len(self.sequences.tokens) == len(X.tokens)
        return run(self, *arguments)

    MemoryData.run = counted  # type: ignore[method-assign, assignment]
    X = Sequences.open(folder)
    labels = np.asarray(X.labels)
    watch = _Watch()
    start, cpu = time.perf_counter(), time.process_time()
    clf = AttentionClassifier(random_state=0).fit(X, labels)
    taken = time.perf_counter() - start, time.process_time() - cpu
    resident = watch.stop()
    by_hand = _cpu(lambda: _pass_by_hand(Path(folder, "tokens.npy"), labels))
    return {
        "passes": clf.n_passes_,
        "read": read[0],
        "seconds": taken[0],
        "cpu": taken[1],
        "resident": resident,
        "cpu_of_a_pass": _cpu(lambda: _pass(MemoryData(X), labels)),
        "cpu_of_a_pass_by_hand": by_hand,
        "accuracy": clf.score(X[:5000], labels[:5000]),
    }


class _Watch(threading.Thread):
    """Look ten times a second at the memory of this process that is no map of a file."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.largest, self._end = 0, threading.Event()
        self.start()

    def run(self) -> None:
        while not self._end.wait(0.1):
            memory = psutil.Process().memory_info()
            self.largest = max(self.largest, memory.rss - memory.shared)

    def stop(self) -> int:
        """Return the most that was resident, in bytes."""
        self._end.set()
        self.join()
        return self.largest


def _cpu(call: Callable[[], Any]) -> float:
    start = time.process_time()
    call()
    return time.process_time() - start


def _pass(data: MemoryData, labels: Any) -> Any:
    """Return one gradient of four heads."""
    directions = np.random.default_rng(0).standard_normal((DIM, HEADS))
    signs, shares = 2.0 * labels[:, None] - 1.0, np.full((len(labels), 1), 1.0 / len(labels))
    which = np.zeros(HEADS, dtype=int)
    heads = TaskHeads(np.ones(HEADS), np.zeros(HEADS), which, which)
    return data.total(evidence_gradients, (signs, shares), directions, heads)


def _pass_by_hand(path: Path, labels: Any) -> Any:
    """Return the same, as one would write it in NumPy."""
    directions = np.random.default_rng(0).standard_normal((DIM, HEADS))
    mean, scale = np.zeros(DIM, np.float32), np.ones(DIM, np.float32)
    gradients = np.zeros((DIM, HEADS))
    signs, done, each = 2.0 * labels - 1.0, 0, _CHUNK // LENGTH
    with path.open("rb") as file:
        np.lib.format.read_magic(file)
        np.lib.format.read_array_header_1_0(file)
        while done < len(labels):
            count = min(each, len(labels) - done)
            tokens = np.fromfile(file, np.float32, count * LENGTH * DIM).reshape(-1, DIM)
            tokens = (tokens - mean) * scale
            scores = (tokens @ directions).reshape(count, LENGTH, HEADS)
            largest = scores.max(axis=1, keepdims=True)
            attention = np.exp(scores - largest)
            total = attention.sum(axis=1, keepdims=True)
            sign = signs[done : done + count, None]
            output = (largest + np.log(total / LENGTH))[:, 0]
            slope = -sign / (1.0 + np.exp(sign * output)) / len(labels)
            weight = attention / total * slope[:, None]
            gradients += tokens.T @ weight.reshape(-1, HEADS)
            done += count
    return gradients


if __name__ == "__main__":
    if sys.argv[1:2] == ["--fit"]:
        print(json.dumps(_fit(sys.argv[2])))
    else:
        given = tuple(float(size) for size in sys.argv[1:])
        print_rows("larger than memory", rows(given or SIZES))
