"""Peers in torch, each with ``fit`` and ``decision_function``, the log-odds.

For bags: ``AttentionProbe``, and ``EmbeddedABMIL``, which needs torchmil. For the hidden states of
texts: ``TorchProbe``, as people train probes beside a language model, tuned on a hold-out.
``attention``: each head averages its values by softmax weights, and the heads add up. ``largest``:
the largest value of any token. ``multimax``: each head's largest value, added up. ``rolling``: the
largest attention average of any window. The last two are linear versions of what Kramár et al. 2026
(arXiv 2601.11516) call MultiMax and max of rolling means attention.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from sklearn.base import BaseEstimator
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from sparsetoken import Sequences

DECAYS, RATES = (1e-3, 1e-1), (3e-3, 1e-2)
STEPS, CHECKED, BATCH, WINDOW = 500, 20, 64, 10


class AttentionProbe(BaseEstimator):  # type: ignore[misc]
    """An attention probe: one query and one readout from zero, L-BFGS, weight decay."""

    def fit(self, X: Sequences, y: Any) -> "AttentionProbe":
        torch.manual_seed(0)
        torch.set_num_threads(1)
        self.scaler_ = StandardScaler().fit(X.tokens)
        tokens, targets = self._tensors(X), torch.tensor(y, dtype=torch.float32)
        self.parameters_ = [torch.zeros(X.dim, 2, requires_grad=True)]
        self.parameters_.append(torch.zeros(1, requires_grad=True))
        optimiser = torch.optim.LBFGS(self.parameters_, max_iter=200, line_search_fn="strong_wolfe")
        loss = torch.nn.BCEWithLogitsLoss()

        def closure() -> Any:
            optimiser.zero_grad()
            decay = 0.005 * (self.parameters_[0] ** 2).sum()
            value = loss(self._scores(*tokens), targets) + decay
            value.backward()
            return value

        optimiser.step(closure)
        return self

    def decision_function(self, X: Sequences) -> Any:
        with torch.no_grad():
            return self._scores(*self._tensors(X)).numpy().astype(float)

    def _tensors(self, X: Sequences) -> tuple[Any, Any, int]:
        """Return tokens, the bag of each, and the number of bags."""
        tokens = torch.from_numpy(self.scaler_.transform(X.tokens).astype(np.float32))
        return tokens, torch.from_numpy(np.repeat(np.arange(len(X)), X.lengths)), len(X)

    def _scores(self, tokens: Any, bag: Any, n_bags: int) -> Any:
        weights, bias = self.parameters_
        attention, values = (tokens @ weights).T
        top = torch.zeros(n_bags).scatter_reduce(0, bag, attention, "amax", include_self=False)
        exponential = torch.exp(attention - top[bag].detach())
        total = torch.zeros(n_bags).index_add(0, bag, exponential)
        return torch.zeros(n_bags).index_add(0, bag, exponential * values) / total + bias


class EmbeddedABMIL(BaseEstimator):  # type: ignore[misc]
    """torchmil's attention-based MIL with a 64-unit embedding of the tokens; Adam."""

    def fit(self, X: Sequences, y: Any) -> "EmbeddedABMIL":
        """Train for 50 epochs in batches of 16 bags."""
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

    def decision_function(self, X: Sequences) -> Any:
        self.model_.eval()
        with torch.no_grad():
            return self.model_(*self._padded(X)).reshape(-1).numpy().astype(float)

    def _padded(self, X: Sequences) -> tuple[Any, Any]:
        bags = np.zeros((len(X), X.lengths.max(), X.dim), dtype=np.float32)
        mask = np.arange(X.lengths.max()) < X.lengths[:, np.newaxis]
        bags[mask] = self.scaler_.transform(X.tokens)
        return torch.from_numpy(bags), torch.from_numpy(mask)


