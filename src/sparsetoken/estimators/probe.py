"""Probes as plain tensors, for software that knows nothing of us: a file, or a torch module."""

import json
import os
import sys
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from sparsetoken._replace import replaced
from sparsetoken._types import Array, Floats
from sparsetoken._validation import check_real, import_extra
from sparsetoken.estimators.attention_heads import AttentionHeads
from sparsetoken.estimators.base import SequenceClassifier
from sparsetoken.estimators.linear import LinearHead
from sparsetoken.estimators.members import Member
from sparsetoken.losses import Logistic, get_loss

_FORMULA = """\
Z = (X.reshape(-1, len(mean)) - mean) * scale. For head k and score c, over the rows of Z: \
s = Z @ queries[k, c] and t = Z @ readouts[k, c]. If temperatures[k] is 0, raw[k, c] = \
sum(softmax(s) * t) + biases[k, c]. Else r = min(n_signal[k], rows of Z) and raw[k, c] = \
temperatures[k] * log(mean of exp(sum of s over r rows), over all choices of r rows) + \
biases[k, c] * r / n_signal[k]; for n_signal 1 that is temperatures[k] * log(mean(exp(s))) + \
biases[k, c]. Heads k of one group[k] = g look for several kinds of signal: joined[g, c] = \
temperatures[k] * log(sum over them of exp(raw[k, c] / temperatures[k])); for one head that is \
raw[k, c]. Then score[c] = shift[c] + sum over g of weights[g] * clip(joined[g, c], limits[0, g], \
limits[1, g])."""
_TWO = "There is one score: classes[1] is predicted if it exceeds threshold, else classes[0]."
_SEVERAL = "There is a score for each of classes: the largest is predicted."
_RELEASE = sys.modules["sparsetoken"].__version__
_NEVER = -1e30  # log of a chance that there is not


def export(classifier: Any, path: str | os.PathLike[str], *, threshold: float = 0.0) -> None:
    """Write a fitted classifier as plain tensors, in a safetensors file.

    The file holds no training data and needs no package of ours to be used: its metadata say in
    words how its tensors, all float64, score a sequence.

    Parameters
    ----------
    classifier : one of our classifiers
        The fitted classifier. One with trees is refused, since they are no tensors: export an
        AttentionClassifier, which has the same heads.
    path : str or path
        The file, usually ``*.safetensors``; an existing one is replaced.
    threshold : float, default=0.0
        The score above which the second of two classes is predicted, such as
        ``clf.threshold(fpr=0.01)``. It is not used for the scores.

    Examples
    --------
    >>> import tempfile, pathlib, sparsetoken as st
    >>> from safetensors.numpy import load_file
    >>> X, y = st.SparseTokenProblem(n_tokens=10, signal=5.0).sample(200, 20, random_state=0)
    >>> clf = st.AttentionClassifier(random_state=0).fit(X, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "probe.safetensors")
    ...     st.export(clf, path, threshold=clf.threshold(fpr=0.05))
    ...     load_file(path)["queries"].shape[1:]  # of each head: scores, features
    (1, 20)
    """
    tensors = _tensors(classifier, threshold)
    header: dict[str, Any] = {"__metadata__": _metadata(classifier)}
    place = 0
    for name, tensor in tensors.items():
        places = [place, place + tensor.nbytes]
        header[name] = {"dtype": "F64", "shape": tensor.shape, "data_offsets": places}
        place += tensor.nbytes
    text = json.dumps(header).encode()  # the package safetensors draws the order of the metadata
    text += b" " * (-len(text) % 8)  # so that the numbers are aligned
    numbers = (tensor.astype("<f8").tobytes() for tensor in tensors.values())
    content = b"".join([len(text).to_bytes(8, "little"), text, *numbers])
    with replaced(path) as file:
        file.write_bytes(content)


