"""What a fitted model found, and what is wrong with it or with its data."""

from collections.abc import Iterator

import numpy as np
from scipy.special import ndtr
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, StandardScaler

from sparsetoken._types import Bools, Floats, Indices
from sparsetoken.estimators.answers import Diagnosis, Finding
from sparsetoken.estimators.attention_heads import AttentionHeads
from sparsetoken.estimators.base import SequenceClassifier
from sparsetoken.estimators.folds import auc_influence, class_signs, mean_auc
from sparsetoken.estimators.posterior_heads import likely_kinds
from sparsetoken.inspection import data_faults
from sparsetoken.sequences.data import Data
from sparsetoken.sequences.passes import attention_features, fingerprints, pooled_features

_CERTAIN = 2.6  # standard errors of an AUC from chance: one in 200 by accident
_CROSS_VALIDATED = 1.5  # so much more an AUC of noise scatters, as the fits share their samples
_CONVINCING = 0.9  # AUC of held-out samples: whatever finds these few tokens has found the query
_CONVINCING_NEGATIVES, _CLEARLY = 0.97, 0.04  # AUC of heads for them, and ahead of the others
_LOW_RELIABILITY = 0.7
_SHIFTED, _LEAST_SHIFT = 3.0, 0.05  # standard errors, and AUC, that new scores lie below held-out


Aucs = dict[str, float]
"""By what the sequences are scored by: "model", "pooled", "attention" and so on."""


def diagnose(
    model: SequenceClassifier, data: Data, index: Indices, refitted: Floats | None = None
) -> Diagnosis:
    """Look at the scores, at simple readouts of the tokens, and at the data themselves.

    ``refitted`` are scores of the data by refits that did not see them, if there were any.
    """
    counts = np.bincount(index)
    if counts.min() < 2:
        raise ValueError("diagnose needs at least two samples of each class")
    signs, reference = class_signs(index), model.reference_
    scores, seen = _held_out_scores(model, data)
    if refitted is not None:
        scores, seen = refitted.reshape(len(data), -1), np.ones(len(data), dtype=bool)
    spread = data_faults.token_spread(data)
    auc = {"model": mean_auc(scores, signs), **_simple_aucs(model, data, spread, signs)}
    held_out_counts, shifted, decisions = counts, False, None
    if reference is not None and np.isfinite(reference.scores).all(axis=1).any():
        rows = np.isfinite(reference.scores).all(axis=1)
        held_out = reference.scores[rows], class_signs(reference.classes)[rows]
        auc["held out"] = mean_auc(*held_out)
        held_out_counts = np.bincount(reference.classes[rows], minlength=len(counts))
        new_counts = np.bincount(index[~seen], minlength=len(counts))
        if min(*new_counts, *held_out_counts) > 1:
            new = scores[~seen], signs[~seen]
            shifted = _clearly_below(_auc(*new), _auc(*held_out))
            right = _fraction_right(*new), _fraction_right(*held_out)
            decisions = (right[0][0], right[1][0]) if _clearly_below(*right) else None
    error = float(np.sqrt(max(auc["pooled"] * (1.0 - auc["pooled"]), 0.01) / counts.min()))
    above = _above_chance(auc, counts, held_out_counts, bool(seen.any()))
    kind = _kind(model, auc, error) if above["model"] > _CERTAIN else "nothing found"
    shifted = shifted and above["reversed"] <= _CERTAIN
    findings = (
        data_faults.duplicated(data),
        data_faults.few_samples(counts, model.classes_),
        data_faults.outlying(spread),
        *_faults_of_the_scores(auc, above, shifted, decisions),
        *_faults_of_the_model(model, auc, above, kind, error, shifted),
        data_faults.constant(data),
    )
    half = model.half_auc_
    more = None if half is None else bool(auc.get("held out", half) - half > 0.5 * error)
    if not more and any(finding.found and finding.asks_for_samples for finding in findings):
        more = None
    sparse = kind == "a few tokens" and len(counts) == 2
    n_kinds = likely_kinds(model.as_stack()) if sparse else None
    return Diagnosis(findings, auc, float(ndtr(-above["model"])), kind, more, n_kinds)


Measured = tuple[float, float]
"""A number and its variance."""


def _clearly_below(new: Measured, held_out: Measured) -> bool:
    below = held_out[0] - new[0]
    return bool(below > _LEAST_SHIFT and below > _SHIFTED * np.sqrt(new[1] + held_out[1]))


def _auc(scores: Floats, signs: Floats) -> Measured:
    fewest = min((signs > 0).sum(axis=0).min(), (signs < 0).sum(axis=0).min())
    auc, influence = auc_influence(scores, signs)
    return auc, max(float(influence @ influence), 0.01 / float(fewest))


def _fraction_right(scores: Floats, signs: Floats) -> Measured:
    """Measure the fraction called right; each class counts alike, however frequent it is."""
    several = signs.shape[1] > 1
    truth = signs.argmax(axis=1) if several else (signs[:, 0] > 0).astype(int)
    called = scores.argmax(axis=1) if several else (scores[:, 0] > 0).astype(int)
    counts = np.bincount(truth)
    right = np.bincount(truth, called == truth) / counts
    variances = np.maximum(right * (1.0 - right), 0.01) / counts
    return float(right.mean()), float(variances.sum()) / len(counts) ** 2


