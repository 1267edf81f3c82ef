"""What a user is told of the heads of a fitted stack."""

from typing import Any, NamedTuple

from sparsetoken._types import Floats
from sparsetoken.estimators.attention_heads import AttentionHeads, HeadSpec
from sparsetoken.estimators.stack import Stack


class Head(NamedTuple):
    """One of several heads, for tokens as they are.

    A pooled head scores ⟨coef, mean token⟩ + intercept. A head of attention scores
    a·log mean exp(X coef / a) + intercept with its ``temperature`` a; its weights on the tokens are
    softmax(X query), and ``query`` is ``coef`` / a.
    """

    model: str
    """Which kind: "attention", "pooled" or "posterior"."""
    temperature: float
    """How many tokens matter: one few, ten many; negative if they speak for ``classes_[0]``."""
    shrinkage: float | None
    reg: float
    auc: float | None
    """Of held-out samples, None if there were too few; of several classes the mean."""
    weight: float
    """Its part in the score."""
    n_signal: int
    """How many tokens of a sequence carry the signal; more than one for posterior heads only."""
    query: Floats
    """(d,), or (classes, d) for more than two; zero for a pooled head."""
    coef: Floats
    intercept: Any


def list_heads(stack: Stack, *, several: bool) -> list[Head]:
    """Return the heads of attention and pooling, with a row for each class if there are several."""
    heads = []
    for member, weights, scales in zip(
        stack.members, stack.split(stack.weights), stack.split(stack.scales), strict=True
    ):
        if not isinstance(member, AttentionHeads):
            continue
        for k, about in enumerate(member.describe()):
            direction, scale = member.directions[k], float(scales[k])
            query = direction * (0.0 if member.pooled else 1.0) / about["temperature"]
            coef, intercept = direction * scale, member.intercepts[k] * scale + stack.shift
            if not several:
                query, coef, intercept = query[0], coef[0], intercept[0]
            about["temperature"] *= scale
            weight = float(weights[k])
            heads.append(Head(**about, weight=weight, query=query, coef=coef, intercept=intercept))
    return heads


def leading_head(stack: Stack) -> tuple[int, Any, HeadSpec]:
    """Return the head of largest weight in the leading kind: its number, member and spec."""
    of_kind = stack.member_weights()
    heads = [
        (of_kind[member.name], weight, member, spec)
        for member, weights in zip(stack.members, stack.split(stack.weights), strict=True)
        if isinstance(member, AttentionHeads)
        for weight, spec in zip(weights, member.specs, strict=True)
    ]
    number = max(range(len(heads)), key=lambda k: heads[k][:2])
    return number, *heads[number][2:]