def to_torch(classifier: Any, *, threshold: float = 0.0) -> Any:
    """Return a fitted classifier as a torch module with the same scores.

    Parameters
    ----------
    classifier : one of our classifiers
        The fitted classifier, as for :func:`export`.
    threshold : float, default=0.0
        Kept in the buffer ``threshold``, as in :func:`export`.

    Returns
    -------
    module : torch.nn.Module
        ``module(X, mask=None)`` returns the scores, of shape (batch,), or (batch, classes) for more
        than two, of tokens X of shape (batch, L, d). ``mask`` of shape (batch, L) is true where
        there is a token; a sequence without any has score NaN. Its buffers have the names of
        :func:`export`, so that ``module.load_state_dict`` takes such a file. They stay float32 in
        a model that is moved to another type; tokens of any type are converted. The scores differ
        from ``decision_function`` by less than 1e-4 of their standard deviation.
    """
    torch = import_extra("torch", "to_torch", "torch")

    class Probe(torch.nn.Module):  # type: ignore[misc, name-defined]
        """Scores of sequences; see ``sparsetoken.to_torch``."""

        def __init__(self, tensors: dict[str, Array]) -> None:
            super().__init__()
            for name, tensor in tensors.items():
                self.register_buffer(name, torch.from_numpy(tensor).float())

        def _apply(self, function: Any, *options: Any) -> Any:
            return super()._apply(lambda tensor: tensor.to(function(tensor).device), *options)

        def _join_kinds(self, raw: Any) -> Any:
            if len(self.weights) == len(self.group):
                return raw
            member = self.group == torch.arange(len(self.weights), device=raw.device)[:, None]
            temperatures = torch.where(self.temperatures != 0, self.temperatures, 1.0)[:, None]
            exponents = (raw / temperatures)[:, None].masked_fill(~member[..., None], -torch.inf)
            return temperatures[member.float().argmax(1)] * torch.logsumexp(exponents, 2)

        def forward(self, X: Any, mask: Any = None) -> Any:
            if X.ndim != 3 or X.shape[2] != dim or length not in (None, X.shape[1]):
                shape = f"(batch, {length or 'L'}, {dim})"
                raise ValueError(f"X must have shape {shape}, got {tuple(X.shape)}")
            Z = X.float().reshape(len(X), -1, len(self.mean))
            if mask is None:
                mask = torch.ones(X.shape[:2], device=X.device)
            present = mask.bool().reshape(*Z.shape[:2], -1).all(-1)[..., None]
            Z = torch.where(present, (Z - self.mean) * self.scale, 0.0)
            s, t = (torch.einsum("bld,kcd->blkc", Z, w) for w in (self.queries, self.readouts))
            s = s.masked_fill(~present[..., None], _NEVER)
            count = present.sum(1)
            size = torch.minimum(self.n_signal, count)
            sums, ways = torch.empty_like(s[:, 0]), torch.zeros_like(size)
            for degree in self.n_signal.unique():  # of heads for as many signal tokens
                alike = self.n_signal == degree
                choices = _log_choices(torch, s[:, :, alike], int(degree))
                index = size[:, alike].long()[None, ..., None].expand(1, *choices.shape[1:])
                sums[:, alike] = choices.gather(0, index)[0]
            for taken in range(int(self.n_signal.max())):  # log of the binomial coefficient
                more = torch.log((count - taken).clamp(min=1.0) / (taken + 1.0))
                ways = ways + torch.where(size > taken, more, 0.0)
            along = (torch.softmax(s, 1) * t).sum(1) + self.biases
            evidence = self.temperatures[:, None] * (sums - ways[..., None])
            evidence = evidence + self.biases * (size / self.n_signal)[..., None]
            raw = torch.where(self.temperatures[:, None] != 0, evidence, along)
            raw = torch.where(count[..., None] > 0, raw, torch.nan)
            joined = self._join_kinds(raw).clamp(*self.limits[..., None])
            scores = torch.einsum("k,bkc->bc", self.weights, joined) + self.shift
            return scores[:, 0] if scores.shape[1] == 1 else scores

    tensors = _tensors(classifier, threshold)
    dim, length = classifier.n_features_in_, getattr(classifier, "n_tokens_", None)
    return Probe(tensors)


def _log_choices(torch: Any, scores: Any, degree: int) -> Any:
    """Return the log of Σ exp(sum of scores) over choices of 0, 1, ... ``degree`` tokens, first.

    Halves of a sequence are joined, again and again: single precision then loses as many roundings
    as there are halvings, not as there are tokens. Apple's processors have no ``logcumsumexp``
    before torch 2.9.
    """
    blocks = torch.stack([torch.zeros_like(scores), scores])
    while blocks.shape[2] > 1 or len(blocks) <= degree:
        nothing = torch.full_like(blocks[:, :, :1], _NEVER)
        nothing[0] = 0.0
        if blocks.shape[2] % 2:
            blocks = torch.cat([blocks, nothing], 2)
        first, second = blocks[:, :, ::2], blocks[:, :, 1::2]
        most = len(blocks) - 1
        taken = [slice(max(0, n - most), n + 1) for n in range(min(2 * most, degree) + 1)]
        blocks = torch.stack(
            [torch.logsumexp(first[part] + second[part].flip(0), 0) for part in taken]
        )
    return blocks[:, :, 0]