def _above_chance(
    auc: Aucs, counts: Indices, held_out_counts: Indices, cross_validated: bool
) -> Aucs:
    """Return how many standard errors of chance each AUC is above one half."""
    chance = chance_error(counts)
    wide, held_out_error = (_CROSS_VALIDATED * e for e in (chance, chance_error(held_out_counts)))
    of_model = wide if cross_validated else chance
    held_out = (auc.get("held out", auc["attention"]) - 0.5) / held_out_error
    return {
        "model": min((auc["model"] - 0.5) / of_model, held_out),
        "pooled": (auc["pooled"] - 0.5) / wide,
        "spread": (auc["spread"] - 0.5) / wide,
        "length": abs(auc["length"] - 0.5) / chance,
        "reversed": (0.5 - auc["model"]) / of_model,
    }


def _simple_aucs(model: SequenceClassifier, data: Data, spread: Floats, signs: Floats) -> Aucs:
    """Return the AUC of simple readouts: of the mean token, attended ones, spread and length."""
    queries = model.leading_query()
    attended, reversed_ = (
        _readout_auc([data.per_sample(attention_features, sign * q) for q in queries], signs)
        for sign in (1.0, -1.0)
    )
    return {
        "pooled": _readout_auc([data.per_sample(pooled_features)], signs),
        "attention": attended,
        "reversed": reversed_,
        "spread": _readout_auc([spread], signs),
        "length": mean_auc(np.log(data.lengths)[:, np.newaxis], signs[:, :1]),
    }


def chance_error(counts: Indices) -> float:
    """Return the standard error of an AUC without any signal."""
    smaller, n_samples = max(int(counts.min()), 1), int(counts.sum())
    return float(np.sqrt((n_samples + 1) / (12.0 * smaller * (n_samples - smaller))))


def _held_out_scores(model: SequenceClassifier, data: Data) -> tuple[Floats, Bools]:
    """Return scores, and a mask of the samples whose score comes from a fold without them."""
    seen = np.zeros(len(data), dtype=bool)
    scores = model.as_stack().scores(data)
    trained, reference = model.fingerprints_, model.reference_
    if reference is None or len(trained) != len(reference.scores):
        return scores, seen
    held_out, marks, order = reference.scores, data.per_sample(fingerprints), np.argsort(trained)
    place = order[np.minimum(np.searchsorted(trained, marks, sorter=order), len(trained) - 1)]
    seen = (trained[place] == marks) & np.isfinite(held_out[place]).all(axis=1)
    scores[seen] = held_out[place[seen]]
    return scores, seen


def _readout_auc(features: list[Floats], signs: Floats) -> float:
    """Return the cross-validated AUC of ridge readouts; features: one array, or one per class."""
    scores, scaler = np.empty(signs.shape), make_pipeline(MaxAbsScaler(), StandardScaler())
    for column, sign in enumerate(signs.T):
        scaled = scaler.fit_transform(features[column % len(features)])
        folds = min(5, int((sign > 0).sum()), int((sign < 0).sum()))
        ridge = 10.0 / (len(sign) * (1.0 - 1.0 / folds))
        readout = LogisticRegression(C=ridge, tol=1e-8, max_iter=1000)
        cv = StratifiedKFold(folds, shuffle=True, random_state=0)
        scores[:, column] = cross_val_predict(
            readout, scaled, sign, cv=cv, method="decision_function"
        )
    return mean_auc(scores, signs)


def _kind(model: SequenceClassifier, auc: Aucs, error: float) -> str:
    """Say what decides: the member of largest weight, or attention if it beats pooling."""
    if model.reference_ is None:  # nothing was weighed by samples held out
        sparse = model.leading_query().any() and auc["attention"] > auc["pooled"] + error
        return "a few tokens" if sparse else "the mean token"
    names = {"pooled": "the mean token", "statistics": "the sequence as a whole"}
    members = model.members_
    return names.get(max(members, key=lambda name: members[name]), "a few tokens")


