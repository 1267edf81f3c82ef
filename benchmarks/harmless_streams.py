"""Harmless streams: how many raise an alarm at any time, if 5 % are asked for.

``python -m benchmarks.robustness streams [STREAMS] [SEED]``: so many of each of six kinds, for each
of twelve training sets. Training sequences have about 30 tokens, streams 60. Scores are those of
the beginnings of a sequence, all at once, which is what a stream has token by token.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.report import Table, mean_and_error
from sparsetoken import AttentionClassifier, SparseTokenClassifier

Floats = NDArray[np.float64]
RATE, FACTOR = 0.05, 1.5
DIM, TRAIN, SHORT, LONG, SETS = 16, 300, 30, 60, 12
SIGNAL = 5.0
KINDS: dict[str, Any] = {
    "AttentionClassifier": lambda: AttentionClassifier(random_state=0),
    "SparseTokenClassifier": lambda: SparseTokenClassifier(n_trees=100, random_state=0),
}
Draw = Callable[[np.random.Generator, int], Floats]
"""(generator, tokens) → a harmless sequence."""


def gaussian(rng: np.random.Generator, n_tokens: int) -> Floats:
    return rng.standard_normal((n_tokens, DIM))


def heavy_tails(rng: np.random.Generator, n_tokens: int) -> Floats:
    return rng.standard_t(3, (n_tokens, DIM)) / np.sqrt(3.0)


def autocorrelated(rng: np.random.Generator, n_tokens: int) -> Floats:
    tokens = rng.standard_normal((n_tokens, DIM))
    for i in range(1, n_tokens):
        tokens[i] = 0.7 * tokens[i - 1] + np.sqrt(1.0 - 0.7**2) * tokens[i]
    return tokens


def clusters(rng: np.random.Generator, n_tokens: int) -> Floats:
    """Tokens of five kinds; each sequence has favorites."""
    centers = 2.0 * np.random.default_rng(0).standard_normal((5, DIM)) / np.sqrt(DIM / 4)
    favorites = rng.dirichlet(np.ones(5))
    return centers[rng.choice(5, n_tokens, p=favorites)] + rng.standard_normal((n_tokens, DIM))


def drifting_scale(rng: np.random.Generator, n_tokens: int) -> Floats:
    """Each sequence becomes louder or softer, by up to a factor two."""
    scale = np.exp(rng.uniform(-1, 1) * np.log(2) * np.linspace(0, 1, n_tokens))
    return scale[:, np.newaxis] * rng.standard_normal((n_tokens, DIM))


STREAMS: dict[str, Draw] = {
    "Gaussian": gaussian,
    "heavy tails": heavy_tails,
    "autocorrelated": autocorrelated,
    "varying lengths": gaussian,
    "clusters": clusters,
    "drifting scale": drifting_scale,
}


def training_set(kind: str, rng: np.random.Generator) -> tuple[list[Floats], Any]:
    """Return harmless sequences, half of them with a signal in one token."""
    y = np.arange(TRAIN) % 2
    sequences = []
    for label in y:
        n_tokens = int(rng.integers(5, 2 * SHORT)) if kind == "varying lengths" else SHORT
        tokens = STREAMS[kind](rng, n_tokens)
        tokens[rng.integers(n_tokens)] += label * SIGNAL * np.eye(DIM)[0]
        sequences.append(tokens)
    return sequences, y


def alarms(model: Any, kind: str, n_streams: int, rng: np.random.Generator) -> int:
    """Return how many harmless streams raised an alarm."""
    stream = model.stream(fpr=RATE, n_tokens=LONG)
    whole = [STREAMS[kind](rng, LONG) for _ in range(n_streams)]
    beginnings = [tokens[:end] for tokens in whole for end in stream.checks]
    scores = model.decision_function(beginnings).reshape(n_streams, -1)
    for tokens, score in zip(whole[:2], scores, strict=False):
        stream.reset()
        for token in tokens:
            stream.update(token)
        assert stream.alarm == (score.max() > stream.threshold)
    return int((scores.max(axis=1) > stream.threshold).sum())


def main(n_streams: int = 500, seed: int = 0) -> None:
    """Print the rate of any alarm for every kind of stream and both classifiers."""
    print(f"rate of any alarm, asked {RATE:.0%}; kept if within a factor {FACTOR}")
    table = Table(
        "streams:16", "classifier:22", "rate:6.1%", "± s.e.:6.1%", "of each training set:20s"
    )
    kept = 0
    for kind in STREAMS:
        for name, make in KINDS.items():
            rates = []
            for number in range(SETS):
                rng = np.random.default_rng([seed, number])
                model = make().fit(*training_set(kind, rng))
                rates.append(alarms(model, kind, n_streams, rng) / n_streams)
            rate, error = mean_and_error(rates)
            kept += RATE / FACTOR <= rate <= RATE * FACTOR
            each = ", ".join(f"{100 * one:.1f}" for one in rates)
            table.add(kind, name, rate, error, each)
    print(f"within a factor {FACTOR}: {kept} of {len(STREAMS) * len(KINDS)}")