def _tensors(classifier: Any, threshold: float) -> dict[str, Array]:
    """Return the tensors of the formula."""
    if not isinstance(classifier, SequenceClassifier):
        kind = type(classifier).__name__
        raise ValueError(f"classifier must be one of sparsetoken's classifiers, got {kind}")
    check_is_fitted(classifier)
    stack = classifier.as_stack().without_zero_weights()
    heads = [_heads_of(member, weights.sum()) for member, weights, _ in stack.parts()]
    parts = map(np.concatenate, zip(*heads, strict=True))
    queries, readouts, temperatures, n_signal, biases, n_kinds = parts
    # Around the mean few digits are needed, so that single precision will do.
    mean = np.resize(stack.center, queries.shape[-1])  # of tokens in a row, where they are read so
    scale = getattr(classifier, "token_scale_", np.ones(queries.shape[-1]))
    deviation = np.divide(1.0, scale, out=np.zeros_like(scale), where=scale > 0)
    tensors = {
        "mean": mean,
        "scale": scale,
        "queries": queries * deviation,
        "readouts": readouts * deviation,
        "temperatures": temperatures,
        "n_signal": n_signal,
        "biases": biases + n_signal[:, np.newaxis] * (readouts @ mean),
        "group": np.repeat(np.arange(len(n_kinds)), n_kinds.astype(int)),
        "limits": stack.limits,
        "weights": stack.weights * stack.scales,
        "shift": stack.weights.sum() * stack.shift,
        "threshold": check_real("threshold", threshold),
    }
    return {name: np.array(tensor, dtype=np.float64) for name, tensor in tensors.items()}


def _heads_of(member: Member, weight: float) -> tuple[Floats, ...]:
    """Return queries and readouts (K, C, d), temperatures, n_signal (K,), biases (K, C), n_kinds.

    The temperature of a linear readout is zero; ``n_kinds`` of the K directions make one head.
    """
    if isinstance(member, LinearHead):
        vectors = (vector[np.newaxis, np.newaxis] for vector in (member.query, member.coef))
        return *vectors, np.zeros(1), np.ones(1), np.full((1, 1), member.intercept), np.ones(1)
    if not isinstance(member, AttentionHeads):
        raise ValueError(
            f"the member {member.kind!r} (weight {weight:.2f}) cannot be written as tensors: fit "
            "AttentionClassifier to the same data and export that; it has the other members"
        )
    if member.contiguous or member.sums_evidence:
        raise ValueError(
            "windows of tokens (contiguous=True) and sums over tokens (monotone=True) cannot be "
            "exported: fit a classifier without them"
        )
    temperatures = member.temperatures
    readouts = member.directions[0]
    queries = readouts / temperatures[:, np.newaxis, np.newaxis]
    if member.pooled:
        queries, temperatures = np.zeros_like(queries), np.zeros_like(temperatures)
    n_signal, n_kinds = (n.astype(np.float64) for n in (member.n_signal, member.n_kinds))
    return queries, readouts, temperatures, n_signal, member.intercepts[0], n_kinds


def _metadata(classifier: Any) -> dict[str, str]:
    """Return what the file says of itself: safetensors takes text only."""
    two = len(classifier.classes_) == 2
    probability = "1 / (1 + exp(-score))" if two else "softmax(score)"
    if not isinstance(get_loss(getattr(classifier, "loss", "logistic")), Logistic):
        probability = "clip((1 + score) / 2, 0, 1)"
    length = getattr(classifier, "n_tokens_", "all")
    tokens = f"X holds {length} tokens of a sequence, rows of {classifier.n_features_in_} features."
    about = {
        "format": "sparsetoken probe 1",
        "model": f"{type(classifier).__name__} of sparsetoken {_RELEASE}",
        "formula": f"{tokens} {_FORMULA} {_TWO if two else _SEVERAL}",
        "probability": f"{probability}, of {'classes[1]' if two else 'each class'}",
        "classes": json.dumps(classifier.classes_.tolist()),
    }
    if hasattr(classifier, "feature_names_in_"):
        about["features"] = json.dumps(classifier.feature_names_in_.tolist())
    return about
