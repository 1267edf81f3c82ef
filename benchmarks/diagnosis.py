"""What ``diagnose`` says first about ten sets with a known fault and about six good ones.

``python -m benchmarks.diagnosis`` (about two minutes); ``--seeds 3`` repeats it on other draws.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

import sparsetoken as st
from benchmarks.families import needle_digits, train_and_test
from benchmarks.report import Table, run

Split = tuple[Any, Any, Any, Any]
"""Samples and labels to fit, samples and labels to diagnose."""
Y = np.arange(200) % 2


def needle(seed: int, n_samples: int = 200, dim: int = 10, signal: float = 4.0) -> Split:
    problem = st.SparseTokenProblem(10, 1, signal)
    return train_and_test(problem, n_samples, dim, 200, (seed, seed + 100))


def gaussian(seed: int, dim: int, scale: float = 1.0, shift: float = 0.0, first: int = 8) -> Split:
    """Return sequences of eight tokens, of which the first of a positive one are changed."""
    X = np.random.default_rng(seed).standard_normal((2, 200, 8, dim))
    X[:, Y == 1, :first] = X[:, Y == 1, :first] * scale + shift
    return X[0], Y, X[1], Y


def noise(seed: int) -> Split:
    X, y, _, _ = needle(seed)
    y = np.random.default_rng(seed).permutation(y)
    return X, y, X, y


def leaking_length(seed: int) -> Split:
    rng = np.random.default_rng(seed)
    X = [rng.standard_normal((rng.integers(8, 14) - 4 * label, 5)) for label in [*Y, *Y]]
    return X[:200], Y, X[200:], Y


def copies(seed: int) -> Split:
    X, y, _, _ = needle(seed)
    X, y = np.repeat(X[:100], 2, axis=0), np.repeat(y[:100], 2)
    return X, y, X, y


def five_samples(seed: int) -> Split:
    X, y, _, _ = needle(seed, 300)
    rows = np.concatenate([np.flatnonzero(y == 0), np.flatnonzero(y == 1)[:5]])
    return X[rows], y[rows], X[rows], y[rows]


def wrong_sign(seed: int) -> Split:
    X, y, new, y_new = needle(seed)
    return X, y, new, 1 - y_new


def constant_columns(seed: int) -> Split:
    X, y, new, y_new = needle(seed)
    X, new = (np.concatenate([a, np.ones((*a.shape[:2], 2))], axis=2) for a in (X, new))
    return X, y, new, y_new


def one_huge_token(seed: int) -> Split:
    X, y, _, _ = needle(seed)
    X[7, 3] *= 1000.0
    return X, y, X, y


def large_step(seed: int) -> Split:
    X, y = st.SparseTokenProblem(10, 1, 5.0).sample(920, 100, random_state=seed)
    return X, y, X, y


def three_classes(seed: int) -> Split:
    rng = np.random.default_rng(seed)
    y = np.arange(480) % 3
    X = [rng.standard_normal((rng.integers(4, 9), 8)) for _ in y]
    for tokens, label in zip(X, y, strict=True):
        tokens[0, label] += 4.5
    return X[:240], y[:240], X[240:], y[240:]


# The draw, and the finding that should come first.
CASES: dict[str, tuple[Callable[[int], Split], str | None]] = {
    "noise": (noise, "nothing beats chance"),
    "too weak": (lambda seed: needle(seed, 60, 200, 0.5), "nothing beats chance"),
    "leaking length": (leaking_length, "length predicts the label"),
    "copies": (copies, "duplicated sequences"),
    "five samples": (five_samples, "few samples of a class"),
    "variance": (lambda seed: gaussian(seed, 4, 4.0, first=1), "spread tells more than the model"),
    "wrong sign": (wrong_sign, "scores the wrong way round"),
    "constant columns": (constant_columns, "constant features"),
    "one huge token": (one_huge_token, "outlying tokens"),
    "large step": (large_step, "anti-aligned query"),
    # Fewer samples than dimensions, but the query is as good as that of any learner (cosine 0.9).
    "good wide needle": (lambda seed: needle(seed, 80, 150), None),
    "good needle": (lambda seed: needle(seed, 400), None),
    "good mean": (lambda seed: gaussian(seed, 6, shift=0.4), None),
    "good spread": (lambda seed: gaussian(seed, 5, 1.6), None),
    "good digits": (lambda seed: needle_digits(seed=seed) * 2, None),
    "good classes": (three_classes, None),
}
MAKERS: dict[str, Callable[..., Any]] = {
    "variance": st.AttentionClassifier,
    "good wide needle": st.AttentionClassifier,
    "large step": partial(st.TwoStepAttentionClassifier, lr_readout=80.0, lr_query=0.73),
}


def main(*, seeds: int = 1) -> None:
    right: dict[bool, list[bool]] = {True: [], False: []}
    table = Table(":4", "set:20", "findings:20")
    for seed in range(seeds):
        for name, (draw, fault) in CASES.items():
            X, y, new, y_new = draw(seed)
            model = MAKERS.get(name, st.SparseTokenClassifier)(random_state=seed).fit(X, y)
            found = [problem.name for problem in model.diagnose(new, y_new).problems]
            ok = found[:1] == ([] if fault is None else [fault])
            right[fault is None].append(ok)
            table.add("ok" if ok else "MISS", name, ", ".join(found) or "no problem")
    print(f"right finding first: {sum(right[False])} of {len(right[False])}")
    print(f"silent on good ones: {sum(right[True])} of {len(right[True])}")


if __name__ == "__main__":
    run(main)
