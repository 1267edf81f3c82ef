"""Whether data look like the sparse-token model, and where they do not."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sparsetoken.sequences.data import Data
from sparsetoken.sequences.sequences import Sequences

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]

_FAR = 2.0  # a factor from what the model says
_FAR_TAILS = 1.5  # thousands of tokens scatter by a few hundredths


@dataclass(frozen=True)
class ModelFit:
    """How well the model describes data: each number beside what the model says.

    Parameters
    ----------
    gain : float
        Mean log-likelihood ratio, signal to no signal, of held-out sequences that should carry it,
        in nats a sequence. The model says positive: their tokens are likelier with the signal.
    harmless : float
        The same of held-out sequences that should not carry it. The model says negative.
    tails : float
        Variance of the squared lengths of tokens without signal over that of Gaussian noise. The
        model says one; outliers make it large, and clusters large or small.
    shared : float
        Variance of the mean token of a sequence over that of independent tokens. The model says
        one; what all tokens of a sequence have in common makes it large.
    odds : float
        What the log-odds must be multiplied by to fit held-out labels. The model says one; near
        zero the odds mean little.
    """

    gain: float
    harmless: float
    tails: float
    shared: float
    odds: float

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
        if not 1.0 / _FAR_TAILS < self.tails < _FAR_TAILS:
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
    data: Data, mean: Floats, whitening: Floats, scores: Floats, index: Indices, odds: float
) -> ModelFit:
    """Return how well the model describes labelled sequences.

    Parameters
    ----------
    data : Data
        The sequences.
    mean, whitening : ndarray of shape (d,), (d, d) or (d,)
        White coordinates of a token are (x − mean) times the whitening, a matrix or a scale.
    scores : ndarray of shape (n, C)
        Log-odds of the sequences when they were held out, NaN where they never were.
    index : ndarray of int, shape (n,)
        The class of each.
    odds : float
        The factor that made log-odds of the model's.
    """
    n_columns = scores.shape[1]
    carries = index[:, np.newaxis] == (np.arange(n_columns) if n_columns > 1 else 1)
    seen = np.isfinite(scores)
    ratio = scores / odds
    gain, harmless = (
        float(ratio[seen & which].mean()) if (seen & which).any() else np.nan
        for which in (carries, ~carries)
    )
    without = ~carries[:, 0] if n_columns == 1 else np.ones(len(index), dtype=bool)
    squares, fourths, means = data.per_sample(token_moments, mean, whitening)[without].T
    lengths = data.lengths[without]
    average = squares.sum() / lengths.sum()
    variance = fourths.sum() / lengths.sum() - average**2
    # Coordinates of variances e have squared lengths of mean Σe and variance 2Σe².
    rows = (without / lengths.sum(),)
    (second, first) = data.total(token_covariance, rows, mean, whitening)
    expected = 2.0 * float(((second - np.outer(first, first)) ** 2).sum())
    return ModelFit(
        gain,
        harmless,
        float(variance / expected) if expected > 0 else np.nan,
        float(np.mean(means * lengths) / average) if average > 0 else np.nan,
        odds,
    )


def token_moments(sequences: Sequences, mean: Floats, whitening: Any) -> Floats:
    """Return sums of squared lengths and of their squares, and the mean's squared length."""
    white, starts = _white(sequences, mean, whitening), sequences.offsets[:-1]
    squared = np.einsum("td,td->t", white, white)
    average = np.add.reduceat(white, starts) / sequences.lengths[:, np.newaxis]
    sums = (np.add.reduceat(part, starts) for part in (squared, squared**2))
    return np.stack([*sums, np.einsum("nd,nd->n", average, average)], axis=1)


def token_covariance(
    sequences: Sequences, weights: Floats, mean: Floats, whitening: Any
) -> tuple[Floats, Floats]:
    """Return weighted sums of white tokens' outer products, and of the tokens."""
    white = _white(sequences, mean, whitening)
    weighted = white * np.repeat(weights, sequences.lengths)[:, np.newaxis]
    return white.T @ weighted, weighted.sum(axis=0)


def _white(sequences: Sequences, mean: Floats, whitening: Any) -> Floats:
    centered = sequences.tokens - mean
    white: Floats = centered * whitening if whitening.ndim == 1 else centered @ whitening
    return white
