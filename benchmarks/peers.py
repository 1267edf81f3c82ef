"""All classifiers by name: ours, and what else people use on bags.

Each has ``fit`` and ``decision_function``. Those in torch stand in ``torch_peers``.
"""

import importlib
import importlib.util
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from sklearn.base import BaseEstimator
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegressionCV
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

import sparsetoken as st
from sparsetoken.losses import Logistic
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


class MaxProbe(BaseEstimator):  # type: ignore[misc]
    """Σ over heads of the largest score w·x of a bag's tokens, as monitors of language models use.

    With ``window`` tokens are first replaced by means of so many successive ones: the largest
    rolling mean of a linear probe. Logistic loss, L-BFGS from small random weights; the ridge is
    chosen by inner folds.
    """

    def __init__(self, heads: int = 4, window: int = 1) -> None:
        self.heads, self.window = heads, window

    def fit(self, X: st.Sequences, y: Labels) -> "MaxProbe":
        self.scaler_ = StandardScaler().fit(X.tokens.astype(float))
        tokens, starts = self._tokens(X)
        bag = np.repeat(np.arange(len(X)), np.diff(starts))
        folds = StratifiedKFold(3, shuffle=True, random_state=0)
        aucs = dict.fromkeys((0.01, 0.1, 1.0), 0.0)
        for train, test in folds.split(y, y):
            mask, its_starts = np.isin(bag, train), np.append(0, np.cumsum(np.diff(starts)[train]))
            for ridge in aucs:
                probe = _fit_max(tokens[mask], its_starts, y[train], ridge, self.heads)
                aucs[ridge] += roc_auc_score(y[test], _largest(tokens, starts, *probe)[test])
        self.probe_ = _fit_max(tokens, starts, y, max(aucs, key=aucs.__getitem__), self.heads)
        return self

    def decision_function(self, X: st.Sequences) -> Floats:
        return _largest(*self._tokens(X), *self.probe_)

    def _tokens(self, X: st.Sequences) -> tuple[Floats, Labels]:
        """Return scaled tokens, or their rolling means, and where each bag begins."""
        tokens = self.scaler_.transform(X.tokens)
        if self.window == 1:
            return tokens, X.offsets
        sums = np.concatenate([np.zeros((1, X.dim)), np.cumsum(tokens, axis=0)])
        size = np.minimum(X.lengths, self.window)
        starts = np.append(0, np.cumsum(X.lengths - size + 1))
        first = np.arange(starts[-1]) + np.repeat(X.offsets[:-1] - starts[:-1], np.diff(starts))
        length = np.repeat(size, np.diff(starts))
        return (sums[first + length] - sums[first]) / length[:, np.newaxis], starts


def _largest(tokens: Floats, starts: Labels, weights: Floats, bias: float) -> Floats:
    return np.maximum.reduceat(tokens @ weights.T, starts[:-1], axis=0).sum(axis=1) + bias


def _fit_max(
    tokens: Floats, starts: Labels, y: Labels, ridge: float, heads: int
) -> tuple[Floats, float]:
    """Minimize the log-loss; the slope passes through the largest token of each head."""
    rng, sign, dim = np.random.default_rng(0), np.where(y == 1, 1.0, -1.0), tokens.shape[1]

    def objective(point: Floats) -> tuple[float, Floats]:
        weights = point[:-1].reshape(heads, dim)
        scores = np.split(tokens @ weights.T, starts[1:-1])
        top = starts[:-1, np.newaxis] + np.array([one.argmax(axis=0) for one in scores])
        chosen = tokens[top]  # (n, heads, d)
        margin = np.einsum("nhd,hd->n", chosen, weights) + point[-1]
        slope = Logistic.derivative(margin, sign) / len(y)
        value = float(Logistic.value(margin, sign).mean()) + 0.5 * ridge * float((weights**2).sum())
        by_weights = np.einsum("n,nhd->hd", slope, chosen) + ridge * weights
        return value, np.append(by_weights.ravel(), slope.sum())

    start = np.append(0.1 * rng.standard_normal(heads * dim) / np.sqrt(dim), 0.0)
    point = minimize(objective, start, jac=True, method="L-BFGS-B", options={"maxiter": 100}).x
    return point[:-1].reshape(heads, dim), float(point[-1])


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


OURS: Makers = {
    "sparsetoken": lambda: st.SparseTokenClassifier(random_state=0),
    "monotone": lambda: st.SparseTokenClassifier(monotone=True, random_state=0),
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
