"""All classifiers by name: ours, and what else people use on bags.

Each has ``fit`` and ``decision_function``. Those in torch stand in ``torch_peers``.
"""

import importlib
import importlib.util
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegressionCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

import sparsetoken as st
from sparsetoken.estimators.attention_heads import AttentionHeads, PooledHeads
from sparsetoken.estimators.kernel_heads import KernelHeads
from sparsetoken.estimators.posterior_heads import PosteriorHeads
from sparsetoken.estimators.trees import Trees
from sparsetoken.sequences.sequences import as_sequences

Labels = NDArray[np.int64]
Floats = NDArray[np.float64]
Makers = dict[str, Callable[[], Any]]


def torch_peer(name: str, *arguments: Any) -> Any:
    """Return a peer of ``torch_peers``, which is imported only now."""
    return getattr(importlib.import_module("benchmarks.torch_peers"), name)(*arguments)


def installed(names: list[str]) -> list[str]:
    """Return the names of those peers whose libraries are here, and name the others."""
    for words, library in (("probe", "torch"), ("abmil", "torchmil")):
        missing = [name for name in names if words in name.lower()]
        if missing and importlib.util.find_spec(library) is None:
            print(f"{', '.join(missing)}: skipped, {library} is not installed")
            names = [name for name in names if name not in missing]
    return names


def bag_means(values: Floats, X: st.Sequences) -> Floats:
    return np.add.reduceat(values, X.offsets[:-1]) / X.lengths[:, np.newaxis]


def mean_token(X: st.Sequences) -> Floats:
    return bag_means(X.tokens, X)


def largest_values(X: st.Sequences) -> Floats:
    return np.maximum.reduceat(X.tokens, X.offsets[:-1])


def statistics(X: st.Sequences) -> Floats:
    """Return mean, max, min and standard deviation of each bag's tokens."""
    tokens, starts = X.tokens.astype(float), X.offsets[:-1]
    mean = bag_means(tokens, X)
    spread = np.sqrt(bag_means((tokens - np.repeat(mean, X.lengths, axis=0)) ** 2, X))
    ends = np.maximum.reduceat(tokens, starts), np.minimum.reduceat(tokens, starts)
    return np.concatenate([mean, *ends, spread], axis=1)


class Embedded(BaseEstimator):  # type: ignore[misc]
    """A classifier of one vector a bag, which ``embed`` makes of its tokens."""

    def __init__(self, model: Any, embed: Callable[[st.Sequences], Floats] = mean_token) -> None:
        self.model, self.embed = model, embed

    def fit(self, X: Any, y: Labels) -> "Embedded":
        self.model.fit(self.embed(as_sequences(X)), y)
        return self

    def decision_function(self, X: Any) -> Floats:
        """Return the classifier's score, or the probability of a positive bag less one half."""
        rows = self.embed(as_sequences(X))
        if hasattr(self.model, "decision_function"):
            return self.model.decision_function(rows)
        return self.model.predict_proba(rows)[:, 1] - 0.5


def logistic_by_folds(scoring: str, **options: Any) -> Any:
    """Return a logistic regression whose ridge is chosen by inner folds."""
    how: dict[str, Any] = {"cv": 5, "max_iter": 5000, "l1_ratios": (0.0,)}
    return LogisticRegressionCV(scoring=scoring, use_legacy_attributes=False, **how, **options)


def scaled_logistic(**options: Any) -> Any:
    return make_pipeline(StandardScaler(), logistic_by_folds("roc_auc", **options))


class InstanceMachine(BaseEstimator):  # type: ignore[misc]
    """MI-SVM: a support vector machine on the instance of each positive bag that it ranks first."""

    def __init__(self, kernel: str = "rbf", C: float = 1.0) -> None:
        self.kernel, self.C = kernel, C

    def fit(self, X: st.Sequences, y: Labels) -> "InstanceMachine":
        """Alternate between choosing instances and fitting, at most ten times."""
        self.scaler_ = StandardScaler().fit(X.tokens)
        tokens = self.scaler_.transform(X.tokens)
        negative = tokens[np.repeat(y == 0, X.lengths)]
        chosen, before = bag_means(tokens, X)[y == 1], None
        for _ in range(10):
            rows = np.concatenate([chosen, negative])
            machine = SVC(C=self.C, kernel=self.kernel, class_weight="balanced")
            self.model_ = machine.fit(rows, np.arange(len(rows)) < len(chosen))
            parts = np.split(self.model_.decision_function(tokens), X.offsets[1:-1])
            picked = (X.offsets[:-1] + [part.argmax() for part in parts])[y == 1]
            if before is not None and np.array_equal(picked, before):
                break
            before, chosen = picked, tokens[picked]
        return self

    def decision_function(self, X: st.Sequences) -> Floats:
        """Return the largest score of a bag's instances."""
        scores = self.model_.decision_function(self.scaler_.transform(X.tokens))
        return np.maximum.reduceat(scores, X.offsets[:-1])


class SomeMembers(st.SparseTokenClassifier):
    """Some of the members, weighed and calibrated in the same way."""

    kept: Callable[[Any], bool]

    def _members(self, n_tokens: int | None) -> list[Any]:
        return [member for member in super()._members(n_tokens) if type(self).kept(member)]

    def _name_the_leading_head(self, *_: Any) -> None:
        """Trees have no heads."""


def some_members(kept: Callable[[Any], bool]) -> Any:
    return type("Some", (SomeMembers,), {"kept": staticmethod(kept)})(random_state=0)


OURS: Makers = {
    "sparsetoken": lambda: st.SparseTokenClassifier(random_state=0),
    "attention": lambda: st.AttentionClassifier(random_state=0),
    "bayes": lambda: st.BayesAttentionClassifier(random_state=0),
}
QUICK: Makers = {
    "attention": OURS["attention"],
    "bayes": OURS["bayes"],
    "sparsetoken": lambda: st.SparseTokenClassifier(n_trees=100, random_state=0),
}
MODELS: Makers = {
    **OURS,
    "pooled": st.PooledClassifier,
    "mean": lambda: Embedded(scaled_logistic()),
    "extra": lambda: Embedded(ExtraTreesClassifier(500, random_state=0), statistics),
    "forest": lambda: Embedded(RandomForestClassifier(500, random_state=0), statistics),
    "misvm": InstanceMachine,
    "probe": lambda: torch_peer("AttentionProbe"),
    "abmil": lambda: torch_peer("EmbeddedABMIL"),
}


def is_named(name: str, member: Any) -> bool:
    return bool(member.name == name)


def is_no(kind: type, member: Any) -> bool:
    return type(member) is not kind


ABLATED: Makers = {
    f"only-{name}": partial(some_members, partial(is_named, name))
    for name in ("attention", "pooled", "statistics")
} | {
    f"without-{name}": partial(some_members, partial(is_no, kind))
    for name, kind in (
        ("sharp", AttentionHeads),
        ("posterior", PosteriorHeads),
        ("mean", PooledHeads),
        ("kernel", KernelHeads),
        ("trees", Trees),
    )
}
"""The stack with one kind of members alone, and without one kind."""
