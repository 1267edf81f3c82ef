"""Unlabelled sequences: how near the best possible learner, and never worse than without them.

``python -m benchmarks.unlabelled [PROBLEMS] [SEED]``. Random problems of our model with 20 to 60
labelled and 300 to 400 unlabelled sequences, six draws each. The error of
``BayesAttentionClassifier`` is compared with ``theory.optimal`` and with its own error without the
unlabelled ones.
"""

import math
from typing import Any

import numpy as np

from benchmarks.peers import OURS
from benchmarks.report import Table, mean_and_error, run
from sparsetoken import SparseTokenProblem
from sparsetoken.theory import optimal

DRAWS, N_NEW = 6, 4000
FACTOR = 1.3


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
    helped = OURS["bayes"]().fit(X, half)
    alone = OURS["bayes"]().fit(X[:labelled], y[:labelled])
    return 1.0 - helped.score(new, y_new), 1.0 - alone.score(new, y_new)


def main(problems: int = 10, seed: int = 0) -> None:
    rng, over, worse = np.random.default_rng(seed), 0, 0
    table = Table("labelled:8d", "unlabelled:10d", "without:8.4f", "with:15s", "optimum:8.4f",
                  "ratio:5.2f", "dim:4d", "problem:60")  # fmt: skip
    for index in range(problems):
        n_tokens, n_signal = int(rng.integers(5, 31)), int(rng.choice([1, 1, 1, 2]))
        signal = float(rng.uniform(4.5, 6.5)) / math.sqrt(n_signal)
        problem = SparseTokenProblem(n_tokens, n_signal, signal, float(rng.uniform(0.2, 0.6)))
        labelled, unlabelled = int(rng.integers(20, 61)), int(rng.integers(300, 401))
        dim = int(rng.integers(30, 101))
        best = optimal(problem, alpha=labelled / dim, unlabelled=unlabelled / dim).test_error
        seeds = [seed + 1000 * index + k for k in range(DRAWS)]
        each = np.array([errors(problem, dim, labelled, unlabelled, one) for one in seeds])
        (helped, bar), gain = mean_and_error(each[:, 0]), mean_and_error(each[:, 1] - each[:, 0])
        over += helped > FACTOR * best + 3.0 * bar
        worse += gain[0] < -3.0 * gain[1]
        cells = f"{helped:7.4f} ± {bar:.4f}", best, helped / best, dim, problem
        table.add(labelled, unlabelled, each[:, 1].mean(), *cells)
    print(f"{over} of {problems} beyond {FACTOR} times the optimum plus three standard errors; "
          f"{worse} worse than without")  # fmt: skip


if __name__ == "__main__":
    run(main)
