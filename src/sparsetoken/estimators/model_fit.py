"""Whether data look like the sparse-token model, and where they do not."""

from dataclasses import dataclass

import numpy as np

from sparsetoken._types import Bools, Floats
from sparsetoken.sequences.sequences import Sequences

_FAR = 2.0  # a factor from what the model says
_FAR_TAILS = 1.5  # beside what so many tokens scatter by chance


@dataclass(frozen=True)
class ModelFit:
    """How well the model describes data: each number beside what the model says.

    The model says that ``gain`` is positive, ``harmless`` negative, and the others are one.
    """

    gain: float
    """Mean log-likelihood ratio, of signal to none, of held-out sequences that should carry it."""
    harmless: float
    """The same of held-out sequences that should not carry it."""
    tails: float
    """Variance of the squared lengths of tokens without signal over that of Gaussian noise:
    outliers make it large, and clusters large or small."""
    shared: float
    """Variance of the mean token of a sequence over that of independent tokens; what all tokens of
    a sequence have in common makes it large."""
    odds: float
    """What the log-odds must be multiplied by to fit held-out labels; near zero they say little."""
    n_tokens: int
    """Tokens that ``tails`` and ``shared`` were computed from."""

    @property
    def holds(self) -> bool:
        """Whether nothing is far from what the model says."""
        return not self._failures()

    def _failures(self) -> list[str]:
        failures = []
        if not self.gain > 0:
            failures.append(
                "The tokens of held-out positive sequences are not likelier with the signal than "
                "without: nothing of it was found."
            )
        if not self.harmless < 0:
            failures.append(
                "The tokens of held-out negative sequences are likelier with the signal: something "
                "in them resembles it."
            )
        far = _FAR_TAILS * (1.0 + 3.0 * np.sqrt(2.0 / self.n_tokens))
        if not 1.0 / far < self.tails < far:
            failures.append(
                f"The squared lengths of tokens vary {self.tails:.2g} times as much as those of "
                "Gaussian noise: there are clusters or outliers."
            )
        if self.shared > _FAR:
            failures.append(
                f"The mean token varies {self.shared:.1f} times as much between sequences as if "
                "tokens were independent: center each sequence, or expect less."
            )
        if not 1.0 / _FAR < self.odds < _FAR:
            failures.append(f"The odds must be taken to the power {self.odds:.2g} to be right.")
        return failures

    def __str__(self) -> str:
        numbers = (
            f"Log-likelihood ratio of held-out sequences, nats: {self.gain:.2f} with the signal, "
            f"{self.harmless:.2f} without."
        )
        failures = self._failures()
        if not failures:
            return f"The model describes these data well.\n{numbers}"
        advice = "Compare with SparseTokenClassifier, which does not rely on the model."
        return "\n".join(["The model fails here:", *(f"- {f}" for f in failures), numbers, advice])


def describe_fit(
    noise: Sequences, mean: Floats, whitening: Floats, scores: Floats, carries: Bools, odds: float
) -> ModelFit:
    """Return how well the model describes labelled sequences.

    ``noise`` are some of those that should not carry the signal. ``scores`` are the log-odds (n, C)
    of all sequences when they were held out, or NaN; ``carries`` says which should carry the
    signal, and ``odds`` is the factor that made log-odds of the model's.
    """
    seen = np.isfinite(scores)
    gain, harmless = (
        float(scores[seen & which].mean() / odds) if (seen & which).any() else np.nan
        for which in (carries, ~carries)
    )
    centered = noise.tokens - mean
    white = centered * whitening if whitening.ndim == 1 else centered @ whitening
    lengths, starts = noise.lengths, noise.offsets[:-1]
    squared = np.einsum("td,td->t", white, white)
    means = np.add.reduceat(white, starts) / lengths[:, np.newaxis]
    shared = float(np.mean((means**2).sum(axis=1) * lengths))
    # Coordinates of covariance C have squared lengths of mean tr C and variance 2 tr C². So few
    # tokens show tr C² too large by (tr C)² / tokens.
    white -= white.mean(axis=0)
    gram = white.T @ white if len(white) > white.shape[1] else white @ white.T
    count, trace = len(white) - 1.0, float(np.trace(gram))
    expected = 2.0 * (float((gram**2).sum()) - trace**2 / count) / max(count, 1.0) ** 2
    tails = float(squared.var() / expected) if expected > 0 else np.nan
    shared = shared / float(squared.mean()) if squared.any() else np.nan
    return ModelFit(gain, harmless, tails, shared, odds, len(white))
