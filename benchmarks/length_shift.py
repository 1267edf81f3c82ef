"""Ways to read sequences longer than those of training, compared on the same data.

``python -m benchmarks.serving shift [REPEATS]``: about seven minutes for five training sets of 400
sequences of 20 tokens, used on 20, 80 and 320. A positive holds one signal token at any length, a
run of four weaker ones, four scattered ones, or a signal in a fifth of its tokens. A row is a way
to read, a column the recall at 1 % false positives for a kind and a length; each way has the
threshold that is right for it at that length, found on other sequences.

Of the first rows all read along one direction, that of the sharp attention head of largest weight;
those below are learned each by itself.
"""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.bag_peers import MaxProbe
from benchmarks.report import Table
from sparsetoken import (
    AttentionClassifier,
    PooledClassifier,
    Sequences,
    SparseTokenClassifier,
    SparseTokenProblem,
)

Floats = NDArray[np.float64]
DIM, TRAIN, SHORT, LENGTHS, RATE = 32, 400, 20, (20, 80, 320), 0.01
NEW, BATCH = 8000, 500
KINDS: dict[str, Callable[[int], SparseTokenProblem]] = {
    "one token": lambda n: SparseTokenProblem(n, 1, 6.0),
    "a run of 4": lambda n: SparseTokenProblem(n, 4, 3.0, contiguous=True),
    "4 scattered": lambda n: SparseTokenProblem(n, 4, 3.5),
    "a fifth": lambda n: SparseTokenProblem(n, n // 5, 2.0),
}


def draw(kind: str, n_tokens: int, n_samples: int, seed: int) -> tuple[Sequences, Any]:
    direction = np.eye(DIM)[0]
    X, y = KINDS[kind](n_tokens).sample(
        n_samples, DIM, random_state=seed, direction=direction, dtype=np.float32
    )
    return Sequences.from_list(list(X)), y


def along(direction: Floats) -> dict[str, Callable[[Sequences], Floats]]:
    """Return ways to make one score of the tokens' scores along a direction."""

    def strongest(count: int, width: int = 1) -> Callable[[Sequences], Floats]:
        """Return the mean of the ``count`` largest means of ``width`` neighbors."""

        def score(X: Sequences) -> Floats:
            scores = (X.tokens @ direction).reshape(len(X), -1)  # all have one length
            sums = np.cumsum(np.pad(scores, ((0, 0), (1, 0))), axis=1)
            means = (sums[:, width:] - sums[:, :-width]) / width
            top: Floats = np.partition(means, -count, axis=1)[:, -count:].mean(axis=1)
            return top

        return score

    return {
        "largest score": strongest(1),
        "mean of 4 largest": strongest(4),
        "largest mean of 4 neighbors": strongest(1, 4),
    }


def ways(X: Sequences, y: Any) -> Iterator[tuple[str, Callable[[Sequences], Floats]]]:
    """Yield every way to read, with its score of new sequences."""
    sharp = AttentionClassifier(reg=0.01, shrinkage=0.3, random_state=0).fit(X, y)
    yield "sharp attention", sharp.decision_function
    yield from along(np.asarray(sharp.coef_)).items()
    yield "mean token", PooledClassifier().fit(X, y).decision_function
    yield "MultiMax probe, 4 heads", MaxProbe().fit(X, y).decision_function
    yield "rolling-mean probe, 4 tokens", MaxProbe(1, window=4).fit(X, y).decision_function
    attention = AttentionClassifier(random_state=0).fit(X, y)
    yield "AttentionClassifier", attention.decision_function
    yield (
        f"AttentionClassifier, window={SHORT}",
        lambda new: attention.decision_function(new, window=SHORT),
    )
    for contiguous in (False, True):
        stack = SparseTokenClassifier(contiguous=contiguous, n_trees=100, random_state=0)
        name = "SparseTokenClassifier" + ", contiguous" * contiguous
        yield name, stack.fit(X, y).decision_function


def recalls(kind: str, seed: int) -> dict[str, list[float]]:
    """Return the recall of every way at each length."""
    readers = dict(ways(*draw(kind, SHORT, TRAIN, seed)))
    found: dict[str, list[float]] = {name: [] for name in readers}
    for n_tokens in LENGTHS:
        scores: dict[str, list[Floats]] = {name: [] for name in readers}
        labels = []
        for batch in range(NEW // BATCH):
            X, y = draw(kind, n_tokens, BATCH, 10_000 + 100 * seed + batch)
            labels.append(y)
            for name, score in readers.items():
                scores[name].append(score(X))
        y, half = np.concatenate(labels), np.arange(NEW) % 2 == 0
        for name, parts in scores.items():
            every = np.concatenate(parts)
            threshold = np.quantile(every[half & (y == 0)], 1.0 - RATE)
            found[name].append(float(np.mean(every[~half & (y == 1)] > threshold)))
    return found


def main(repeats: int = 5) -> None:
    """Print the recall of all ways, kinds and lengths."""
    by_kind = {kind: [recalls(kind, seed) for seed in range(repeats)] for kind in KINDS}
    print(f"recall at {RATE:.0%} false positives; trained at {SHORT} tokens")
    table = Table("way to read:34", *(f"{kind}, {n}:5.0%" for kind in KINDS for n in LENGTHS))
    names = list(next(iter(by_kind.values()))[0])
    for name in names:
        means = [np.mean([one[name] for one in found], axis=0) for found in by_kind.values()]
        table.add(name, *np.concatenate(means))
    spread = [np.std([one[names[0]] for one in found], axis=0).max() for found in by_kind.values()]
    print(f"standard error of a number: at most {100 * max(spread) / np.sqrt(repeats):.0f}")
