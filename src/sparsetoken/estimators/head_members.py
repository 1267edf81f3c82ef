"""Which members with heads a classifier has."""

from numbers import Real
from typing import Any

from sparsetoken._validation import check_count, check_real
from sparsetoken.estimators.attention_heads import AttentionHeads, PooledHeads
from sparsetoken.estimators.members import Member
from sparsetoken.estimators.posterior_heads import PosteriorHeads


def head_members(
    reg: Any,
    shrinkage: Any,
    steps: int,
    n_tokens: int | None,
    mapped: bool,
    contiguous: bool = False,
) -> list[Member]:
    """Return the members with heads, for what a user asks of ``reg`` and ``shrinkage``."""
    steps = check_count("refine_steps", steps)
    shrinkages: tuple[float | None, ...] | None = None
    if shrinkage != "auto":
        shrinkages = (_check_shrinkage(shrinkage),)
    elif mapped:  # a map's outputs come in a geometry of their own
        shrinkages = (None,)
    ridge = None
    if isinstance(reg, str) and reg != "auto":
        raise ValueError(f'reg must be "auto" or a number > 0, got {reg!r}')
    if reg != "auto":
        ridge = check_real("reg", reg, low=0.0, above=True)
    attention, pooled = AttentionHeads(ridge, shrinkages, steps), PooledHeads(None, shrinkages)
    if n_tokens == 1:  # nothing to attend to
        return [pooled]
    if "auto" not in (reg, shrinkage):
        return [attention]
    chosen = reg == shrinkage == "auto" and not mapped
    posterior = [PosteriorHeads(contiguous=contiguous)] if chosen else []
    return [attention, *posterior, pooled]


def _check_shrinkage(shrinkage: Any) -> float | None:
    if shrinkage is None or (isinstance(shrinkage, Real) and 0.0 < float(shrinkage) <= 1.0):
        return None if shrinkage is None else float(shrinkage)
    raise ValueError(f'shrinkage must be "auto", None or a number in (0, 1], got {shrinkage!r}')