class Probe(torch.nn.Module):  # type: ignore[misc]
    """Linear queries and values of each head, and a rule that pools them."""

    def __init__(self, dim: int, heads: int, rule: str) -> None:
        super().__init__()
        self.query, self.value = (torch.nn.Linear(dim, heads, bias=False) for _ in range(2))
        torch.nn.init.zeros_(self.query.weight)
        torch.nn.init.normal_(self.value.weight, std=0.001)
        self.bias, self.rule = torch.nn.Parameter(torch.zeros(1)), rule

    def forward(self, tokens: Any, mask: Any) -> tuple[Any, Any]:
        """Return scores, and what says how much each token mattered.

        ``tokens`` holds the tokens of all texts one after the other, ``mask`` (texts, longest)
        where they go; products come first, so that padding costs nothing.
        """
        values, logits = (
            torch.full((*mask.shape, linear.out_features), -1e9).index_put((mask,), linear(tokens))
            for linear in (self.value, self.query)
        )
        if self.rule in ("largest", "multimax"):
            return values.amax(1).sum(-1) + self.bias, values.amax(-1)
        weights, values = torch.softmax(logits, 1), values * mask[..., None]
        if self.rule == "attention":
            return (weights * values).sum((1, 2)) + self.bias, weights.mean(-1)
        strengths = torch.exp((logits - logits.amax(1, keepdim=True)).clamp(min=-30.0))
        above, below = (
            torch.nn.functional.avg_pool1d(v.transpose(1, 2), WINDOW, 1)
            for v in (strengths * values, strengths)
        )
        means = (above / below).sum(1)
        beyond = ~mask[:, WINDOW - 1 :]  # windows that leave the text, but for the first
        beyond[:, 0] = False
        return means.masked_fill(beyond, -1e9).amax(1) + self.bias, weights.mean(-1)


@dataclass
class TorchProbe:
    """A probe with the interface that the benchmark needs."""

    heads: int = 1
    rule: str = "attention"

    def fit(self, X: list[Any], y: Any) -> "TorchProbe":
        """Choose rate, weight decay and number of steps on a hold-out, then train on all."""
        stacked = np.concatenate(X)
        self.mean, self.scale = stacked.mean(0), 1.0 / (stacked.std(0) + 1e-6)
        X = self._scaled(X)
        train, held_out = train_test_split(
            np.arange(len(y)), test_size=0.2, stratify=y, random_state=0
        )
        settings = [{"lr": rate, "weight_decay": decay} for rate in RATES for decay in DECAYS]
        tried = [(*self._train(X, y, train, held_out, STEPS, one), one) for one in settings]
        _, steps, best = max(tried, key=lambda one: one[0])
        self._train(X, y, np.arange(len(y)), None, steps, best)
        return self

    def decision_function(self, X: list[Any]) -> Any:
        return self._apply(self._scaled(X))[0]

    def attention(self, X: list[Any]) -> list[Any]:
        """Return what says how much each token mattered, for each text."""
        weights = self._apply(self._scaled(X))[1]
        return [its_weights[: len(x)] for its_weights, x in zip(weights, X, strict=True)]

    def _train(
        self, X: list[Any], y: Any, rows: Any, held_out: Any, steps: int, settings: dict[str, float]
    ) -> tuple[float, int]:
        torch.manual_seed(0)
        rng = np.random.default_rng(0)
        self.probe = Probe(X[0].shape[1], self.heads, self.rule)
        descent = torch.optim.AdamW(self._groups(settings["lr"]), **settings)
        best = (-1.0, steps)
        for step in range(1, steps + 1):
            batch = rng.choice(rows, min(BATCH, len(rows)), replace=False)
            scores, _ = self.probe(*self._pad([X[i] for i in batch]))
            target = torch.as_tensor(y[batch], dtype=torch.float32)
            descent.zero_grad()
            torch.nn.functional.binary_cross_entropy_with_logits(scores, target).backward()
            descent.step()
            if held_out is not None and step % CHECKED == 0:
                auc = roc_auc_score(y[held_out], self._apply([X[i] for i in held_out])[0])
                best = max(best, (float(auc), step))
        return best

    def _groups(self, rate: float) -> list[dict[str, Any]]:
        """Largest values drift upwards together, so the intercept must follow quickly."""
        probe = self.probe
        vectors = [probe.query.weight, probe.value.weight]
        return [{"params": vectors}, {"params": [probe.bias], "lr": 10.0 * rate}]

    def _apply(self, X: list[Any]) -> tuple[Any, list[Any]]:
        scores, weights = [], []
        with torch.no_grad():
            for low in range(0, len(X), BATCH):
                s, w = self.probe(*self._pad(X[low : low + BATCH]))
                scores.append(s.numpy())
                weights += list(w.numpy())
        return np.concatenate(scores), weights

    def _scaled(self, X: list[Any]) -> list[Any]:
        return [torch.as_tensor((x - self.mean) * self.scale) for x in X]

    def _pad(self, X: list[Any]) -> tuple[Any, Any]:
        lengths = torch.tensor([len(x) for x in X])
        mask = torch.arange(max(WINDOW, int(lengths.max()))) < lengths[:, None]
        return torch.cat(X), mask
