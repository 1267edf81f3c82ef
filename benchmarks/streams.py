"""Harmless streams: how many raise an alarm at any time, if 5 % are asked for.

``python -m benchmarks.streams [STREAMS] [SEED]``: so many of each of six kinds, for each
of twelve training sets. Training sequences have about 30 tokens, streams 60. Scores are those of
the beginnings of a sequence, all at once, which is what a stream has token by token.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.families import Rng
from benchmarks.peers import QUICK
from benchmarks.report import Table, mean_and_error, run

RATE, FACTOR = 0.05, 1.5
TRAIN, SHORT, LONG = 300, 30, 60
WIDTH, SIGNAL = 16, 5.0
Tokens = NDArray[np.float64]


def autocorrelated(rng: Rng, n_tokens: int) -> Tokens:
    tokens = rng.standard_normal((n_tokens, WIDTH))
    for i in range(1, n_tokens):
        tokens[i] = 0.7 * tokens[i - 1] + np.sqrt(1.0 - 0.7**2) * tokens[i]
    return tokens


def favorites(rng: Rng, n_tokens: int) -> Tokens:
    """Tokens of five kinds; each sequence has favorites."""
    centers = 2.0 * np.random.default_rng(0).standard_normal((5, WIDTH)) / np.sqrt(WIDTH / 4)
    kinds = rng.choice(5, n_tokens, p=rng.dirichlet(np.ones(5)))
    return centers[kinds] + rng.standard_normal((n_tokens, WIDTH))


def drifting_scale(rng: Rng, n_tokens: int) -> Tokens:
    """Each sequence becomes louder or softer, by up to a factor two."""
    scale = np.exp(rng.uniform(-1, 1) * np.log(2) * np.linspace(0, 1, n_tokens))
    return scale[:, np.newaxis] * rng.standard_normal((n_tokens, WIDTH))


STREAMS: dict[str, Callable[[Rng, int], Tokens]] = {
    "Gaussian": lambda rng, n: rng.standard_normal((n, WIDTH)),
    "heavy tails": lambda rng, n: rng.standard_t(3, (n, WIDTH)) / np.sqrt(3.0),
    "autocorrelated": autocorrelated,
    "varying lengths": lambda rng, n: rng.standard_normal((n, WIDTH)),
    "clusters": favorites,
    "drifting scale": drifting_scale,
}
"""(generator, tokens) → a harmless sequence."""


def training_set(kind: str, rng: Rng) -> tuple[list[Any], Any]:
    """Return harmless sequences, half of them with a signal in one token."""
    y, sequences = np.arange(TRAIN) % 2, []
    for label in y:
        n_tokens = int(rng.integers(5, 2 * SHORT)) if kind == "varying lengths" else SHORT
        tokens = STREAMS[kind](rng, n_tokens)
        tokens[rng.integers(n_tokens)] += label * SIGNAL * np.eye(WIDTH)[0]
        sequences.append(tokens)
    return sequences, y


def alarms(model: Any, kind: str, n_streams: int, rng: Rng) -> int:
    """Return how many harmless streams raised an alarm."""
    stream = model.stream(fpr=RATE, n_tokens=LONG)
    whole = [STREAMS[kind](rng, LONG) for _ in range(n_streams)]
    beginnings = [tokens[:end] for tokens in whole for end in stream.checks]
    scores = model.decision_function(beginnings).reshape(n_streams, -1)
    return int((scores.max(axis=1) > stream.threshold).sum())


def main(streams: int = 500, seed: int = 0, sets: int = 12) -> None:
    print(f"rate of any alarm, asked {RATE:.0%}; kept if within a factor {FACTOR}")
    table = Table("streams:16", "classifier:12", "rate:6.1%", "± s.e.:6.1%", "of each set:20s")
    kept = []
    for kind in STREAMS:
        for name in ("attention", "sparsetoken"):
            rates = []
            for number in range(sets):
                rng = np.random.default_rng([seed, number])
                model = QUICK[name]().fit(*training_set(kind, rng))
                rates.append(alarms(model, kind, streams, rng) / streams)
            rate, error = mean_and_error(rates)
            kept.append(RATE / FACTOR <= rate <= RATE * FACTOR)
            table.add(kind, name, rate, error, ", ".join(f"{100 * one:.1f}" for one in rates))
    print(f"within a factor {FACTOR}: {sum(kept)} of {len(kept)}")


if __name__ == "__main__":
    run(main)