def _faults_of_the_scores(
    auc: Aucs, above: Aucs, shifted: bool, decisions: tuple[float, float] | None
) -> Iterator[Finding]:
    """Yield what the scores tell of the data that were given.

    ``shifted``: these are told apart clearly worse than those held out in fit. ``decisions``: the
    fractions called right, here and when held out, if the first is clearly smaller.
    """
    yield Finding(
        "length predicts the label",
        above["length"] > _CERTAIN + 1.0 and abs(auc["length"] - 0.5) > 0.15,
        f"The number of tokens alone has AUC {max(auc['length'], 1.0 - auc['length']):.3f}.",
        "If that comes from how the data were collected, cut sequences to equal lengths.",
    )
    yield Finding(
        "scores the wrong way round",
        above["reversed"] > _CERTAIN,
        f"High scores go with the other class (AUC {auc['model']:.3f}).",
        "Check which label is which: they seem to be swapped here.",
    )
    yield Finding(
        "other data than those of training",
        shifted,
        f"These sequences differ from the training data: their scores have AUC {auc['model']:.3f}, "
        f"those of samples held out in fit {auc.get('held out', np.nan):.3f}.",
        "Compare how both were collected, scaled and labelled; fit to sequences like these.",
    )
    here, before = decisions or (1.0, 1.0)
    yield Finding(
        "scores moved off the threshold",
        decisions is not None and not shifted and above["reversed"] <= _CERTAIN,
        f"The scores still rank these sequences (AUC {auc['model']:.3f}), but {here:.0%} are "
        f"called right, where {before:.0%} of those held out in fit were (classes count alike).",
        "These sequences differ from the training data: compare how both were collected and "
        "scaled, fit to sequences like these, or set another threshold on decision_function.",
    )
    held_out = f", of samples held out in fit {auc['held out']:.3f}" if "held out" in auc else ""
    yield Finding(
        "nothing beats chance",
        not shifted and max(above.values()) <= _CERTAIN,
        f"Neither the model (AUC {auc['model']:.3f}{held_out}) nor the mean, the spread or the "
        "number of tokens tells the classes apart.",
        "Check that each label belongs to its sequence. If so, try other features or many more "
        "samples.",
        asks_for_samples=True,
    )


def _faults_of_the_model(
    model: SequenceClassifier, auc: Aucs, above: Aucs, kind: str, error: float, shifted: bool
) -> Iterator[Finding]:
    """Yield what may be wrong with a model; other data than those of training do not accuse it."""
    members, attends = model.members_, bool(np.any(model.leading_query()))
    decides = attends and not shifted and (model.reference_ is None or kind == "a few tokens")
    advice = "Give it more samples, or another random_state."
    if model.reference_ is None:
        advice = (
            "Match the bias step to the class prior, lower lr_readout, or use "
            "AttentionClassifier, whose start weighs both classes equally."
        )
    yield Finding(
        "anti-aligned query",
        decides and auc["reversed"] > auc["attention"] + 2.0 * error,
        f"Attention to the opposite tokens classifies better (AUC {auc['reversed']:.3f} "
        f"instead of {auc['attention']:.3f}).",
        advice,
    )
    yield _tokens_of_the_negatives(model)
    least = min(auc["model"], auc.get("held out", auc["attention"]))
    other = _others(model, "SparseTokenClassifier")
    yield Finding(
        "spread tells more than the model",
        not shifted and above["spread"] > _CERTAIN and auc["spread"] > least + 2.0 * error,
        f"Deviations and extremes of the tokens have AUC {auc['spread']:.3f}.",
        "The signal is not a shifted mean: "
        + (f"use {other}." if other else "add such statistics to the features."),
    )
    reliability = model.query_reliability_
    doubtful = reliability < _LOW_RELIABILITY and auc.get("held out", 0.5) < _CONVINCING
    yield Finding(
        "unreliable query",
        kind == "a few tokens" and doubtful,
        f"Queries learned on two halves hardly agree (estimated cosine {reliability:.2f}).",
        "Collect more samples, reduce the dimension of the tokens, or strengthen the ridge. Do "
        "not rely on the weights of single tokens.",
        asks_for_samples=True,
    )
    no_better = not attends or auc["attention"] <= auc["pooled"] + error
    yield Finding(
        "attention no better than pooling",
        not shifted and "attention" in members and "statistics" not in members and no_better,
        f"The mean token classifies as well (AUC {auc['pooled']:.3f}, attention "
        f"{auc['attention']:.3f}).",
        f"Use {_others(model, 'SparseTokenClassifier', 'PooledClassifier')}. Or give attention "
        "more samples.",
        asks_for_samples=True,
    )


def _others(model: SequenceClassifier, *names: str) -> str:
    """Return those of the names that are not the classifier's own."""
    return " or ".join(name for name in names if name != type(model).__name__)


def _tokens_of_the_negatives(model: SequenceClassifier) -> Finding:
    """Compare the best sharp heads for one of two classes, by their AUC of held-out samples."""
    best = {-1.0: 0.0, 1.0: 0.0}  # by temperature
    for member in model.as_stack().members:
        if isinstance(member, AttentionHeads) and member.kind == "attention":
            for spec, auc in zip(member.specs, member.aucs, strict=False):
                if spec.temperature in best:
                    best[spec.temperature] = max(best[spec.temperature], auc)
    (first, second), (for_first, for_second) = model.classes_.tolist()[:2], best.values()
    return Finding(
        "tokens of the negatives decide",
        for_first > _CONVINCING_NEGATIVES and for_first > for_second + _CLEARLY,
        f"Tokens that speak for {first} tell the classes apart better (AUC {for_first:.3f}) than "
        f"those that speak for {second} ({for_second:.3f}).",
        f"If only {second} should be recognized by its tokens, a sequence that lacks something is "
        "mistaken for it: use SparseTokenClassifier(monotone=True).",
    )
