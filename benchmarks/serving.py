"""False-positive rate and recall at 400 tokens of models trained at 20, asked for 1 %.

``python -m benchmarks.serving`` (about ten minutes). Synthetic tokens, and bags of digits in which
each positive holds one 9. A row is the median over training sets; the rate must stay within a
factor 1.5 of the one asked for. ``--samples 300,1200`` sets the sizes of the training sets.
"""

import argparse
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_digits

from sparsetoken import AttentionClassifier, SparseTokenClassifier, SparseTokenProblem

SHORT, LONG, RATE = 20, 400, 0.01
Draw = Callable[[int, int, int], tuple[Any, Any]]
"""(sequences, tokens, seed) → X, y."""


def synthetic(dim: int, signal: float) -> Draw:
    direction = np.zeros(dim)
    direction[0] = 1.0

    def draw(n_samples: int, n_tokens: int, seed: int) -> tuple[Any, Any]:
        problem = SparseTokenProblem(n_tokens, 1, signal)
        return problem.sample(
            n_samples, dim, random_state=seed, direction=direction, dtype=np.float32
        )

    return draw


def digits() -> Draw:
    images, digit = load_digits(return_X_y=True)
    nines, others = (images[chosen].astype(np.float32) for chosen in (digit == 9, digit != 9))

    def draw(n_samples: int, n_tokens: int, seed: int) -> tuple[Any, Any]:
        rng = np.random.default_rng(seed)
        X = others[rng.integers(len(others), size=(n_samples, n_tokens))]
        y = np.arange(n_samples) % 2
        X[y == 1, 0] = nines[rng.integers(len(nines), size=(y == 1).sum())]
        return X, y

    return draw


def rates(model: Any, draw: Draw, window: int | None, n_long: int) -> tuple[float, float]:
    """Return false-positive rate and recall at the length of use."""
    threshold = model.threshold(RATE, n_tokens=LONG, window=window)
    found: list[NDArray[np.float64]] = []
    for seed in range(1000, 1000 + n_long // 500):
        X, y = draw(500, LONG, seed)
        above = model.decision_function(X, window=window) > threshold
        found.append(np.array([above[y == 0].mean(), above[y == 1].mean()]))
    rate, recall = np.mean(found, axis=0)
    return float(rate), float(recall)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--samples", default="300,1200")
    parser.add_argument("--repeats", type=int, default=5, help="training sets")
    parser.add_argument("--long", type=int, default=6000, help="sequences of 400 tokens")
    parser.add_argument("--sets", default="synthetic-8,synthetic-32,digits")
    parser.add_argument("--models", default="attention,sparsetoken")
    options = parser.parse_args()
    draws = {
        "synthetic-8": synthetic(8, 5.0),
        "synthetic-32": synthetic(32, 6.0),
        "digits": digits(),
    }
    models: dict[str, Any] = {
        "attention": AttentionClassifier,
        "sparsetoken": SparseTokenClassifier,
    }
    print("set          model        samples window  rate %: median (lowest…highest)  recall")
    for name in options.sets.split(","):
        for label in options.models.split(","):
            for size in map(int, options.samples.split(",")):
                fits = [
                    models[label](random_state=0).fit(*draws[name](size, SHORT, seed))
                    for seed in range(options.repeats)
                ]
                for window in (None, SHORT):
                    found = [rates(fit, draws[name], window, options.long) for fit in fits]
                    rate, recall = 100.0 * np.array(found).T
                    print(
                        f"{name:<12} {label:<12} {size:>7} {window or 'none':>6}  "
                        f"{np.median(rate):>5.2f} ({rate.min():.2f}…{rate.max():.2f})"
                        f"{np.median(recall):>20.1f} %",
                        flush=True,
                    )


if __name__ == "__main__":
    main()
