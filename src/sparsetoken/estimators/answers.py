"""What classifiers say: an explanation of a sequence, a diagnosis, how well their model fits."""

import warnings
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from sparsetoken._types import Bools, Floats, Indices
from sparsetoken._validation import import_extra

_FAR = 2.0  # a factor from what the model says
_FAR_TAILS = 1.5  # beside what so many tokens scatter by chance


class Explanation(NamedTuple):
    """The tokens of one sequence that matter most, the heaviest first."""

    tokens: Indices
    """Positions in the sequence, counted from 0."""
    weights: Floats
    """Attention on these tokens; over all tokens it sums to one."""
    contributions: Floats
    """What each adds to the score; over all tokens, with ``baseline`` and ``whole``, they sum to
    ``score``. A positive one speaks for ``speaks_for``."""
    score: float
    baseline: float
    """The score of a sequence whose tokens are all the mean training token."""
    whole: float
    """What members that see the sequence as a whole add to the score, and any clipping of a
    member's score."""
    speaks_for: Any
    """The class that positive contributions and a positive score speak for."""
    predicted: Any
    """The class that is predicted for the sequence."""
    kind: int | None = None
    """Which kind of signal is the likeliest, in the order of ``heads_``; None if one is known."""

    @property
    def label(self) -> Any:
        """The name of ``speaks_for`` in 0.3; it will go in 0.6."""
        message = "label is called speaks_for now, and will go in 0.6; see predicted, too"
        warnings.warn(message, FutureWarning, stacklevel=2)
        return self.speaks_for

    def __repr__(self) -> str:
        parts = []
        for name, value in self._asdict().items():
            if isinstance(value, np.ndarray):
                value = [float(f"{v:.3g}") if v % 1 else int(v) for v in value.tolist()]
            elif isinstance(value, float) and name not in ("speaks_for", "predicted"):
                value = float(f"{value:.3g}")
            parts.append(f"{name}={value!r}")
        return f"Explanation({', '.join(parts)})"

    def by_position(self) -> "Explanation":
        """Return the same tokens in the order of the sequence."""
        order = np.argsort(self.tokens)
        parts = {name: getattr(self, name)[order] for name in self._fields[:3]}
        return self._replace(**parts)

    def to_frame(self) -> Any:
        """Return the tokens as a pandas DataFrame: token, weight, contribution, speaks_for.

        ``speaks_for`` is the class, or "not" and the class for a negative contribution.
        """
        name = str(self.speaks_for)
        columns = {
            "token": self.tokens,
            "weight": self.weights,
            "contribution": self.contributions,
            "speaks_for": np.where(self.contributions >= 0, name, f"not {name}"),
        }
        return import_extra("pandas", "to_frame").DataFrame(columns)


class Finding(NamedTuple):
    """Something that can be wrong, and whether it is."""

    name: str
    found: bool
    message: str
    advice: str
    asks_for_samples: bool = False
    """Whether the advice is to collect more samples."""


@dataclass(frozen=True)
class Diagnosis:
    """What ``diagnose`` found.

    Of several classes an AUC is the mean. "model" is that of the given samples, by their held-out
    scores if ``fit`` has seen them; "held out" that of all samples that it held out. The others
    are cross-validated linear readouts: of the features of "attention", of those with the query
    "reversed", of the mean token ("pooled") and of the tokens' deviations and extremes ("spread"),
    and the number of tokens alone ("length").
    """

    findings: tuple[Finding, ...]
    """Everything that was looked for, the most important first."""
    auc: dict[str, float]
    p_value: float
    """How often chance alone would give an AUC as high as the model's, or as the held-out one."""
    kind: str
    """What decides the label: "a few tokens", "the mean token", "the sequence as a whole" or
    "nothing found"."""
    more_samples: bool | None
    """Whether a fit to half of the samples was clearly worse, so that more should help; None if
    that is not known, or if what was found asks for more samples anyway."""
    n_kinds: int | None = None
    """How many kinds of signal the posterior heads found, where a few tokens decide."""

    @property
    def problems(self) -> tuple[Finding, ...]:
        """Those problems that were found."""
        return tuple(finding for finding in self.findings if finding.found)

    def __str__(self) -> str:
        lines = [f"{problem.name}: {problem.message} {problem.advice}" for problem in self.problems]
        lines = lines or ["No problem found."]
        evidence = f"(AUC {self.auc['model']:.3f}, p = {self.p_value:.2g})"
        kinds = {None: "", 1: ", one kind of signal"}
        kinds_said = kinds.get(self.n_kinds, f", {self.n_kinds} kinds of signal")
        more = {
            None: "",
            True: " More samples should help.",
            False: " More samples would help little.",
        }
        lines.append(f"What decides: {self.kind}{kinds_said} {evidence}.{more[self.more_samples]}")
        return "\n".join(lines)


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
        far = _FAR_TAILS * (1.0 + 3.0 * np.sqrt(2.0 / self.n_tokens))
        odds_are_right = 1.0 / _FAR < self.odds < _FAR
        expected = {
            "The tokens of held-out positive sequences are not likelier with the signal than "
            "without: nothing of it was found.": self.gain > 0,
            "The tokens of held-out negative sequences are likelier with the signal: something in "
            "them resembles it.": self.harmless < 0,
            f"The squared lengths of tokens vary {self.tails:.2g} times as much as those of "
            "Gaussian noise: there are clusters or outliers.": 1.0 / far < self.tails < far,
            f"The mean token varies {self.shared:.1f} times as much between sequences as if tokens "
            "were independent: center each sequence, or expect less.": not self.shared > _FAR,
            f"The odds must be taken to the power {self.odds:.2g} to be right.": odds_are_right,
        }
        return [failure for failure, is_so in expected.items() if not is_so]

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
    white: Floats, offsets: Indices, scores: Floats, carries: Bools, odds: float
) -> ModelFit:
    """Return how well the model describes labelled sequences.

    ``white`` are the tokens, in standard coordinates, of some that should not carry the signal, cut
    by ``offsets``. ``scores`` are the log-odds (n, C) of all sequences when they were held out, or
    NaN; ``carries`` says which should carry the signal, and ``odds`` is the factor that made
    log-odds of the model's.
    """
    seen = np.isfinite(scores)
    gain, harmless = (
        float(scores[seen & which].mean() / odds) if (seen & which).any() else np.nan
        for which in (carries, ~carries)
    )
    squared = np.einsum("td,td->t", white, white)
    sums = np.add.reduceat(white, offsets[:-1])
    shared = float(np.mean((sums**2).sum(axis=1) / np.diff(offsets)))
    # Coordinates of covariance C have squared lengths of mean tr C and variance 2 tr C². So few
    # tokens show tr C² too large by (tr C)² / tokens.
    white = white - white.mean(axis=0)
    gram = white.T @ white if len(white) > white.shape[1] else white @ white.T
    count, trace = len(white) - 1.0, float(np.trace(gram))
    expected = 2.0 * (float((gram**2).sum()) - trace**2 / count) / max(count, 1.0) ** 2
    tails = float(squared.var() / expected) if expected > 0 else np.nan
    shared = shared / float(squared.mean()) if squared.any() else np.nan
    return ModelFit(gain, harmless, tails, shared, odds, len(white))
