"""Loops over particles, steps and tokens, compiled. Arrays are (particles, steps, 2, tokens)."""

import math
from typing import Any

import numpy as np

from sparsetoken._njit import njit

_OPTIONS: Any = {"error_model": "numpy", "fastmath": {"contract", "reassoc", "nsz"}}


@njit(**_OPTIONS)
def project(sources, propagator, t, h):  # type: ignore[no-untyped-def]
    """Subtract Σ_{s<t} sources_s·G(t, s) from ``h``, shape (2, particles, tokens)."""
    for n in range(h.shape[1]):
        for s in range(t):
            for k in range(2):
                by_query, by_readout = propagator[2 * s + k, 0], propagator[2 * s + k, 1]
                for j in range(h.shape[2]):
                    h[0, n, j] -= by_query * sources[n, s, k, j]
                    h[1, n, j] -= by_readout * sources[n, s, k, j]


@njit(**_OPTIONS)
def attend(h, beta, weights, delta, score):  # type: ignore[no-untyped-def]
    """Fill in s = softmax(βh_q), δ = h_w − φ and φ = s·h_w."""
    n_tokens = h.shape[2]
    for n in range(h.shape[1]):
        top, total, mean = h[0, n].max(), 0.0, 0.0
        for j in range(n_tokens):
            weights[n, j] = math.exp(beta * (h[0, n, j] - top))
            total += weights[n, j]
        for j in range(n_tokens):
            weights[n, j] /= total
            mean += weights[n, j] * h[1, n, j]
        for j in range(n_tokens):
            delta[n, j] = h[1, n, j] - mean
        score[n] = mean


@njit(**_OPTIONS)
def store_influence(weights, delta, slope, beta, influence):  # type: ignore[no-untyped-def]
    """Fill in A = [βℓ′ s∘δ, ℓ′ s]."""
    for n in range(weights.shape[0]):
        for j in range(weights.shape[1]):
            influence[n, 1, j] = slope[n] * weights[n, j]
            influence[n, 0, j] = beta * influence[n, 1, j] * delta[n, j]


@njit(**_OPTIONS)
def cross_energies(influence, t, cross):  # type: ignore[no-untyped-def]
    """Fill ``cross``, shape (4t, particles), with A^s·A^t of each particle."""
    for n in range(influence.shape[0]):
        for s in range(t):
            for k in range(2):
                by_query = by_readout = 0.0
                for j in range(influence.shape[3]):
                    by_query += influence[n, s, k, j] * influence[n, t, 0, j]
                    by_readout += influence[n, s, k, j] * influence[n, t, 1, j]
                row = 2 * (2 * s + k)
                cross[row, n], cross[row + 1, n] = by_query, by_readout


@njit(**_OPTIONS)
def project_step(normals, root, pull, signal, influence, inverse_alpha, t, seen):  # type: ignore[no-untyped-def]
    """Fill in U_t = (θv + g)·pull + e + A/α, where ``root`` makes e from the normals."""
    n_tokens = signal.shape[1]
    for n in range(signal.shape[0]):
        for k in range(2):
            for j in range(n_tokens):
                memory = influence[n, t, k, j] * inverse_alpha
                seen[n, t, k, j] = pull[k] * signal[n, j] + memory
            for i in range(2 * t + 1 + k):
                for j in range(n_tokens):
                    seen[n, t, k, j] += root[k, i] * normals[n, i // 2, i % 2, j]


@njit(**_OPTIONS)
def propagate_derivatives(  # type: ignore[no-untyped-def]
    weights, delta, slope, curvature, beta, t, propagator, inverse_alpha, moving, signs, tangents,
    memory_response,
):  # fmt: skip
    """Take the derivatives of the influence one step further.

    ``tangents[n, i]`` is the derivative of A^s by a kick in component i of U, of the tokens' random
    signs. Its sum over tokens, each times its sign, estimates the trace over tokens;
    ``memory_response`` gets minus that of the part that comes by memory, the other part being known
    exactly.
    """
    n_tokens = weights.shape[1]
    memory, direct = np.empty((2, n_tokens)), np.empty((2, n_tokens))
    moved = np.empty((2, n_tokens))
    for n in range(signs.shape[0]):
        for i in range(2 * t):
            if not moving[i]:
                continue
            memory[:] = 0.0
            for s in range(i // 2 + 1, t):
                for k in range(2):
                    by_query = inverse_alpha * propagator[2 * s + k, 0]
                    by_readout = inverse_alpha * propagator[2 * s + k, 1]
                    for j in range(n_tokens):
                        memory[0, j] -= by_query * tangents[n, i, s, k, j]
                        memory[1, j] -= by_readout * tangents[n, i, s, k, j]
            for k in range(2):
                for j in range(n_tokens):
                    direct[k, j] = memory[k, j] - propagator[i, k] * signs[n, j]
            _derive(weights[n], delta[n], slope[n], curvature[n], beta, memory, moved)
            for k in range(2):
                for j in range(n_tokens):
                    memory_response[i, k] -= signs[n, j] * moved[k, j]
            _derive(weights[n], delta[n], slope[n], curvature[n], beta, direct, moved)
            tangents[n, i, t] = moved


@njit(**_OPTIONS)
def _derive(weights, delta, slope, curvature, beta, change, moved):  # type: ignore[no-untyped-def]
    """Fill in the derivative of A along a change of h."""
    n_tokens = weights.size
    mean = score = 0.0
    for j in range(n_tokens):
        mean += weights[j] * change[0, j]
    for j in range(n_tokens):
        moved[0, j] = beta * weights[j] * (change[0, j] - mean)  # of the weights
        score += moved[0, j] * delta[j] + weights[j] * change[1, j]
    for j in range(n_tokens):
        moved[1, j] = curvature * score * weights[j] + slope * moved[0, j]
        moved[0, j] = beta * (moved[1, j] * delta[j] + slope * weights[j] * (change[1, j] - score))
