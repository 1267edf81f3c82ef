"""Random memory budgets: a fit from a folder must give the scores of one in memory.

``python -m benchmarks.robustness memory [PROBLEMS] [SEED]``. Copies of 10, 20, 50 and 100 sequences
are allowed. Scores of new sequences may differ by 1 % of their spread.
"""

import tempfile
from typing import Any

import numpy as np

from sparsetoken import AttentionClassifier, Sequences, SparseTokenClassifier, SparseTokenProblem
from sparsetoken.sequences.data import Data

ROOMS = (10, 20, 50, 100)
BOUND = 0.01
KINDS: dict[str, Any] = {
    "AttentionClassifier": lambda: AttentionClassifier(random_state=0),
    "SparseTokenClassifier": lambda: SparseTokenClassifier(n_trees=50, random_state=0),
}


def random_data(rng: np.random.Generator) -> tuple[Sequences, Any, Sequences]:
    """Return sequences of lengths that vary by up to a factor two, labels, and new sequences."""
    dim, n_samples = int(rng.integers(4, 41)), int(rng.integers(120, 401))
    longest = int(rng.integers(4, 31))
    problem = SparseTokenProblem(longest, signal=float(rng.uniform(2, 6)))
    X, y = problem.sample(n_samples + 200, dim, random_state=int(rng.integers(2**31)))
    cut = rng.integers(longest // 2, longest + 1, len(X))
    sequences = [rng.permutation(one)[:length] for one, length in zip(X, cut, strict=True)]
    parts = sequences[:n_samples], sequences[n_samples:]
    first, second = (Sequences.from_list(part) for part in parts)
    return first, y[:n_samples], second


def difference(make: Any, X: Sequences, y: Any, new: Sequences, room: int, expected: Any) -> float:
    """Return the largest difference of scores, in standard deviations of those in memory."""
    budget = Data.memory_budget
    Data.memory_budget = room * X.tokens.size // len(X)
    try:
        with tempfile.TemporaryDirectory() as folder:
            X.save(folder)
            scores = make().fit(Sequences.open(folder), y).decision_function(new)
    finally:
        Data.memory_budget = budget
    return float(np.abs(scores - expected).max() / expected.std())


def main(n_problems: int = 20, seed: int = 0) -> None:
    """Compare both classifiers on random problems, for every room."""
    rng = np.random.default_rng(seed)
    off: dict[tuple[str, int], list[float]] = {}
    for index in range(n_problems):
        X, y, new = random_data(rng)
        for name, make in KINDS.items():
            expected = make().fit(X, y).decision_function(new)
            for room in ROOMS:
                largest = difference(make, X, y, new, room, expected)
                off.setdefault((name, room), []).append(largest)
                if largest > BOUND:
                    print(f"#{index} {name}, room for {room}: {largest:.3g} of the spread, {X}",
                          flush=True)  # fmt: skip
    print(f"{'':<22} room  within {BOUND:.0%} of the spread  largest difference")
    for (name, room), each in off.items():
        within = sum(one <= BOUND for one in each)
        print(f"{name:<22} {room:>4} {f'{within} of {len(each)}':>25} {max(each):>19.2g}")
