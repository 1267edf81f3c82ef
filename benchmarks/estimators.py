"""The estimators: how soon they start, what large data cost, and against scikit-learn."""

import importlib.util
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.svm import SVC

from benchmarks.families import needle_digits
from benchmarks.peers import OURS, torch_peer
from benchmarks.report import Row, at_least, at_most, cpu_seconds, peak_bytes, ratio, seconds
from sparsetoken.estimators.readout import fit_readout
from sparsetoken.losses import Hinge, Logistic

FIT = """
import sparsetoken as st
X, y = st.SparseTokenProblem(10, signal=6.0).sample(100, 10, random_state=0)
st.SparseTokenClassifier(random_state=0).fit(X, y)
"""


def rows() -> Iterator[Row]:
    yield from _starting()
    X, y = needle_digits()
    few, labels = X[np.arange(300) % 10 > 0], y[np.arange(300) % 10 > 0]
    for name, bound in (("attention", 0.4), ("sparsetoken", 1.5)):
        fit = partial(OURS[name]().fit, few, labels)
        took = cpu_seconds(fit)
        yield at_most(f"{name}, default fit on 270 bags of needle digits", took, bound, "s")
        yield at_most(f"{name}, the same: passes", fit().n_passes_, 200, "")
        if name == "attention" and importlib.util.find_spec("torchmil"):
            peer = cpu_seconds(partial(torch_peer("EmbeddedABMIL").fit, few, labels), 1)
            yield at_least("torchmil's ABMIL, 50 epochs: time / attention's", peer / took, 12.0)
    yield from _large(100_000, 20, 32, 30.0, 0.3)
    yield from _large(500, 50, 2048, 12.0, 1.0)
    yield from _large(2000, 100, 4096, 600.0, 0.5)
    for n, p in ((2000, 200), (200, 5000)):
        solver = "newton-cholesky" if n > p else "lbfgs"  # the faster of the two
        for reg in (1e-2, 1e-6):
            how: dict[str, Any] = {"solver": solver, "tol": 1e-8, "max_iter": 10_000}
            yield _readout(n, p, reg, Logistic(), LogisticRegression(C=1 / (n * reg), **how))
        yield _readout(n, p, 1e-2, Hinge(), SVC(kernel="linear", C=1 / (n * 1e-2), tol=1e-6))


def _starting() -> Iterator[Row]:
    """Measure what a user waits for before the first line of work."""

    def start(code: str, **environment: str) -> None:
        env = os.environ | environment
        subprocess.run([sys.executable, "-c", code], env=env, check=True)

    bare = seconds(partial(start, "pass"), repeats=5)
    for what, code, bound in (
        ("import sparsetoken", "import sparsetoken", 1.0),
        ("import and a first fit, kernels cached", FIT, 10.0),
    ):
        yield at_most(what, seconds(partial(start, code), repeats=5) - bare, bound, "s")
    with tempfile.TemporaryDirectory() as empty:
        compiling = seconds(partial(start, FIT, NUMBA_CACHE_DIR=empty), repeats=1, warm=False)
    yield at_most("the same, kernels to be compiled", compiling - bare, 40.0, "s")


def _large(n: int, length: int, dim: int, time: float, memory: float) -> Iterator[Row]:
    """Many tokens, or tokens as wide as those of language models; one of each positive shifted."""
    rng = np.random.default_rng(0)
    y = np.arange(n + 400) % 2
    X, unseen = (rng.standard_normal((k, length, dim), dtype=np.float32) for k in (n, 400))
    shift = 7.0 * rng.standard_normal(dim, dtype=np.float32) / np.sqrt(dim, dtype=np.float32)
    X[y[:n] == 1, 0] += shift
    unseen[y[n:] == 1, 0] += shift
    for name in ("attention", "sparsetoken"):
        clf = OURS[name]()
        fit, what = partial(clf.fit, X, y[:n]), f"{name}, {n} × {length} × {dim} in float32"
        yield at_most(what, cpu_seconds(fit, 1, False), time, "s")
        yield at_most(f"{what}: memory beyond the data / data", peak_bytes(fit) / X.nbytes, memory)
        auc = float(roc_auc_score(y[n:], clf.decision_function(unseen)))
        yield at_least(f"{what}: AUC of new sequences", auc, 0.998, "")


def _readout(n: int, p: int, reg: float, loss: Any, other: Any) -> Row:
    rng = np.random.default_rng(0)
    features = rng.standard_normal((n, p))
    sign = np.where(features[:, 0] + rng.standard_normal(n) > 0, 1.0, -1.0)
    cost = ratio(
        lambda: fit_readout(features, sign, reg, loss), lambda: other.fit(features, sign), repeats=3
    )
    what = f"readout, {type(loss).__name__.lower()} {n}×{p}, λ={reg:g}"
    return Row(f"{what}: time / {type(other).__name__}", cost, "×")
