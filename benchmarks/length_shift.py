"""Ways to read sequences longer than those of training, compared on the same data.

``python -m benchmarks.serving shift [REPEATS]``: about seven minutes for five training sets of 400
sequences of 20 tokens, used on 20, 80 and 320. A positive holds one signal token at any length, a
run of four weaker ones, four scattered ones, or a signal in a fifth of its tokens. A row is a way
to read, a column the recall at 1 % false positives for a kind and a length; each way has the
threshold that is right for it at that length, found on other sequences.

Of the first rows all read along one direction, that of the sharp attention head of largest weight;
those below are learned each by itself.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

import sparsetoken as st
from benchmarks.peers import QUICK, MaxProbe
from benchmarks.report import Table

Floats = NDArray[np.float64]
DIM, TRAIN, SHORT, LENGTHS, RATE = 32, 400, 20, (20, 80, 320), 0.01
NEW, BATCH = 8000, 500
KINDS: dict[str, Callable[[int], st.SparseTokenProblem]] = {
    "one token": lambda n: st.SparseTokenProblem(n, 1, 6.0),
    "a run of 4": lambda n: st.SparseTokenProblem(n, 4, 3.0, contiguous=True),
    "4 scattered": lambda n: st.SparseTokenProblem(n, 4, 3.5),
    "a fifth": lambda n: st.SparseTokenProblem(n, n // 5, 2.0),
}


def draw(kind: str, n_tokens: int, n_samples: int, seed: int) -> tuple[st.Sequences, Any]:
    how: dict[str, Any] = {"direction": np.eye(DIM)[0], "dtype": np.float32}
    X, y = KINDS[kind](n_tokens).sample(n_samples, DIM, random_state=seed, **how)
    return st.Sequences.from_list(list(X)), y


def strongest(X: st.Sequences, direction: Floats, count: int = 1, width: int = 1) -> Floats:
    """Return the mean of the ``count`` largest means of ``width`` neighbors along a direction."""
    scores = (X.tokens @ direction).reshape(len(X), -1)  # all have one length
    sums = np.cumsum(np.pad(scores, ((0, 0), (1, 0))), axis=1)
    means = (sums[:, width:] - sums[:, :-width]) / width
    top: Floats = np.partition(means, -count, axis=1)[:, -count:].mean(axis=1)
    return top


def ways(X: st.Sequences, y: Any) -> dict[str, Callable[[st.Sequences], Floats]]:
    """Return every way to read by name: its score of new sequences."""
    sharp = st.AttentionClassifier(reg=0.01, shrinkage=0.3, random_state=0).fit(X, y)
    along = partial(strongest, direction=np.asarray(sharp.coef_))
    attention = QUICK["attention"]().fit(X, y)
    runs = st.SparseTokenClassifier(contiguous=True, n_trees=100, random_state=0)
    return {
        "sharp attention": sharp.decision_function,
        "largest score": along,
        "mean of 4 largest": partial(along, count=4),
        "largest mean of 4 neighbors": partial(along, width=4),
        "mean token": st.PooledClassifier().fit(X, y).decision_function,
        "MultiMax probe, 4 heads": MaxProbe().fit(X, y).decision_function,
        "rolling-mean probe, 4 tokens": MaxProbe(1, window=4).fit(X, y).decision_function,
        "AttentionClassifier": attention.decision_function,
        f"AttentionClassifier, window={SHORT}": partial(attention.decision_function, window=SHORT),
        "SparseTokenClassifier": QUICK["sparsetoken"]().fit(X, y).decision_function,
        "SparseTokenClassifier, contiguous": runs.fit(X, y).decision_function,
    }


def recalls(kind: str, seed: int) -> dict[str, Floats]:
    """Return the recall of every way at each length."""
    readers, columns = ways(*draw(kind, SHORT, TRAIN, seed)), []
    for n_tokens in LENGTHS:
        parts, labels = [], []
        for batch in range(NEW // BATCH):
            X, y = draw(kind, n_tokens, BATCH, 10_000 + 100 * seed + batch)
            labels.append(y)
            parts.append([score(X) for score in readers.values()])
        scores, y = np.concatenate(parts, axis=1), np.concatenate(labels)
        half = np.arange(NEW) % 2 == 0
        thresholds = np.quantile(scores[:, half & (y == 0)], 1.0 - RATE, axis=1, keepdims=True)
        columns.append(np.mean(scores[:, ~half & (y == 1)] > thresholds, axis=1))
    return dict(zip(readers, np.transpose(columns), strict=True))


def main(repeats: int = 5) -> None:
    by_kind = [[recalls(kind, seed) for seed in range(repeats)] for kind in KINDS]
    print(f"recall at {RATE:.0%} false positives; trained at {SHORT} tokens")
    table = Table("way to read:34", *(f"{kind}, {n}:5.0%" for kind in KINDS for n in LENGTHS))
    spreads = []
    for name in by_kind[0][0]:
        each = np.array([[one[name] for one in found] for found in by_kind])
        table.add(name, *each.mean(axis=1).ravel())
        spreads.append(each.std(axis=1).max())
    print(f"standard error of a number: at most {100 * max(spreads) / np.sqrt(repeats):.0f}")
