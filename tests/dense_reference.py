"""The published pipeline on dense tokens, in plain NumPy: what the reduced samplers must match."""

import numpy as np


def softmax(scores):
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return weights / weights.sum(axis=-1, keepdims=True)


def two_gradient_steps(X, y, loss, beta, lr_readout, lr_bias, lr_query, center=False):
    """One step on readout and bias, one on the query, all from zero (docs/theory, section 3).

    ``X`` is an array or a list of sequences of any length.
    """
    n_samples = len(X)
    sign = 2.0 * y - 1.0
    pooled = np.array([tokens.mean(axis=0) for tokens in X])
    residual = loss.derivative(np.zeros(n_samples), sign)
    readout = -lr_readout * pooled.T @ residual / n_samples
    bias = -lr_bias * residual.mean()
    slope = loss.derivative(pooled @ readout + bias, sign)
    slope = slope - slope.mean() if center else slope
    moments = np.array([
        tokens.T @ ((tokens - mean) @ readout) / len(tokens)
        for tokens, mean in zip(X, pooled, strict=True)
    ])  # fmt: skip
    query = -lr_query * beta / n_samples * slope @ moments
    return query, readout, bias


def attention_features(X, query, beta=1.0):
    if isinstance(X, list):
        return np.array([softmax(beta * tokens @ query) @ tokens for tokens in X])
    return np.einsum("nld,nl->nd", X, softmax(beta * X @ query))


def ridge_readout(features, y, reg):
    """Minimizer of the ridge-regularized square loss, with an unpenalized bias."""
    sign = 2.0 * y - 1.0
    centre, level = features.mean(axis=0), sign.mean()
    centered = features - centre
    gram = centered.T @ centered / len(y) + reg * np.eye(features.shape[1])
    readout = np.linalg.solve(gram, centered.T @ (sign - level) / len(y))
    return readout, level - centre @ readout
