"""The estimators against the size of their data, and against scikit-learn."""

import importlib.util
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.svm import SVC

import sparsetoken as st
from benchmarks.families import needle_digits
from benchmarks.peers import OURS, torch_peer
from benchmarks.report import Row, at_least, at_most, cpu_seconds, peak_bytes, ratio
from sparsetoken.estimators.readout import fit_readout
from sparsetoken.losses import Hinge, Logistic


def rows() -> Iterator[Row]:
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
    yield _stream(few, labels)
    yield from _large(100_000, 20, 32, 30.0, 0.3)
    yield from _large(500, 50, 2048, 12.0, 1.0)
    yield from _large(2000, 100, 4096, 600.0, 0.5)
    yield from _scaling(X, y)
    for n, p in ((2000, 200), (200, 5000)):
        solver = "newton-cholesky" if n > p else "lbfgs"  # the faster of the two
        for reg in (1e-2, 1e-6):
            how: dict[str, Any] = {"solver": solver, "tol": 1e-8, "max_iter": 10_000}
            yield _readout(n, p, reg, Logistic(), LogisticRegression(C=1 / (n * reg), **how))
        yield _readout(n, p, 1e-2, Hinge(), SVC(kernel="linear", C=1 / (n * 1e-2), tol=1e-6))


def _stream(X: st.Sequences, y: Any) -> Row:
    """Compare a token after thousands of others with the first ones of a sequence."""
    clf = OURS["sparsetoken"]().fit(X, y)
    old, tokens = clf.stream(), X.tokens[:200]

    def feed(stream: Any, tokens: Any = tokens) -> None:
        for token in tokens:
            stream.update(token)

    feed(old, X.tokens)
    cost = ratio(lambda: feed(old), lambda: feed(clf.stream()))
    return at_most(f"stream, a token after {len(X.tokens)} / the first ones", cost, 1.2)


def _large(n: int, length: int, dim: int, seconds: float, memory: float) -> Iterator[Row]:
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
        yield at_most(what, cpu_seconds(fit, 1, False), seconds, "s")
        yield at_most(f"{what}: memory beyond the data / data", peak_bytes(fit) / X.nbytes, memory)
        auc = float(roc_auc_score(y[n:], clf.decision_function(unseen)))
        yield at_least(f"{what}: AUC of new sequences", auc, 0.998, "")


def _scaling(X: st.Sequences, y: Any) -> Iterator[Row]:
    more = X[np.tile(np.arange(len(X)), 4)]

    def fit(data: st.Sequences, labels: Any) -> Any:
        return st.AttentionClassifier(random_state=0, cv=2, refine_steps=20).fit(data, labels)

    growth = ratio(lambda: fit(more, np.tile(y, 4)), lambda: fit(X, y), repeats=3)
    yield at_most("attention, 4 × the tokens: time / time", growth, 5.0)
    offsets = np.append(0, np.cumsum(np.random.default_rng(0).geometric(0.02, 400)))
    tokens = np.random.default_rng(1).standard_normal((offsets[-1], 32))
    ragged = st.Sequences(tokens, offsets)
    even = st.Sequences(tokens, np.linspace(0, offsets[-1], 401).astype(int))
    two_step, labels = st.TwoStepAttentionClassifier(random_state=0), np.arange(400) % 2
    cost = ratio(lambda: two_step.fit(ragged, labels), lambda: two_step.fit(even, labels))
    yield at_most("two-step, ragged lengths / even lengths, same number of tokens", cost, 1.3)


def _readout(n: int, p: int, reg: float, loss: Any, other: Any) -> Row:
    rng = np.random.default_rng(0)
    features = rng.standard_normal((n, p))
    sign = np.where(features[:, 0] + rng.standard_normal(n) > 0, 1.0, -1.0)
    cost = ratio(
        lambda: fit_readout(features, sign, reg, loss), lambda: other.fit(features, sign), repeats=3
    )
    what = f"readout, {type(loss).__name__.lower()} {n}×{p}, λ={reg:g}"
    return Row(f"{what}: time / {type(other).__name__}", cost, "×")
