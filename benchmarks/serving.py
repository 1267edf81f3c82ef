"""False-positive rate and recall of models trained at 20 tokens, asked for 1 %.

``python -m benchmarks.serving`` takes an hour and a half, with ``--repeats 5`` (training sets) a
quarter of an hour; ``--new`` is the number of sequences to test on. Synthetic tokens, and bags of
digits in which each positive holds one 9. A row says for how many training sets the rate is within
a factor 1.5 of the one asked for, how many thresholds promise that (``converged``), how many of the
failures did not, and how many rates lie in ``rate_interval``, which is meant to hold 8 of 10.

The last two columns say what is possible: how often that rate would be met with scores of as many
fresh negatives (of their tokens, for longer sequences), by their quantile, and by somebody who
knows the law of the scores up to its location and scale and estimates these two.

``python -m benchmarks.serving shift`` compares ways to read long sequences, see ``length_shift``.
"""

import warnings
from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_digits

from benchmarks import length_shift
from benchmarks.peers import QUICK
from benchmarks.report import Table, run
from sparsetoken import SparseTokenProblem
from sparsetoken.estimate import ConvergenceWarning

Floats = NDArray[np.float64]
SHORT, RATE, FACTOR = 20, 0.01, 1.5
Draw = Callable[[int, int, int], tuple[Any, Any]]
"""(sequences, tokens, seed) → X, y."""


def synthetic(dim: int, signal: float) -> Draw:
    def draw(n_samples: int, n_tokens: int, seed: int) -> tuple[Any, Any]:
        how: dict[str, Any] = {"direction": np.eye(dim)[0], "dtype": np.float32}
        problem = SparseTokenProblem(n_tokens, 1, signal)
        return problem.sample(n_samples, dim, random_state=seed, **how)

    return draw


def digits(n_samples: int, n_tokens: int, seed: int) -> tuple[Any, Any]:
    images, digit = load_digits(return_X_y=True)
    nines, others = (images[rows].astype(np.float32) for rows in (digit == 9, digit != 9))
    rng = np.random.default_rng(seed)
    X = others[rng.integers(len(others), size=(n_samples, n_tokens))]
    y = np.arange(n_samples) % 2
    X[y == 1, 0] = nines[rng.integers(len(nines), size=(y == 1).sum())]
    return X, y


SETS: dict[str, Draw] = {
    "synthetic-8": synthetic(8, 5.0),
    "synthetic-32": synthetic(32, 6.0),
    "digits": digits,
}


def new_scores(
    models: list[Any], draw: Draw, n_tokens: int, window: int | None, n_new: int
) -> tuple[Floats, Any]:
    """Return the scores (models, n) of the same new sequences, and their labels."""
    scores, labels = [], []
    for seed in range(1000, 1000 + n_new // 500):
        X, y = draw(500, n_tokens, seed)
        scores.append([model.decision_function(X, window=window) for model in models])
        labels.append(y)
    return np.concatenate(scores, axis=1), np.concatenate(labels)


def serve(model: Any, scores: Floats, y: Any, n_tokens: int, window: int | None) -> list[float]:
    """Return rate, recall, whether it was promised, whether it is in the interval, and chances."""
    same = n_tokens == SHORT and window is None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        threshold = model.threshold(RATE, n_tokens=None if same else n_tokens, window=window)
    rate, recall = (float(np.mean(scores[y == label] > threshold)) for label in (0, 1))
    low, high = threshold.rate_interval
    count = int(np.sum(model.reference_.classes == 0)) * SHORT // n_tokens
    possible = chances(scores[y == 0], count)
    return [rate, recall, threshold.converged, low <= rate <= high, *possible]


def chances(scores: Floats, count: int) -> Floats:
    """Return how often ``count`` scores give a threshold with the right rate.

    By their quantile, and by their mean and deviation if the rest of the law is known.
    """
    drawn = np.random.default_rng(0).choice(scores, (400, count))
    quantile = np.quantile(scores, 1.0 - RATE)
    known = (quantile - scores.mean()) / scores.std()
    by_quantile = np.quantile(drawn, 1.0 - RATE, axis=1, method="weibull")
    thresholds = np.stack([by_quantile, drawn.mean(axis=1) + known * drawn.std(axis=1)])
    rates = 1.0 - np.searchsorted(np.sort(scores), thresholds, side="right") / len(scores)
    return within(rates).mean(axis=1)


def within(rates: Any) -> Any:
    return (rates >= RATE / FACTOR) & (rates <= RATE * FACTOR)


def row(results: list[list[float]]) -> list[Any]:
    rates, recalls, promised, in_interval, by_quantile, by_shape = np.array(results).T
    right, told = within(rates), promised == 0.0
    median, low, high = 100 * np.array([np.median(rates), rates.min(), rates.max()])
    figures = [in_interval.mean(), np.median(recalls), by_quantile.mean(), by_shape.mean()]
    failures = f"{np.sum(~right & told)} of {np.sum(~right)}"
    spread = f"{median:.2f} ({low:.2f}…{high:.2f})"
    return [spread, right.mean(), promised.mean(), failures, *figures]


def main(
    *,
    samples: str = "300,1200,4000",
    lengths: str = "20,80",
    repeats: int = 30,
    new: int = 40_000,
    sets: str = ",".join(SETS),
    models: str = "attention,sparsetoken",
    no_windows: bool = False,
) -> None:
    table = Table(
        *("set:14", "model:12", "samples:7d", "tokens:6d", "window:6s"),
        *("rate %, median (range):22s", "within:6.0%", "promised:8.0%", "failures told:9s"),
        *("interval:8.0%", "recall:6.1%", "by quantile:6.0%", "by shape:6.0%"),
    )
    for name, label in product(sets.split(","), models.split(",")):
        for size in map(int, samples.split(",")):
            seeds = range(repeats)
            fitted = [QUICK[label]().fit(*SETS[name](size, SHORT, seed)) for seed in seeds]
            for n_tokens in map(int, lengths.split(",")):
                windows = (None, SHORT) if n_tokens > SHORT and not no_windows else (None,)
                for window in windows:
                    scores, y = new_scores(fitted, SETS[name], n_tokens, window, new)
                    served = [
                        serve(model, its_scores, y, n_tokens, window)
                        for model, its_scores in zip(fitted, scores, strict=True)
                    ]
                    facts = name, label, size, n_tokens, str(window or "none")
                    table.add(*facts, *row(served))


if __name__ == "__main__":
    run(main, shift=length_shift.main)
