"""The estimators against the cost of reading their data, and against scikit-learn."""

import importlib.util
import time
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.svm import SVC

import sparsetoken as st
from benchmarks.families import needle_digits
from benchmarks.peers import torch_peer
from benchmarks.report import Row, at_least, at_most, cpu_seconds, peak_bytes, ratio
from sparsetoken.estimators.readout import fit_readout
from sparsetoken.losses import Hinge, Logistic


def rows() -> Iterator[Row]:
    X, y = needle_digits()

    few, labels = X[np.arange(300) % 10 > 0], y[np.arange(300) % 10 > 0]
    for model, bound in ((st.AttentionClassifier, 0.4), (st.SparseTokenClassifier, 1.5)):
        fit = partial(model(random_state=0).fit, few, labels)
        name = f"{model.__name__}, default fit on 270 bags of needle digits"
        took = cpu_seconds(fit)
        yield at_most(name, took, bound, "s")
        yield at_most(f"{name}: passes", fit().n_passes_, 200, "")
        if model is st.AttentionClassifier and importlib.util.find_spec("torchmil"):
            peer = cpu_seconds(partial(torch_peer("EmbeddedABMIL").fit, few, labels), 1)
            yield at_least("torchmil's ABMIL, 50 epochs: time / attention's", peer / took, 12.0)
    yield _stream(few, labels)
    yield from _large()
    yield from _wide(500, 50, 2048, 12.0)
    yield from _wide(2000, 100, 4096, 600.0)
    yield from _scaling(X, y)
    yield from _memory()
    for n, p in ((2000, 200), (200, 5000)):
        solver = "newton-cholesky" if n > p else "lbfgs"  # the faster of the two
        for reg in (1e-2, 1e-6):
            how: dict[str, Any] = {"solver": solver, "tol": 1e-8, "max_iter": 10_000}
            other = LogisticRegression(C=1 / (n * reg), **how)
            yield _readout(n, p, reg, Logistic(), other)
        yield _readout(n, p, 1e-2, Hinge(), SVC(kernel="linear", C=1 / (n * 1e-2), tol=1e-6))


def _scaling(X: st.Sequences, y: Any) -> Iterator[Row]:
    more = X[np.tile(np.arange(len(X)), 4)]

    def fit(data: st.Sequences, labels: Any) -> Any:
        return st.AttentionClassifier(random_state=0, cv=2, refine_steps=20).fit(data, labels)

    growth = ratio(lambda: fit(more, np.tile(y, 4)), lambda: fit(X, y), repeats=3)
    yield at_most("attention, 4 × the tokens: time / time", growth, 5.0)
    lengths = np.random.default_rng(0).geometric(0.02, 400)
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    tokens = np.random.default_rng(1).standard_normal((offsets[-1], 32))
    labels = np.arange(400) % 2
    ragged = st.Sequences(tokens, offsets)
    even = st.Sequences(tokens, np.linspace(0, offsets[-1], 401).astype(int))
    two_step = st.TwoStepAttentionClassifier(random_state=0)
    cost = ratio(lambda: two_step.fit(ragged, labels), lambda: two_step.fit(even, labels))
    yield at_most("two-step, ragged lengths / even lengths, same number of tokens", cost, 1.3)


def _stream(X: st.Sequences, y: Any) -> Row:
    """Compare a token after thousands of others with the first ones of a sequence."""
    clf = st.SparseTokenClassifier(random_state=0).fit(X, y)
    old, tokens = clf.stream(), X.tokens[:200]
    for token in X.tokens:
        old.update(token)

    def feed(stream: Any) -> None:
        for token in tokens:
            stream.update(token)

    cost = ratio(lambda: feed(old), lambda: feed(clf.stream()))
    return at_most(f"stream, a token after {len(X.tokens)} / the first ones", cost, 1.2)


def _large() -> Iterator[Row]:
    """Two million tokens of 32 features in memory."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((100_000, 20, 32), dtype=np.float32)
    y = np.arange(100_000) % 2
    X[y == 1, 0, 0] += 3.0
    fit = partial(st.AttentionClassifier(random_state=0).fit, X, y)
    yield at_most(
        "attention, 2 million tokens × 32 in float32", cpu_seconds(fit, 1, False), 30.0, "s"
    )
    peak = peak_bytes(fit) / X.nbytes
    yield at_most("attention, 2 million tokens: memory beyond the data / data", peak, 0.3)


def _wide(n: int, length: int, dim: int, bound: float) -> Iterator[Row]:
    """Tokens as wide as those of language models, one of each positive shifted."""
    rng = np.random.default_rng(0)
    y = np.arange(n + 400) % 2
    X, unseen = (rng.standard_normal((k, length, dim), dtype=np.float32) for k in (n, 400))
    shift = 7.0 * rng.standard_normal(dim, dtype=np.float32) / np.sqrt(dim, dtype=np.float32)
    X[y[:n] == 1, 0] += shift
    unseen[y[n:] == 1, 0] += shift
    for model in (st.AttentionClassifier, st.SparseTokenClassifier):
        clf = model(random_state=0)
        start = time.process_time()
        peak = peak_bytes(partial(clf.fit, X, y[:n])) / X.nbytes
        took = time.process_time() - start
        name = f"{model.__name__}, {n} × {length} × {dim} in float32"
        yield at_most(name, took, bound, "s")
        yield at_most(f"{name}: memory beyond the data / data", peak, 1.0 if n < 1000 else 0.5)
        auc = float(roc_auc_score(y[n:], clf.decision_function(unseen)))
        yield at_least(f"{name}: AUC of new sequences", auc, 0.998, "")


def _memory() -> Iterator[Row]:
    problem = st.SparseTokenProblem(50, 1, 6.0)
    X, y = problem.sample(4000, 64, random_state=0, dtype=np.float32)
    classifiers: dict[str, Any] = {
        "pooled": st.PooledClassifier(),
        "two-step": st.TwoStepAttentionClassifier(random_state=0),
        "attention": st.AttentionClassifier(random_state=0, refine_steps=3, cv=2),
    }
    for name, classifier in classifiers.items():
        for form, data in (("array", X), ("list", list(X))):
            peak = peak_bytes(partial(classifier.fit, data, y))
            # The data themselves are not counted: 2 × in all leaves 1 × on top of them.
            what = f"{name}, float32 {form}: memory beyond the data / data"
            yield at_most(what, peak / X.nbytes, 1.0 if form == "array" else 2.0)


def _readout(n: int, p: int, reg: float, loss: Any, other: Any) -> Row:
    rng = np.random.default_rng(0)
    features = rng.standard_normal((n, p))
    sign = np.where(features[:, 0] + rng.standard_normal(n) > 0, 1.0, -1.0)
    cost = ratio(
        lambda: fit_readout(features, sign, reg, loss), lambda: other.fit(features, sign), repeats=3
    )
    what = f"readout, {type(loss).__name__.lower()} {n}×{p}, λ={reg:g}"
    return Row(f"{what}: time / {type(other).__name__}", cost, "×")
