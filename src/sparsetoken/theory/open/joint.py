"""Joint minimum over query, readout and bias (docs/theory, section 14)."""

import math
import warnings
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy import optimize

from sparsetoken._types import Floats
from sparsetoken._validation import check_count, check_real
from sparsetoken.estimate import ConvergenceWarning, Estimate, Record, standard_error
from sparsetoken.losses import Loss, get_loss
from sparsetoken.problem import Group, Problem, SparseTokenProblem, check_problem
from sparsetoken.theory.features import DEFAULT_POINTS, sobol_normals
from sparsetoken.theory.open.averages import signal_tokens
from sparsetoken.theory.open.fresh import NewSamples, Parameters
from sparsetoken.theory.open.joint_prox import Objective, minimize, responses
from sparsetoken.theory.open.training import check_smooth

_SCRAMBLINGS = 4
_DAMPING = 0.25  # larger steps may end in a cycle
_CLOSE = 0.02  # where Newton's method takes over
_MOST_ITERATIONS = 150
_TOLERANCE = 1e-5
_MOST_JUMPS = 1e-3
_TAMED = 0.995
_COLLAPSED = 0.01
_MOST_TRIES = 10  # tokens from which another minimum is looked for
_SEED = 14


@dataclass(frozen=True)
class JointRisk(Record):
    """Joint minimum of the loss over query, readout and bias in the high-dimensional limit.

    ``stable`` is False where the prediction cannot be trusted: small changes of the samples grow
    (``growth`` of 1 or more), samples can jump (``jumps``), or no solution was found.
    :func:`joint_risk` makes them.
    """

    columns = (
        *("test_error", "train_loss", "cosine", "query_norm", "readout_cosine", "readout_norm"),
        *("bias", "growth", "jumps", "stable"),
    )

    test_error: Estimate
    train_loss: Estimate
    """Mean loss of the training samples, without the ridges."""
    cosine: Estimate
    query_norm: Estimate
    readout_cosine: Estimate
    readout_norm: Estimate
    bias: Estimate
    growth: Estimate
    """How much a small random change of the parameters grows as the samples answer to it."""
    jumps: Estimate
    """Fraction of samples whose own fit has several minima, between which it may jump."""

    @property
    def stable(self) -> bool:
        """Whether the prediction can be trusted."""
        growth, jumps = (x + 2.0 * x.uncertainty for x in (self.growth, self.jumps))
        return self.growth.converged and growth < 1.0 and jumps < _MOST_JUMPS


