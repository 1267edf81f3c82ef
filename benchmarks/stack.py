"""Random easy problems: a stack must be as good as the best of its members.

``python -m benchmarks.stack [PROBLEMS] [SEED]``. The data are those of our own model, in
2 to 64 dimensions, with 60 to 400 samples and signals of 3 to 12. Accuracy on 2000 new samples is
compared with that of every single head and member at the threshold that is best for these samples.
"""

from typing import Any

import numpy as np

from benchmarks.calibration import accuracy, best_accuracy
from benchmarks.families import train_and_test
from benchmarks.peers import OURS
from benchmarks.report import Table, run
from sparsetoken import SparseTokenClassifier, SparseTokenProblem
from sparsetoken.sequences.data import MemoryData
from sparsetoken.sequences.sequences import as_sequences

N_NEW, BOUND = 2000, 0.01
MAKERS: dict[str, Any] = {
    "AttentionClassifier": OURS["attention"],
    "SparseTokenClassifier": lambda: SparseTokenClassifier(n_trees=50, random_state=0),
}


def main(problems: int = 100, seed: int = 0) -> None:
    rng = np.random.default_rng(seed)
    rows: dict[str, list[tuple[float, float]]] = {name: [] for name in MAKERS}
    for index in range(problems):
        dim = round(float(np.exp(rng.uniform(np.log(2), np.log(64)))))
        n_samples, n_tokens = int(rng.integers(60, 401)), int(rng.integers(2, 31))
        problem = SparseTokenProblem(n_tokens, signal=float(rng.uniform(3, 12)))
        draw = int(rng.integers(2**31))
        X, y, new, y_new = train_and_test(problem, n_samples, dim, N_NEW, (draw, draw + 1))
        for name, make in MAKERS.items():
            model, data = make().fit(X, y), MemoryData(as_sequences(new))
            members = np.concatenate([m.scores(data) for m in model.stack_.members], axis=1)
            best = max(best_accuracy(column, y_new) for column in members[..., 0].T)
            reached = accuracy(model.decision_function(new), y_new)
            rows[name].append((reached, best - reached))
            if best - reached > BOUND:
                print(f"#{index} {name} {reached:.3f}, best {best:.3f}: {problem}", flush=True)
    table = Table("classifier:22", f"within {BOUND}:5.0%", "shortfall:9.4f", "largest:7.3f",
                  "accuracy:8.3f")  # fmt: skip
    for name, each in rows.items():
        reached, short = np.array(each).T
        table.add(name, np.mean(short <= BOUND), short.mean(), short.max(), reached.mean())


if __name__ == "__main__":
    run(main)
