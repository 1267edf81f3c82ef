"""Random easy problems: a stack must be as good as the best of its members.

``python -m benchmarks.robustness stack [PROBLEMS] [SEED]``. The data are those of our own model, in
2 to 64 dimensions, with 60 to 400 samples and signals of 3 to 12. Accuracy on 2000 new samples is
compared with that of every single head and member at the threshold that is best for these samples.
"""

import time
from typing import Any, NamedTuple

import numpy as np
from scipy.special import expit

from benchmarks.bags import best_accuracy, calibration_error
from benchmarks.report import Table
from sparsetoken import AttentionClassifier, SparseTokenClassifier, SparseTokenProblem
from sparsetoken.sequences.data import MemoryData
from sparsetoken.sequences.sequences import as_sequences

N_NEW = 2000
BOUND = 0.01
KINDS: dict[str, Any] = {
    "AttentionClassifier": lambda: AttentionClassifier(random_state=0),
    "SparseTokenClassifier": lambda: SparseTokenClassifier(n_trees=50, random_state=0),
}


class Problem(NamedTuple):
    """What is drawn."""

    dim: int
    n_samples: int
    n_tokens: int
    signal: float
    seed: int

    def sample(self) -> tuple[Any, Any, Any, Any]:
        """Return samples and labels to fit to, and new ones."""
        problem = SparseTokenProblem(self.n_tokens, signal=self.signal)
        X, y, truth = problem.sample(
            self.n_samples, self.dim, random_state=self.seed, return_truth=True
        )
        new = problem.sample(N_NEW, self.dim, random_state=self.seed + 1, direction=truth.direction)
        return X, y, *new


class Judged(NamedTuple):
    """How a stack does beside its members."""

    accuracy: float
    best: float
    """Of the best single score at its best threshold."""
    one_class: bool
    leader: str
    """The member of largest weight."""
    calibration: float
    seconds: float


def random_problem(rng: np.random.Generator) -> Problem:
    dim = round(float(np.exp(rng.uniform(np.log(2), np.log(64)))))
    n_samples, n_tokens = int(rng.integers(60, 401)), int(rng.integers(2, 31))
    return Problem(dim, n_samples, n_tokens, float(rng.uniform(3, 12)), int(rng.integers(2**31)))


def judge(model: Any, problem: Problem) -> Judged:
    X, y, new, y_new = problem.sample()
    start = time.process_time()
    model.fit(X, y)
    seconds = time.process_time() - start
    data = MemoryData(as_sequences(new))
    members = np.concatenate([one.scores(data) for one in model.stack_.members], axis=1)[..., 0]
    scores = model.decision_function(new)
    return Judged(
        float(np.mean((scores > 0) == y_new)),
        max(best_accuracy(column, y_new) for column in members.T),
        len(np.unique(scores > 0)) == 1,
        max(model.members_, key=model.members_.get),
        calibration_error(expit(scores), y_new),
        seconds,
    )


def main(n_problems: int = 100, seed: int = 0) -> None:
    """Judge both classifiers on random problems."""
    rng = np.random.default_rng(seed)
    judged: dict[str, list[Judged]] = {name: [] for name in KINDS}
    for index in range(n_problems):
        problem = random_problem(rng)
        for name, make in KINDS.items():
            one = judge(make(), problem)
            judged[name].append(one)
            if one.best - one.accuracy > BOUND or one.one_class:
                print(f"#{index} {name} {one.accuracy:.3f}, best {one.best:.3f}: {problem}")
                print(f"    {one}", flush=True)
    table = Table("classifier:22", f"within {BOUND}:5.0%", "shortfall:9.4f", "largest:7.3f",
                  "one class:5d", "attention leads:5.0%", "accuracy:8.3f", "off:5.3f",
                  "CPU s:6.2f")  # fmt: skip
    for name, each in judged.items():
        short = np.array([one.best - one.accuracy for one in each])
        leads = np.mean([one.leader == "attention" for one in each])
        means = np.mean([(one.accuracy, one.calibration, one.seconds) for one in each], axis=0)
        one_class = sum(one.one_class for one in each)
        table.add(
            name, np.mean(short <= BOUND), short.mean(), short.max(), one_class, leads, *means
        )
