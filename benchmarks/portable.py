"""The same scores on every processor: fits in processes that compute as other machines would.

``python -m benchmarks.portable --run KIND COMMAND`` runs any command like that kind of machine.
``python -m benchmarks.portable --data FOLDER`` fits every classifier to a dozen data sets, on this
machine as it is and with the BLAS kernels, NumPy loops and numba code of others, and shows the
largest difference of a score in units of the scores' standard deviation. The same data in another
form: ``tests/estimators/test_portable.py``.
"""

import importlib
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import sparsetoken as st
from benchmarks.families import bag_sets
from benchmarks.peers import OURS, Makers
from benchmarks.report import Table, run

BOUND = 1e-3
KINDS: dict[str, dict[str, str]] = {
    "old": {"OPENBLAS_CORETYPE": "Sandybridge", "NUMBA_CPU_NAME": "generic", "loops": "."},
    "common": {"OPENBLAS_CORETYPE": "Haswell", "NUMBA_CPU_NAME": "haswell", "loops": "AVX512|V4"},
    "amd": {"OPENBLAS_CORETYPE": "Zen"},
    "wide": {"OPENBLAS_CORETYPE": "SkylakeX"},
    "one-thread": {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "NUMBA_NUM_THREADS": "1"},
}


class Case(NamedTuple):
    """Data to fit, data to score, and what else the fit takes."""

    X: Any
    y: NDArray[Any]
    new: Any
    fit: Mapping[str, Any] = MappingProxyType({})


def environment(kind: str) -> dict[str, str]:
    """Return the environment of a process that computes like that kind of machine."""
    settings = dict(KINDS[kind])
    loops = settings.pop("loops", None)
    if loops is not None:
        settings["NPY_DISABLE_CPU_FEATURES"] = " ".join(_loops(loops))
    cache = Path(tempfile.gettempdir(), f"sparsetoken-numba-{kind}")
    return {**os.environ, **settings, "NUMBA_CACHE_DIR": str(cache)}


def _loops(pattern: str) -> list[str]:
    """Return the processor features that NumPy has loops for here, of names that match."""
    package = "numpy._core" if hasattr(np, "_core") else "numpy.core"  # before NumPy 2
    core: Any = importlib.import_module(f"{package}._multiarray_umath")
    has = core.__cpu_features__
    return [name for name in core.__cpu_dispatch__ if has.get(name) and re.search(pattern, name)]


def synthetic(n: int, n_tokens: int, dim: int, signal: float, seed: int) -> Case:
    X, y = st.SparseTokenProblem(n_tokens, signal=signal).sample(2 * n, dim, random_state=seed)
    return Case(X[:n], y[:n], X[n:])


def halved(X: st.Sequences, y: NDArray[Any]) -> Case:
    order = np.random.default_rng(0).permutation(len(y))
    first, second = np.sort(order[::2]), np.sort(order[1::2])
    return Case(X[first], y[first], X[second])


def cases(data: Path | None, quick: bool) -> Iterator[tuple[str, Case]]:
    """Yield data of many kinds by name."""
    first = synthetic(100, 20, 30, 4.0, 1)
    yield "20 tokens x 30", first
    three = synthetic(150, 6, 12, 4.0, 4)
    yield "three classes", three._replace(y=np.where(np.arange(150) % 3 == 0, 2, three.y))
    if quick:
        return
    import dask.array

    yield "5 tokens x 8", synthetic(100, 5, 8, 4.0, 2)
    yield "50 tokens x 64", synthetic(120, 50, 64, 6.0, 3)
    plain = synthetic(120, 8, 16, 4.0, 5)
    yield "groups", plain._replace(fit={"groups": np.arange(120) // 3})
    weights = np.random.default_rng(0).random(120)
    yield "sample weights", plain._replace(fit={"sample_weight": weights})
    single = synthetic(120, 10, 20, 4.0, 6)
    yield "float32", single._replace(X=single.X.astype(np.float32))
    for name, bags in bag_sets(data, ["needle", "tiger", "fox", "musk1"]).items():
        yield name, halved(*bags)
    with tempfile.TemporaryDirectory() as folder:
        st.Sequences.from_list(list(first.X)).save(Path(folder, "s"))
        yield "folder", first._replace(X=st.Sequences.open(Path(folder, "s")))
    yield "Dask", first._replace(X=dask.array.from_array(first.X, chunks=(40, -1, -1)))


CLASSIFIERS: Makers = {
    **OURS,
    "two-step": lambda: st.TwoStepAttentionClassifier(random_state=0),
    "pooled": st.PooledClassifier,
    "vectorized": st.VectorizedClassifier,
}


def scores(name: str, case: Case) -> NDArray[Any] | None:
    """Return the scores of a classifier, None if it does not take such data."""
    if name not in OURS and ("groups" in case.fit or len(np.unique(case.y)) > 2):
        return None
    if name == "vectorized" and not isinstance(case.X, np.ndarray):
        return None
    fitted = CLASSIFIERS[name]().fit(case.X, case.y, **case.fit)
    return np.asarray(fitted.decision_function(case.new))


def measure(kind: str | None, folder: Path | None, quick: bool) -> dict[str, NDArray[Any]]:
    """Return all scores, from a process that computes like a kind of machine."""
    with tempfile.TemporaryDirectory() as temporary:
        out = Path(temporary, "scores.npz")
        command = [sys.executable, "-W", "ignore", "-m", "benchmarks.portable", "--out", str(out)]
        command += ["--quick"] if quick else []
        command += ["--data", str(folder)] if folder else []
        run_in = None if kind is None else environment(kind)
        subprocess.run(command, env=run_in, check=True, cwd=Path(__file__).parents[1])
        with np.load(out) as stored:
            return dict(stored)


def difference(first: NDArray[Any], second: NDArray[Any]) -> tuple[float, int]:
    """Return the largest difference in standard deviations, and predictions that flip.

    A flip counts if the score is further than the bound from the threshold.
    """
    spread = float(first.std())
    apart = float(np.abs(first - second).max()) / spread
    if first.ndim == 2:
        return apart, int((first.argmax(axis=1) != second.argmax(axis=1)).sum())
    flips = ((first > 0) != (second > 0)) & (np.abs(first) > BOUND * spread)
    return apart, int(flips.sum())


def main(
    *, data: Path | None = None, kinds: str = ",".join(KINDS), quick: bool = False,
    out: Path | None = None,
) -> None:  # fmt: skip
    folder = None if data is None else data.resolve()
    if out is not None:
        results: dict[str, Any] = {
            f"{label} | {name}": score
            for label, case in cases(folder, quick)
            for name in CLASSIFIERS
            if (score := scores(name, case)) is not None
        }
        np.savez(out, **results)
        return
    names, here = kinds.split(","), measure(None, folder, quick)
    there = [measure(kind, folder, quick) for kind in names]
    print("largest difference / standard deviation (flips)")
    table, worst = Table("data, classifier:40", *(f"{kind}:14s" for kind in names)), 0.0
    for name, score in here.items():
        pairs = [difference(score, other[name]) for other in there]
        worst = max(worst, *(apart for apart, _ in pairs))
        table.add(name, *(f"{apart:.1e} ({flips})" for apart, flips in pairs))
    print(f"worst {worst:.1e}, bound {BOUND:g}")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--run"]:
        kind, *command = sys.argv[2:]
        raise SystemExit(subprocess.run(command, env=environment(kind), check=False).returncode)
    run(main)