def joint_risk(
    problem: Problem,
    *,
    alpha: float,
    reg_query: float,
    reg_readout: float,
    loss: Any = "logistic",
    beta: float = 1.0,
    n_points: int = DEFAULT_POINTS,
) -> JointRisk:
    """Predict the minimum of the loss over query, readout and bias together.

    The minimized function is the mean loss plus (reg_query/2)‖q‖² + (reg_readout/2)‖w‖². It is not
    convex. The prediction is for the minimum that aligns with the signal, by the replica-symmetric
    ansatz; ``stable`` says whether that ansatz can hold.

    Parameters
    ----------
    problem : SparseTokenProblem or Population
        The model of the data.
    alpha : float
        Samples per dimension.
    reg_query, reg_readout : float
        Ridges on query and readout, at least 1e-8.
    loss : str or object, default="logistic"
        "logistic", "square" or another smooth loss.
    beta : float, default=1.0
        Inverse temperature of the attention.
    n_points : int, default=16384
        Points for the averages over samples; more are more accurate and slower.

    Returns
    -------
    JointRisk

    Examples
    --------
    >>> import sparsetoken as st
    >>> problem = st.SparseTokenProblem(n_tokens=3, signal=3.0)
    >>> ridges = {"reg_query": 0.1, "reg_readout": 0.1}
    >>> j = st.theory.joint_risk(problem, alpha=4.0, **ridges, n_points=4096)
    >>> j.stable, round(j.test_error, 3), round(j.train_loss, 3)
    (True, 0.137, 0.249)
    """
    if check_problem(problem).n_kinds > 1:
        raise ValueError(
            f"n_kinds must be 1 for joint_risk, got {problem.n_kinds}: at the minimum one query "
            "may side with one kind of signal, which the theory does not follow"
        )
    alpha = check_real("alpha", alpha, low=1e-9, high=1e9)
    by_name = {"reg_query": reg_query, "reg_readout": reg_readout}
    ridges = np.array([check_real(*item, low=1e-8, high=1e9) for item in by_name.items()])
    beta = check_real("beta", beta, low=1e-9, high=1e6)
    n_points = check_count("n_points", n_points, minimum=256)
    smooth = check_smooth(get_loss(loss))
    if max(problem.lengths) == 1:
        raise ValueError(
            'n_tokens must be at least 2, got 1: without attention it is risk of "pooled"'
        )
    runs, order = [], _START
    for scrambling in range(_SCRAMBLINGS):
        cohorts = _draw(problem, n_points // _SCRAMBLINGS, scrambling)
        order, numbers, converged = _solve(cohorts, alpha, ridges, beta, smooth, order)
        points = NewSamples(problem, beta, smooth, 8 * n_points, scrambling)
        runs.append([points.average(order.parameters).error, *numbers])
        if not converged:
            break
    errors = standard_error(runs) if len(runs) > 1 else np.full(len(runs[0]), math.inf)
    pairs = zip(np.mean(runs, axis=0), errors, strict=True)
    result = JointRisk(*(Estimate(value, bar, converged) for value, bar in pairs))
    if not result.stable:
        message = (
            "the joint minimum is not described by this theory here (stable=False); "
            "raise the ridges or alpha"
        )
        warnings.warn(message, ConvergenceWarning, stacklevel=2)
    return result


class _Order(NamedTuple):
    """The parameters as the theory sees them, and how stiffly they are held."""

    parameters: Parameters
    variance: Floats  # V, shape (2, 2): how much one sample can move them


_START = _Order(Parameters(np.ones(2), np.array([[1.2, 0.9], [0.9, 1.2]]), 0.0), 0.2 * np.eye(2))


@dataclass
class _Cohort:
    """Samples of one group: their normals, and where the last minimization ended."""

    group: Group
    normals: Floats  # shape (samples, 2, tokens)
    last: Floats | None = None

    def objective(self, order: _Order, beta: float, loss: Loss) -> Objective:
        """Return the function that each of the samples minimizes."""
        at, group = order.parameters, self.group
        prior = np.einsum("kj,njl->nkl", np.linalg.cholesky(at.gram), self.normals)
        prior[:, :, : signal_tokens(group)] += group.kind.signal * at.overlap[:, np.newaxis]
        precision = np.asarray(np.linalg.inv(order.variance), dtype=float)
        return Objective(prior, precision, group.label, at.bias, beta, loss)

    def jumps(self, order: _Order, beta: float, loss: Loss) -> float:
        """Return the fraction of samples with another minimum, looked for from each token."""
        objective = self.objective(order, beta, loss)
        first = minimize(objective, objective.prior)
        several = np.zeros(len(first), dtype=bool)
        for token in range(min(first.shape[2], _MOST_TRIES)):
            start = objective.prior.copy()
            start[:, 0, token] += 3.0 * np.sqrt(order.variance[0, 0])
            several |= np.abs(minimize(objective, start) - first).max(axis=(1, 2)) > 1e-3
        return float(several.mean())


def _draw(problem: Problem, rows: int, scrambling: int) -> list[_Cohort]:
    """Draw the samples of each group; classes of one kind share their normals."""
    drawn: dict[SparseTokenProblem, Floats] = {}
    cohorts = []
    for group in problem.groups:
        kind = group.kind
        if kind not in drawn:
            rng = np.random.default_rng([_SEED, scrambling, len(drawn)])
            normals = sobol_normals(1 << round(math.log2(rows)), 2 * kind.n_tokens, rng)
            drawn[kind] = normals.reshape(-1, 2, kind.n_tokens)
        cohorts.append(_Cohort(group, drawn[kind]))
    return cohorts


class _SampleAverages(NamedTuple):
    """Averages over the samples at one iterate."""

    pull: Floats  # θE[v·A]
    energy: Floats  # E[AᵀA]
    response: Floats
    """E Σ ∂A/∂h° within tokens, shape (2, 2).

    Estimated by Stein's identity (valid with jumps); directly when the query is near zero.
    """
    pairs: Floats  # E Σ over pairs of tokens of (∂A/∂h°) ⊗ (∂A/∂h°), shape (4, 4)
    slope: float
    stiffness: float  # dE[ℓ′]/db
    loss: float


def _solve(
    cohorts: list[_Cohort], alpha: float, ridges: Floats, beta: float, loss: Loss, start: _Order
) -> tuple[_Order, list[float], bool]:
    """Iterate the equations of section 14 from ``start``, then solve them by Newton's method.

    Where that fails, as where the query vanishes, iterate to the end. Returns the solution, the
    numbers of :class:`JointRisk` but the first, and whether it is one.
    """

    def step(x: Floats) -> Floats:
        order = _unflat(x)
        return _flat(_next(order, _average(cohorts, order, beta, loss), alpha, ridges)[0])

    x, converged = _flat(start), False
    for tolerance in (_CLOSE, 0.1 * _TOLERANCE):
        for _ in range(_MOST_ITERATIONS):
            move = step(x) - x
            x = x + _DAMPING * move
            if np.abs(move).max() < tolerance * np.abs(x).max():
                break
        options = {"eps": 1e-6, "xtol": 1e-7, "maxfev": 60}
        root = optimize.root(lambda x: step(x) - x, x, method="hybr", options=options).x
        for candidate in (root, x):
            order = _unflat(candidate)
            seen = _average(cohorts, order, beta, loss)
            new, held = _next(order, seen, alpha, ridges)
            left = float(np.abs(_flat(new) - candidate).max())
            converged = held and left < _TOLERANCE * float(np.abs(candidate).max())
            if converged:
                break
        if converged:
            break
    if converged:  # one more step of the map: what must vanish, as without a signal, then does
        order = new
    jumps = sum(cohort.group.probability * cohort.jumps(order, beta, loss) for cohort in cohorts)
    at = order.parameters
    query, readout = np.sqrt(np.maximum(np.diag(at.gram), 1e-300)).tolist()
    learned = [at.overlap[0] / query, query, at.overlap[1] / readout, readout, at.bias]
    growth = _growth(seen, alpha, order.variance)
    return order, [seen.loss, *learned, growth, jumps], converged


def _average(cohorts: list[_Cohort], order: _Order, beta: float, loss: Loss) -> _SampleAverages:
    terms = []
    for cohort in cohorts:
        group, objective = cohort.group, cohort.objective(order, beta, loss)
        start = objective.prior if cohort.last is None else cohort.last
        cohort.last = minimize(objective, start)
        place, response = responses(objective, cohort.last)
        within = np.einsum("nkljl->kj", response) / len(start)
        response *= _tame(response)[:, np.newaxis, np.newaxis, np.newaxis, np.newaxis]
        flat = np.moveaxis(response, 3, 2).reshape(len(start), 4, -1)
        a = place.influence
        root = np.linalg.cholesky(order.parameters.gram)
        if root.diagonal().min() > _COLLAPSED * root.diagonal().max():
            stein = np.einsum("nkl,njl->kj", cohort.normals, a) / len(a)
            within = np.linalg.solve(root.T, stein)
        averages = (
            group.kind.signal * a[:, :, : signal_tokens(group)].sum(axis=2).mean(axis=0),
            np.einsum("nkl,njl->kj", a, a) / len(a),
            within,
            np.einsum("nix,njx->ij", flat, flat) / len(a),
            float(place.slope.mean()),
            float(response[:, 1, :, 1].sum(axis=(1, 2)).mean()),
            float(place.loss.mean()),
        )
        terms.append([group.probability * value for value in averages])
    totals: list[Any] = [sum(column) for column in zip(*terms, strict=True)]
    return _SampleAverages(*totals)


def _tame(response: Floats) -> Floats:
    """Return factors that bound the largest responses, of samples about to jump.

    Their mean square need not exist; the fraction of such samples is judged on its own.
    """
    size = np.sqrt(np.einsum("nabcd,nabcd->n", response, response))
    return np.minimum(1.0, np.quantile(size, _TAMED) / np.maximum(size, 1e-300))


def _next(
    order: _Order, seen: _SampleAverages, alpha: float, ridges: Floats
) -> tuple[_Order, bool]:
    """Return the next iterate, and whether the parameters are held against every change."""
    stiffness = alpha * (np.diag(ridges) + 0.5 * (seen.response + seen.response.T))
    values, vectors = np.linalg.eigh(stiffness)
    least = 0.1 * alpha * ridges.min()
    variance: Floats = (vectors / np.maximum(values, least)) @ vectors.T
    force = -alpha * seen.pull
    gram = variance @ (np.outer(force, force) + alpha * seen.energy) @ variance
    bias = order.parameters.bias - seen.slope / max(seen.stiffness, 1e-3)
    return _Order(Parameters(variance @ force, gram, bias), variance), bool(values[0] > least)


def _growth(seen: _SampleAverages, alpha: float, variance: Floats) -> float:
    """Return the factor by which the samples' answer multiplies a small change of parameters.

    A random change with covariance S comes back as αW E[Σ JᵀSJ] W, J being a sample's response
    between two of its tokens and W = V.
    """
    pairs = seen.pairs.reshape(2, 2, 2, 2)  # (c, a, d, b): J from c to a times J from d to b
    answer = alpha * np.einsum("cadb,ae,bf->efcd", pairs, variance, variance)
    return float(np.abs(np.linalg.eigvals(answer.reshape(4, 4))).max())


def _flat(order: _Order) -> Floats:
    at, v = order.parameters, order.variance
    parts = (at.overlap, at.gram[np.triu_indices(2)], v[np.triu_indices(2)], [at.bias])
    return np.concatenate(parts)


def _positive(matrix: Floats) -> Floats:
    """Return the nearest matrix with no eigenvalue below a tiny fraction of the largest."""
    values, vectors = np.linalg.eigh(matrix)
    return (vectors * np.maximum(values, 1e-12 * np.abs(values).max())) @ vectors.T


def _unflat(x: Floats) -> _Order:
    gram, variance = (_positive(np.array([[a, b], [b, c]])) for a, b, c in (x[2:5], x[5:8]))
    return _Order(Parameters(x[:2], gram, float(x[8])), variance)
