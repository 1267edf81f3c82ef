"""The published protocol from end to end (docs/theory, sections 3 and 4 together)."""

from collections.abc import Iterable
from typing import Any, overload

from sparsetoken._validation import as_list, is_several
from sparsetoken.problem import Problem
from sparsetoken.theory.curves import Ridge, solve_along
from sparsetoken.theory.models import DEFAULT_POINTS, LARGEST_SHARPNESS, get_model
from sparsetoken.theory.trained import Risk
from sparsetoken.theory.two_steps import alignment


@overload
def two_step_risk(
    problem: Problem, *, alpha0: float, alpha1: float, reg: Ridge, **options: Any
) -> Risk: ...
@overload
def two_step_risk(
    problem: Problem,
    *,
    alpha0: float | Iterable[float],
    alpha1: float | Iterable[float],
    reg: Ridge,
    **options: Any,
) -> list[Risk]: ...
def two_step_risk(  # type: ignore[misc]  # the overloads leave out what does not decide the type
    problem: Problem,
    *,
    alpha0: float | Iterable[float],
    alpha1: float | Iterable[float],
    reg: Ridge,
    loss: Any = "logistic",
    beta: float = 1.0,
    lr_readout: float = 1.0,
    lr_bias: float = 1.0,
    lr_query: float = 20.0,
    n_points: int = DEFAULT_POINTS,
) -> Risk | list[Risk]:
    """Predict the attention classifier trained by the two-step protocol.

    Two gradient steps on ``alpha0`` samples per dimension give the query; readout and bias are then
    fully optimized on ``alpha1`` fresh samples per dimension.

    Parameters
    ----------
    problem : SparseTokenProblem or Population
        The model of the data.
    alpha0, alpha1 : float or sequence of float
        Samples per dimension for the query and for the readout. Sequences, equally long, give a
        list of results, each solved from the one before; a number goes with every one of the other.
    reg : float or "best"
        Ridge of the readout, as in :func:`risk`.
    loss : str or object, default="logistic"
        The loss, of both stages.
    beta, lr_readout, lr_bias, lr_query : float
        Inverse temperature and learning rates of the two steps.
    n_points : int, default=16384
        Points per class for the law of the attention features.

    Returns
    -------
    Risk, or list of Risk
        With the query's ``cosine`` and ``sharpness``.

    Examples
    --------
    >>> import sparsetoken as st
    >>> problem = st.SparseTokenProblem(n_tokens=10, signal=5.0)
    >>> r = st.theory.two_step_risk(problem, alpha0=2.0, alpha1=2.0, reg=1e-2)
    >>> round(r.cosine, 3), round(r.test_error, 3)
    (0.948, 0.032)
    >>> curve = st.theory.two_step_risk(problem, alpha0=[1.0, 2.0], alpha1=[1.0, 2.0], reg=1e-2)
    >>> [round(r.test_error, 3) for r in curve]
    [0.041, 0.032]
    """
    rates: dict[str, Any] = {"beta": beta, "lr_readout": lr_readout, "lr_bias": lr_bias}
    places = []
    for for_query, for_readout in _pairs(alpha0, alpha1):
        learned = alignment(problem, alpha=for_query, loss=loss, lr_query=lr_query, **rates)
        if learned.sharpness > LARGEST_SHARPNESS:
            raise ValueError(
                f"the learned query has sharpness {learned.sharpness:.3g}, above "
                f"{LARGEST_SHARPNESS:g}; lower beta, lr_readout or lr_query"
            )
        model = get_model("attention", learned.cosine, learned.sharpness, n_points)
        places.append((model, for_readout))
    results = solve_along(problem, places, reg, loss)
    return results if is_several(alpha0) or is_several(alpha1) else results[0]


def _pairs(alpha0: Any, alpha1: Any) -> list[tuple[float, float]]:
    """Return the samples per dimension of both stages, a single number with each of the other."""
    first, second = as_list(alpha0), as_list(alpha1)
    first = first if is_several(alpha0) else first * len(second)
    second = second if is_several(alpha1) else second * len(first)
    if len(first) != len(second):
        raise ValueError(
            f"alpha0 and alpha1 must be equally many, got {len(first)} and {len(second)}"
        )
    return list(zip(first, second, strict=True))
