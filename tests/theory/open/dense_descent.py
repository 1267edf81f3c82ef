"""Plain gradient descent on dense tokens."""

import numpy as np
from dense_reference import softmax

NAMES = ("cosine", "query_norm", "readout_cosine", "readout_norm", "bias")


def gradient(X, y, q, w, b, loss, beta):
    """Gradient of the mean loss by q, w and b, and the mean loss, on dense tokens."""
    sign = 2.0 * y - 1.0
    along = X @ w
    weights = softmax(beta * (X @ q))
    score = (weights * along).sum(axis=1)
    slope = loss.derivative(score + b, sign) / len(y)
    pull = slope[:, np.newaxis] * weights
    by_query = beta * np.tensordot(pull * (along - score[:, np.newaxis]), X, axes=2)
    by_readout = np.tensordot(pull, X, axes=2)
    return by_query, by_readout, slope.sum(), loss.value(score + b, sign).mean()


def descend(problem, alpha, dim, rng, *, steps, reused, loss, beta, rates, reg):
    """Plain gradient descent on dense tokens: overlaps, norms and bias after each step."""
    n_samples = round(alpha * dim)
    X, y, truth = problem.sample(n_samples, dim, random_state=rng, return_truth=True)
    q, w, b, rows = np.zeros(dim), np.zeros(dim), 0.0, []
    for step in range(steps):
        by_q, by_w, by_b, _ = gradient(X, y, q, w, b, loss, beta)
        q = q - rates[0][step] * (by_q + reg * q)
        w = w - rates[1][step] * (by_w + reg * w)
        b = b - rates[2][step] * by_b
        if not reused:
            X, y = problem.sample(n_samples, dim, random_state=rng, direction=truth.direction)
        loss_now = gradient(X, y, q, w, b, loss, beta)[3]
        norms = np.linalg.norm(q), np.linalg.norm(w)
        cosines = [v @ truth.direction / max(n, 1e-300) for v, n in zip((q, w), norms, strict=True)]
        rows.append([cosines[0], norms[0], cosines[1], norms[1], b, loss_now])
    return np.array(rows)
