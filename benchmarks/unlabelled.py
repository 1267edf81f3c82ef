"""Unlabelled sequences: how near the best possible learner, and never worse than without them.

``python -m benchmarks.robustness unlabelled [PROBLEMS] [SEED]``. Random problems of our model with
20 to 60 labelled and 300 to 400 unlabelled sequences, six draws each. The error of
``BayesAttentionClassifier`` is compared with ``theory.optimal`` and with its own error without the
unlabelled ones.
"""

import math
from typing import Any

import numpy as np

from sparsetoken import BayesAttentionClassifier, SparseTokenProblem
from sparsetoken.theory import optimal

DRAWS, N_NEW = 6, 4000
FACTOR = 1.3


def random_problem(rng: np.random.Generator) -> tuple[SparseTokenProblem, int, int, int]:
    """Return a problem, its dimension, and the numbers of labelled and unlabelled sequences."""
    n_tokens, n_signal = int(rng.integers(5, 31)), int(rng.choice([1, 1, 1, 2]))
    signal = float(rng.uniform(4.5, 6.5)) / math.sqrt(n_signal)
    problem = SparseTokenProblem(n_tokens, n_signal, signal, float(rng.uniform(0.2, 0.6)))
    sizes = rng.integers(20, 61), rng.integers(300, 401)
    return problem, int(rng.integers(30, 101)), int(sizes[0]), int(sizes[1])


def errors(
    problem: SparseTokenProblem, dim: int, labelled: int, unlabelled: int, seed: int
) -> tuple[float, float]:
    """Return the errors with the unlabelled sequences and without them."""
    rng = np.random.default_rng(seed)
    direction = rng.standard_normal(dim)
    draw: dict[str, Any] = {"random_state": rng, "direction": direction / np.linalg.norm(direction)}
    y = np.zeros(1)
    while min(y[:labelled].sum(), (1 - y[:labelled]).sum()) < 2:
        X, y = problem.sample(labelled + unlabelled, dim, **draw)
    new, y_new = problem.sample(N_NEW, dim, **draw)
    half = np.where(np.arange(len(y)) < labelled, y, -1)
    helped = BayesAttentionClassifier(random_state=0).fit(X, half)
    alone = BayesAttentionClassifier(random_state=0).fit(X[:labelled], y[:labelled])
    return 1.0 - helped.score(new, y_new), 1.0 - alone.score(new, y_new)


def main(n_problems: int = 10, seed: int = 0) -> None:
    """Print errors, the optimum and their ratio for random problems."""
    rng = np.random.default_rng(seed)
    over, worse = 0, 0
    print(f"{'labelled':>8} {'unlabelled':>10} {'without':>8} {'with':>15} {'optimum':>8} ratio")
    for index in range(n_problems):
        problem, dim, labelled, unlabelled = random_problem(rng)
        best = optimal(problem, alpha=labelled / dim, unlabelled=unlabelled / dim).test_error
        each = np.array(
            [errors(problem, dim, labelled, unlabelled, seed + 1000 * index + k)
             for k in range(DRAWS)]
        )  # fmt: skip
        helped, alone = each.mean(axis=0)
        bar = each[:, 0].std(ddof=1) / math.sqrt(DRAWS)
        gain = each[:, 1] - each[:, 0]
        over += helped > FACTOR * best + 3.0 * bar
        worse += gain.mean() < -3.0 * gain.std(ddof=1) / math.sqrt(DRAWS)
        print(f"{labelled:>8} {unlabelled:>10} {alone:8.4f} {helped:7.4f} ± {bar:.4f} {best:8.4f} "
              f"{helped / best:5.2f}  {problem}, {dim} dimensions", flush=True)  # fmt: skip
    print(f"{over} of {n_problems} beyond {FACTOR} times the optimum plus three standard errors; "
          f"{worse} worse than without")  # fmt: skip


if __name__ == "__main__":
    main()
