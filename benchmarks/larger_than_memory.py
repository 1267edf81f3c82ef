"""Fits to a folder larger than the memory that may be used.

``python -m benchmarks.larger_than_memory`` takes half an hour and 2.6 GB of disk; sizes in tokens
may be given: ``python -m benchmarks.larger_than_memory 1e5 1e6``. Each fit is a process of its own,
so that its largest resident memory is known: that of the process itself, without the pages of the
file that are mapped, which the system drops when it needs the memory.
"""

import contextlib
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import psutil

from benchmarks.report import Row, at_most, cpu_seconds, print_rows, run
from sparsetoken import AttentionClassifier, Sequences
from sparsetoken.sequences.data import MemoryData

LENGTH, DIM, HEADS = 20, 32, 4
SIZES = (1e5, 1e6, 5e6, 2e7)
_CHUNK = 2**22 // DIM  # tokens, as a pass over a folder reads them


def rows(sizes: tuple[float, ...] = SIZES) -> Iterator[Row]:
    for size in sizes:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "sequences")
            _write(path, int(size))
            took = _fit_in_a_process(path)
            by_hand = took["read"] * cpu_seconds(partial(_pass_by_hand, path), 1, False)
        name = f"{size:g} tokens"
        yield Row(f"{name}: passes, {took['read']} over all tokens", took["passes"])
        yield at_most(f"{name}: fit", took["seconds"], 600.0, "s")
        yield Row(f"{name}: fit, CPU", took["cpu"], "s")
        yield at_most(f"{name}: largest resident memory", took["resident"] / 1e9, 1.0, "GB")
        if by_hand:
            yield at_most(f"{name}: fit / its passes by hand, CPU", took["cpu"] / by_hand, 1.5)


def _fit_in_a_process(folder: Path) -> dict[str, float]:
    """Return what a fit took, and its largest memory that is no map of a file."""
    command = [sys.executable, "-m", "benchmarks.larger_than_memory", "fit", str(folder)]
    process, resident = psutil.Popen(command, stdout=subprocess.PIPE), 0
    while process.poll() is None:
        with contextlib.suppress(psutil.Error):  # it has just ended
            memory = process.memory_info()
            resident = max(resident, memory.rss - memory.shared)
        time.sleep(0.1)
    return {**json.loads(process.stdout.read()), "resident": resident}


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


def fit(folder: str) -> None:
    """Fit in this process, which does nothing else before, and print what it took."""
    read, run_once = [0], MemoryData.run

    def counted(self: Any, *arguments: Any) -> Any:
        read[0] += len(self.sequences.tokens) == len(X.tokens)
        return run_once(self, *arguments)

    MemoryData.run = counted  # type: ignore[method-assign, assignment]
    X = Sequences.open(folder)
    labels = np.asarray(X.labels)
    start, cpu = time.perf_counter(), time.process_time()
    clf = AttentionClassifier(random_state=0).fit(X, labels)
    took = {"seconds": time.perf_counter() - start, "cpu": time.process_time() - cpu}
    print(json.dumps(took | {"passes": clf.n_passes_, "read": read[0]}))


def _pass_by_hand(folder: Path) -> Any:
    """Return one gradient of four heads, as one would write it in NumPy."""
    labels = np.asarray(Sequences.open(folder).labels)
    directions = np.random.default_rng(0).standard_normal((DIM, HEADS))
    mean, scale = np.zeros(DIM, np.float32), np.ones(DIM, np.float32)
    gradients, each = np.zeros((DIM, HEADS)), _CHUNK // LENGTH
    with Path(folder, "tokens.npy").open("rb") as file:
        np.lib.format.read_magic(file)
        np.lib.format.read_array_header_1_0(file)
        for low in range(0, len(labels), each):
            sign = 2.0 * labels[low : low + each, None] - 1.0
            tokens = np.fromfile(file, np.float32, len(sign) * LENGTH * DIM).reshape(-1, DIM)
            tokens = (tokens - mean) * scale
            scores = (tokens @ directions).reshape(-1, LENGTH, HEADS)
            largest = scores.max(axis=1, keepdims=True)
            attention = np.exp(scores - largest)
            total = attention.sum(axis=1, keepdims=True)
            output = (largest + np.log(total / LENGTH))[:, 0]
            slope = -sign / (1.0 + np.exp(sign * output)) / len(labels)
            weight = attention / total * slope[:, None]
            gradients += tokens.T @ weight.reshape(-1, HEADS)
    return gradients


def main(*sizes: float) -> None:
    print_rows("larger than memory", rows(sizes or SIZES))


if __name__ == "__main__":
    run(main, fit=fit)
