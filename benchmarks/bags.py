"""Accuracy on bags: 5 × StratifiedKFold(10), the same folds for all. Takes hours with all peers.

``python -m benchmarks.bags --data FOLDER`` with ``tiger.npz``, ``fox.npz`` and ``musk1.npz`` in the
folder: arrays ``X`` (all instances stacked), ``bag`` (bag of each instance, sorted) and ``y`` (0/1
per bag). Sets that are missing are skipped, and so are peers that are not installed.
``--curves 20`` shows learning curves from 20 random splits instead of the folds. ``--store FILE``
keeps the result of every fit, so that a run that was stopped goes on where it was.
"""

import argparse
import importlib.util
import json
import time
from collections.abc import Callable, Iterable, Iterator
from functools import partial
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
    """Means over the folds, and their standard errors."""

    accuracy: float
    accuracy_error: float
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


class Store:
    """Results of fits by name, kept in a file of one line each if there is one."""

    def __init__(self, path: Path | None) -> None:
        self.path, self.found = path, {}
        if path is not None and path.exists():
            lines = path.read_text().splitlines()
            self.found = dict(json.loads(line) for line in lines)

    def get(self, name: str, compute: Callable[[], list[float]]) -> list[float]:
        """Return the result of that name, computed if there is none yet."""
        if name not in self.found:
            self.found[name] = compute()
            if self.path is not None:
                with self.path.open("a") as file:
                    file.write(json.dumps([name, self.found[name]]) + "\n")
        return self.found[name]


Split = tuple[str, Labels, Labels]
"""Its name, the bags to train on and those to test on."""


def folds_of(y: Labels, seeds: int, folds: int = 10) -> Iterator[Split]:
    """Repeated folds, the same for every model."""
    for seed in range(seeds):
        splitter = StratifiedKFold(folds, shuffle=True, random_state=seed)
        for number, (train, test) in enumerate(splitter.split(y, y)):
            yield f"seed {seed} fold {number}", train, test


def splits_of(y: Labels, size: int, repeats: int) -> Iterator[Split]:
    """Random splits, the same for every model: train on some, test on all the others."""
    for seed in range(repeats):
        train, test = train_test_split(
            np.arange(len(y)), train_size=size, stratify=y, random_state=seed
        )
        yield f"size {size} split {seed}", np.sort(train), test


def evaluate(
    name: str,
    model: Callable[[], Any],
    X: Sequences,
    y: Labels,
    splits: Iterable[Split],
    store: Store,
    independent: int,
) -> Result:
    """Return the means over splits; ``independent`` ones of them share no test sample."""

    def fit(train: Labels, test: Labels) -> list[float]:
        start = time.process_time()
        fitted = model().fit(X[train], y[train])
        took = time.process_time() - start
        scores = fitted.decision_function(X[test])
        accuracy = float(np.mean((scores > 0) == y[test]))
        return [accuracy, float(roc_auc_score(y[test], scores)), took]

    found = np.array(
        [store.get(f"{name}, {split}", partial(fit, train, test)) for split, train, test in splits]
    )
    accuracy, auc, seconds = found.mean(axis=0).tolist()
    error = found[:, :2].std(axis=0, ddof=1) / np.sqrt(independent)
    return Result(accuracy, float(error[0]), auc, float(error[1]), seconds)


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
    for number in range(5):
        if f"noise{number}" in chosen:
            X, y = needle_digits()
            yield f"noise{number}", X, np.random.default_rng(number).permutation(y)


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
    parser.add_argument("--sets", default="needle,tiger,fox,musk1,noise0")
    parser.add_argument("--models", default=",".join(models))
    parser.add_argument("--curves", type=int, default=0, help="learning curves of so many splits")
    parser.add_argument("--store", type=Path, help="file that keeps the result of every fit")
    options = parser.parse_args()
    store = Store(options.store)
    wanted = options.models.split(",")
    for name, needs in (("probe", "torch"), ("abmil", "torchmil")):
        if name in wanted and importlib.util.find_spec(needs) is None:
            print(f"{name}: skipped, {needs} is not installed")
            wanted.remove(name)
    print("set      model           n  accuracy  ± s.e.     AUC  ± s.e.  CPU s a fit")
    for name, X, y in sets(options.data, options.sets.split(",")):
        for label in wanted:
            arguments = f"{name}, {label}", models[label], X, y
            if options.curves:
                rows = [
                    (size, evaluate(*arguments, splits_of(y, size, options.curves), store, 10))
                    for size in (20, 40, 80, 160)
                    if size <= 0.85 * len(y)
                ]
            else:
                result = evaluate(*arguments, folds_of(y, options.seeds), store, 10)
                rows = [(round(0.9 * len(y)), result)]
            for size, row in rows:
                print(
                    f"{name:<8} {label:<12} {size:>4} {row.accuracy:>9.3f} "
                    f"{row.accuracy_error:>7.3f} {row.auc:>7.3f} {row.auc_error:>7.3f} "
                    f"{row.seconds:>12.2f}",
                    flush=True,
                )


if __name__ == "__main__":
    main()
