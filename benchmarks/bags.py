"""Accuracy on bags: 5 × StratifiedKFold(10), the same folds for all. Takes hours with all peers.

``python -m benchmarks.bags --data FOLDER`` with ``tiger.npz``, ``fox.npz`` and ``musk1.npz`` in the
folder: arrays ``X`` (all instances stacked), ``bag`` (bag of each instance, sorted) and ``y`` (0/1
per bag). Sets that are missing are skipped, and so are peers that are not installed.
``--curves 20`` shows learning curves from 20 random splits instead of the folds.
"""

import argparse
import importlib.util
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.datasets import load_digits
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegressionCV
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from sparsetoken import AttentionClassifier, PooledClassifier, Sequences, SparseTokenClassifier

Labels = NDArray[np.int64]


class Result(NamedTuple):
    """Means over the folds, and the standard error of the AUC over them."""

    accuracy: float
    auc: float
    auc_error: float
    seconds: float


def needle_digits(n_bags: int = 300, seed: int = 0) -> tuple[Sequences, Labels]:
    """Return bags of about 20 digits; each positive one holds exactly one 9, used nowhere else."""
    rng = np.random.default_rng(seed)
    images, digits = load_digits(return_X_y=True)
    nines = rng.permutation(images[digits == 9])
    others = images[digits != 9]
    y = (np.arange(n_bags) < n_bags // 2).astype(np.int64)
    bags = []
    for i, label in enumerate(y):
        bag = others[rng.choice(len(others), rng.integers(15, 26), replace=False)]
        if label:
            bag[rng.integers(len(bag))] = nines[i]
        bags.append(bag)
    return Sequences.from_list(bags), y


def stored_bags(path: Path) -> tuple[Sequences, Labels]:
    with np.load(path, allow_pickle=False) as stored:
        offsets = np.concatenate([[0], np.cumsum(np.bincount(stored["bag"]))])
        return Sequences(stored["X"], offsets), stored["y"].astype(np.int64)


class MeanPooling(BaseEstimator):  # type: ignore[misc]
    """The usual baseline: ridge-regularised logistic regression of the mean instance."""

    def fit(self, X: Sequences, y: Labels) -> "MeanPooling":
        """Fit with the ridge chosen by inner folds."""
        scores = {"Cs": 10, "cv": 5, "max_iter": 5000, "scoring": "roc_auc"}
        extra = {"l1_ratios": (0.0,), "use_legacy_attributes": False}
        self.model_ = make_pipeline(StandardScaler(), LogisticRegressionCV(**scores, **extra))
        self.model_.fit(self._pooled(X), y)
        return self

    def decision_function(self, X: Sequences) -> NDArray[np.float64]:
        """Return the log-odds."""
        return self.model_.decision_function(self._pooled(X))

    def _pooled(self, X: Sequences) -> NDArray[np.float64]:
        return np.add.reduceat(X.tokens, X.offsets[:-1]) / X.lengths[:, np.newaxis]


class Statistics(BaseEstimator):  # type: ignore[misc]
    """Any classifier on mean, max, min and standard deviation of a bag's instances."""

    def __init__(self, model: Any) -> None:
        self.model = model

    def fit(self, X: Sequences, y: Labels) -> "Statistics":
        """Fit the classifier to the statistics."""
        self.model.fit(self._rows(X), y)
        return self

    def decision_function(self, X: Sequences) -> NDArray[np.float64]:
        """Return the probability of a positive bag, less one half."""
        return self.model.predict_proba(self._rows(X))[:, 1] - 0.5

    def _rows(self, X: Sequences) -> NDArray[np.float64]:
        tokens, starts = X.tokens.astype(float), X.offsets[:-1]
        mean = np.add.reduceat(tokens, starts) / X.lengths[:, np.newaxis]
        centred = (tokens - np.repeat(mean, X.lengths, axis=0)) ** 2
        spread = np.sqrt(np.add.reduceat(centred, starts) / X.lengths[:, np.newaxis])
        ends = np.maximum.reduceat(tokens, starts), np.minimum.reduceat(tokens, starts)
        return np.concatenate([mean, *ends, spread], axis=1)


class InstanceMachine(BaseEstimator):  # type: ignore[misc]
    """MI-SVM: an rbf support vector machine on the instance of each positive bag it ranks first."""

    def fit(self, X: Sequences, y: Labels) -> "InstanceMachine":
        """Alternate between choosing instances and fitting, at most ten times."""
        self.scaler_ = StandardScaler().fit(X.tokens)
        tokens = self.scaler_.transform(X.tokens)
        negative = np.repeat(y == 0, X.lengths)
        mean = np.add.reduceat(tokens, X.offsets[:-1]) / X.lengths[:, np.newaxis]
        chosen = mean[y == 1]
        before: Any = None
        for _ in range(10):
            rows = np.concatenate([chosen, tokens[negative]])
            labels = np.arange(len(rows)) < len(chosen)
            self.model_ = SVC(class_weight="balanced").fit(rows, labels)
            scores = self.model_.decision_function(tokens)
            parts = np.split(scores, X.offsets[1:-1])
            best = [int(low + part.argmax()) for low, part in zip(X.offsets, parts, strict=False)]
            picked = np.array(best)[y == 1]
            if before is not None and np.array_equal(picked, before):
                break
            before, chosen = picked, tokens[picked]
        return self

    def decision_function(self, X: Sequences) -> NDArray[np.float64]:
        """Return the largest score of a bag's instances."""
        scores = self.model_.decision_function(self.scaler_.transform(X.tokens))
        return np.maximum.reduceat(scores, X.offsets[:-1])


class AttentionProbe(BaseEstimator):  # type: ignore[misc]
    """An attention probe in torch: one query and one readout from zero, L-BFGS, weight decay."""

    def fit(self, X: Sequences, y: Labels) -> "AttentionProbe":
        """Minimise the log-loss of all bags."""
        import torch

        torch.manual_seed(0)
        torch.set_num_threads(1)
        self.scaler_ = StandardScaler().fit(X.tokens)
        tokens, bag, targets = self._tensors(X), self._bag(X), torch.tensor(y, dtype=torch.float32)
        self.parameters_ = [torch.zeros(X.dim, 2, requires_grad=True)]
        self.parameters_.append(torch.zeros(1, requires_grad=True))
        optimiser = torch.optim.LBFGS(self.parameters_, max_iter=200, line_search_fn="strong_wolfe")
        loss = torch.nn.BCEWithLogitsLoss()

        def closure() -> Any:
            optimiser.zero_grad()
            decay = 0.005 * (self.parameters_[0] ** 2).sum()
            value = loss(self._scores(tokens, bag, len(y)), targets) + decay
            value.backward()
            return value

        optimiser.step(closure)
        return self

    def decision_function(self, X: Sequences) -> NDArray[np.float64]:
        """Return the log-odds."""
        import torch

        with torch.no_grad():
            return self._scores(self._tensors(X), self._bag(X), len(X)).numpy().astype(float)

    def _tensors(self, X: Sequences) -> Any:
        import torch

        return torch.from_numpy(self.scaler_.transform(X.tokens).astype(np.float32))

    def _bag(self, X: Sequences) -> Any:
        import torch

        return torch.from_numpy(np.repeat(np.arange(len(X)), X.lengths))

    def _scores(self, tokens: Any, bag: Any, n_bags: int) -> Any:
        import torch

        weights, bias = self.parameters_
        attention, values = (tokens @ weights).T
        top = torch.zeros(n_bags).scatter_reduce(0, bag, attention, "amax", include_self=False)
        exponential = torch.exp(attention - top[bag].detach())
        total = torch.zeros(n_bags).index_add(0, bag, exponential)
        return torch.zeros(n_bags).index_add(0, bag, exponential * values) / total + bias


class EmbeddedABMIL(BaseEstimator):  # type: ignore[misc]
    """torchmil's attention-based MIL with a 64-unit embedding of the tokens; Adam."""

    def fit(self, X: Sequences, y: Labels) -> "EmbeddedABMIL":
        """Train for 50 epochs in batches of 16 bags."""
        import torch
        from torchmil.models import ABMIL

        torch.manual_seed(0)
        torch.set_num_threads(1)
        self.scaler_ = StandardScaler().fit(X.tokens)
        embedding = torch.nn.Sequential(torch.nn.Linear(X.dim, 64), torch.nn.ReLU())
        self.model_ = ABMIL(in_shape=(X.dim,), feat_ext=embedding)
        optimiser = torch.optim.Adam(self.model_.parameters(), lr=1e-3, weight_decay=1e-3)
        loss, targets = torch.nn.BCEWithLogitsLoss(), torch.tensor(y, dtype=torch.float32)
        rng = np.random.default_rng(0)
        self.model_.train()
        for _ in range(50):
            for rows in np.array_split(rng.permutation(len(y)), max(1, len(y) // 16)):
                bags, mask = self._padded(X[np.sort(rows)])
                optimiser.zero_grad()
                loss(self.model_(bags, mask).reshape(-1), targets[np.sort(rows)]).backward()
                optimiser.step()
        return self

    def decision_function(self, X: Sequences) -> NDArray[np.float64]:
        """Return the log-odds."""
        import torch

        self.model_.eval()
        with torch.no_grad():
            return self.model_(*self._padded(X)).reshape(-1).numpy().astype(float)

    def _padded(self, X: Sequences) -> tuple[Any, Any]:
        import torch

        bags = np.zeros((len(X), X.lengths.max(), X.dim), dtype=np.float32)
        mask = np.arange(X.lengths.max()) < X.lengths[:, np.newaxis]
        bags[mask] = self.scaler_.transform(X.tokens)
        return torch.from_numpy(bags), torch.from_numpy(mask)


def evaluate(
    model: Callable[[], Any], X: Sequences, y: Labels, seeds: int, folds: int = 10
) -> Result:
    """Return the means over repeated folds."""
    accuracy, auc, seconds = [], [], []
    for seed in range(seeds):
        splitter = StratifiedKFold(folds, shuffle=True, random_state=seed)
        for train, test in splitter.split(y, y):
            scores, took = _fit(model, X, y, train, test)
            seconds.append(took)
            accuracy.append(float(np.mean((scores > 0) == y[test])))
            auc.append(float(roc_auc_score(y[test], scores)))
    # Folds of one seed share no test sample; those of different seeds repeat them.
    error = float(np.std(auc, ddof=1) / np.sqrt(folds))
    return _result(accuracy, auc, error, seconds)


def _result(accuracy: list[float], auc: list[float], error: float, seconds: list[float]) -> Result:
    return Result(float(np.mean(accuracy)), float(np.mean(auc)), error, float(np.mean(seconds)))


def learning_curve(
    model: Callable[[], Any], X: Sequences, y: Labels, sizes: tuple[int, ...], repeats: int
) -> list[tuple[int, Result]]:
    """Return the means over random splits, the same for every model: train on some, test on all
    the others.
    """  # noqa: D205
    found = []
    for size in sizes:
        if size > 0.85 * len(y):
            continue
        accuracy, auc, seconds = [], [], []
        for seed in range(repeats):
            train, test = train_test_split(
                np.arange(len(y)), train_size=size, stratify=y, random_state=seed
            )
            scores, took = _fit(model, X, y, np.sort(train), test)
            seconds.append(took)
            accuracy.append(float(np.mean((scores > 0) == y[test])))
            auc.append(float(roc_auc_score(y[test], scores)))
        error = float(np.std(auc, ddof=1) / np.sqrt(repeats))
        found.append((size, _result(accuracy, auc, error, seconds)))
    return found


def _fit(
    model: Callable[[], Any], X: Sequences, y: Labels, train: Labels, test: Labels
) -> tuple[NDArray[np.float64], float]:
    start = time.perf_counter()
    fitted = model().fit(X[train], y[train])
    took = time.perf_counter() - start
    return fitted.decision_function(X[test]), took


def sets(folder: Path | None, chosen: list[str]) -> Iterator[tuple[str, Sequences, Labels]]:
    if "needle" in chosen:
        yield "needle", *needle_digits()
    for name in ("tiger", "fox", "musk1"):
        if name not in chosen:
            continue
        path = None if folder is None else folder / f"{name}.npz"
        if path is None or not path.exists():
            print(f"{name}: skipped, --data FOLDER has no {name}.npz")
        else:
            yield name, *stored_bags(path)
    if "noise" in chosen:
        X, y = needle_digits()
        yield "noise", X, np.random.default_rng(1).permutation(y)


def main() -> None:
    models: dict[str, Callable[[], Any]] = {
        "sparsetoken": lambda: SparseTokenClassifier(random_state=0),
        "attention": lambda: AttentionClassifier(random_state=0),
        "pooled": PooledClassifier,
        "mean": MeanPooling,
        "extra": lambda: Statistics(ExtraTreesClassifier(500, random_state=0)),
        "forest": lambda: Statistics(RandomForestClassifier(500, random_state=0)),
        "misvm": InstanceMachine,
        "probe": AttentionProbe,
        "abmil": EmbeddedABMIL,
    }
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, help="folder with tiger.npz, fox.npz and musk1.npz")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--sets", default="needle,tiger,fox,musk1,noise")
    parser.add_argument("--models", default=",".join(models))
    parser.add_argument("--curves", type=int, default=0, help="learning curves of so many splits")
    options = parser.parse_args()
    wanted = options.models.split(",")
    for name, needs in (("probe", "torch"), ("abmil", "torchmil")):
        if name in wanted and importlib.util.find_spec(needs) is None:
            print(f"{name}: skipped, {needs} is not installed")
            wanted.remove(name)
    print(
        f"{'set':<8} {'model':<12} {'n':>4} {'accuracy':>8} {'AUC':>8} {'± s.e.':>7} {'s a fit':>8}"
    )
    for name, X, y in sets(options.data, options.sets.split(",")):
        for label in wanted:
            if options.curves:
                rows = learning_curve(models[label], X, y, (20, 40, 80, 160), options.curves)
            else:
                rows = [(round(0.9 * len(y)), evaluate(models[label], X, y, options.seeds))]
            for size, result in rows:
                print(
                    f"{name:<8} {label:<12} {size:>4} {result.accuracy:>8.3f} {result.auc:>8.3f} "
                    f"{result.auc_error:>7.3f} {result.seconds:>8.2f}",
                    flush=True,
                )


if __name__ == "__main__":
    main()
