"""The published protocol from end to end (docs/theory, sections 3 and 4 together)."""

from collections.abc import Iterable
from typing import Any, Literal

from sparsetoken.population import AnyProblem
from sparsetoken.theory.curves import solve_along
from sparsetoken.theory.models import DEFAULT_POINTS, LARGEST_SHARPNESS, get_model
from sparsetoken.theory.trained import Risk
from sparsetoken.theory.two_steps import alignment


def two_step_risk(
    problem: AnyProblem,
    *,
    alpha0: float,
    alpha1: float,
    reg: float | Literal["best"],
    loss: Any = "logistic",
    beta: float = 1.0,
    lr_readout: float = 1.0,
    lr_bias: float = 1.0,
    lr_query: float = 20.0,
    n_points: int = DEFAULT_POINTS,
) -> Risk:
    """Predict the attention classifier trained by the two-step protocol.

    Two gradient steps on ``alpha0`` samples per dimension give the query; readout and bias are then
    fully optimized on ``alpha1`` fresh samples per dimension.

    Parameters
    ----------
    problem : SparseTokenProblem or Population
        The model of the data.
    alpha0 : float
        Samples per dimension for the query.
    alpha1 : float
        Samples per dimension for the readout.
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
    Risk
        With the query's ``cosine`` and ``sharpness``.

    Examples
    --------
    >>> import sparsetoken as st
    >>> problem = st.SparseTokenProblem(n_tokens=10, signal=5.0)
    >>> r = st.theory.two_step_risk(problem, alpha0=2.0, alpha1=2.0, reg=1e-2)
    >>> round(r.cosine, 3), round(r.test_error, 3)
    (0.948, 0.032)
    """
    rates = {"beta": beta, "lr_readout": lr_readout, "lr_bias": lr_bias, "lr_query": lr_query}
    options: dict[str, Any] = {"reg": reg, "loss": loss, "n_points": n_points} | rates
    return two_step_curve(problem, alphas0=[alpha0], alphas1=[alpha1], **options)[0]


def two_step_curve(
    problem: AnyProblem,
    *,
    alphas0: Iterable[float],
    alphas1: Iterable[float],
    reg: float | Literal["best"],
    loss: Any = "logistic",
    n_points: int = DEFAULT_POINTS,
    **rates: Any,
) -> list[Risk]:
    """Return :func:`two_step_risk` at each pair of sample ratios, each solved from the one before.

    Parameters
    ----------
    problem, reg, loss, n_points
        As in :func:`two_step_risk`.
    alphas0, alphas1 : iterable of float
        Samples per dimension for the query and for the readout, equally many.
    **rates : float
        ``beta``, ``lr_readout``, ``lr_bias`` and ``lr_query``.

    Examples
    --------
    >>> import sparsetoken as st
    >>> problem = st.SparseTokenProblem(n_tokens=10, signal=5.0)
    >>> curve = st.theory.two_step_curve(
    ...     problem, alphas0=[1.0, 2.0], alphas1=[1.0, 2.0], reg=1e-2
    ... )
    >>> [round(r.test_error, 3) for r in curve]
    [0.041, 0.032]
    """
    places = []
    for alpha0, alpha1 in zip(alphas0, alphas1, strict=True):
        learned = alignment(problem, alpha=alpha0, loss=loss, **rates)
        if learned.sharpness > LARGEST_SHARPNESS:
            strongest = max(kind.signal for kind in problem.kinds)
            raise ValueError(
                f"signal must be smaller at these learning rates, got {strongest:g}: two steps "
                f"teach a query of sharpness {learned.sharpness:.3g}, above {LARGEST_SHARPNESS:g}; "
                "lower beta, lr_readout or lr_query"
            )
        model = get_model("attention", learned.cosine, learned.sharpness, n_points)
        places.append((model, alpha1))
    return solve_along(problem, places, reg, loss)
