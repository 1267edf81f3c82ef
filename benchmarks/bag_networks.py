"""Networks for bags, in torch: each has ``fit`` and ``decision_function``, the log-odds."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.preprocessing import StandardScaler

from sparsetoken import Sequences

Labels = NDArray[np.int64]


class AttentionProbe(BaseEstimator):  # type: ignore[misc]
    """An attention probe in torch: one query and one readout from zero, L-BFGS, weight decay."""

    def fit(self, X: Sequences, y: Labels) -> "AttentionProbe":
        """Minimize the log-loss of all bags."""
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
