"""
What the paper left open, and what the numbers say
==================================================

The theory of two gradient steps leaves three questions open. Does it survive ordinary training,
where query and readout move together? What if sequences grow as long as the dimension? Do several
layers compound the advantage? Equations for all three are in the theory pages; here they stand
beside simulations.
"""

# %%
# Does the theory survive joint training?
# ---------------------------------------
# **Yes.** Gradient descent moves query, readout and bias in every step, on new samples each time or
# on the same ones again and again. Both can be predicted step by step, and so can the minimum where
# it ends. New samples teach best. On the same samples some twenty steps are enough: the minimum,
# where training ends, is worse.

import math

import matplotlib.pyplot as plt
import numpy as np

import sparsetoken as st
from sparsetoken.experiments import compute, make_cell
from sparsetoken.plotting import lines_and_points, styled
from sparsetoken.vocabulary import COLORS

problem = st.SparseTokenProblem(n_tokens=10, signal=5.0)
rates = {"lr_query": 1.0, "lr_readout": 1.0, "lr_bias": 1.0, "reg": 0.1}
steps, points = 24, [2, 4, 8, 16]
predicted, simulated = {}, {}
for batches in ("fresh", "reused"):
    predicted[batches] = st.theory.training(
        problem, steps=steps, alpha=2.0, batches=batches, n_points=512, **rates
    )
    values = {"model": "training", "alpha": 2.0, "batches": batches, "dim": 100, "trials": 6}
    simulated[batches] = [
        compute(make_cell("simulation", ["test_error"], values | rates | {"steps": s}))
        for s in points
    ]
minimum = st.theory.joint_risk(problem, alpha=2.0, reg_query=0.1, reg_readout=0.1, n_points=512)
for batches, t in predicted.items():
    best = int(np.argmin(t.test_error))
    print(f"{batches:<7} test error {t.test_error[best]:.3f} after step {best + 1}")
print(f"minimum test error {minimum.test_error:.3f}, to be trusted: {minimum.stable}")

# %%
# What if the length grows with the dimension?
# --------------------------------------------
# **The published second step fails, and one subtraction mends it.** With as many tokens as
# dimensions, the mean slope of the batch, which is zero only up to chance, is multiplied by the
# length and throws the query off course. Subtracting it (``center=True``) brings the theory back.
# How many samples a query needs then grows in proportion to the length.

dims = [100, 200, 400, 800]
cosines = {center: [] for center in (0, 1)}
limits = []
for dim in dims:
    long = {"n_tokens": dim, "n_signal": round(math.sqrt(dim)), "signal": 1.5, "alpha0": 1.5}
    for center, found in cosines.items():
        values = long | {"center": center, "dim": dim, "trials": 24}
        found.append(compute(make_cell("simulation", ["cosine"], values))["cosine"])
    limits.append(compute(make_cell("theory", ["cosine"], long | {"center": 1}))["cosine"])
for name, row in (("published", cosines[0]), ("centered", cosines[1])):
    print(f"{name:<10}" + "".join(f"{c:>7.2f} ± {c.uncertainty:.2f}" for c in row))
print(f"{'theory':<10}" + "".join(f"{c:>7.2f}       " for c in limits))

# %%
# Do several layers compound the advantage?
# -----------------------------------------
# **Hardly.** Self-attention layers that look along the query's direction are a pooling, at any
# depth: the theory of one layer covers them. At the best sharpness for each depth, a layer changes
# little when one token carries the signal, and costs when three do: it mixes tokens that already
# agree. Only a query that points straight at the signal gains: at a cosine of one and with one
# signal token, four layers take a tenth off the error.

depths, errors = [0, 1, 2, 3], {}
settings = {"alpha": 4.0, "reg": 1e-2, "cosine": 0.8, "n_points": 512}
for n_signal, signal in ((1, 4.0), (3, 2.5)):
    few = st.SparseTokenProblem(20, n_signal, signal)
    errors[n_signal] = [
        min(
            st.theory.risk(few, st.pooling.Stacked(depth), sharpness=k, **settings).test_error
            for k in (0.8, 1.2, 1.7)
        )
        for depth in depths
    ]
    print(f"R = {n_signal}: " + "  ".join(f"{error:.3f}" for error in errors[n_signal]))

# %%
# The three together
# ------------------


def bars(ax, x, found, color, marker="o", **more):
    """Draw simulated numbers with their standard errors."""
    look = {"fmt": marker, "color": color, "markerfacecolor": "white", "capsize": 1.5}
    ax.errorbar(x, found, [f.uncertainty for f in found], **look, **more)


with styled():
    figure, axes = plt.subplots(1, 3, figsize=(6.8, 2.6), layout="constrained")
    names = {"fresh": "new samples", "reused": "the same samples"}
    for (batches, t), color in zip(predicted.items(), (COLORS[3], COLORS[1]), strict=True):
        axes[0].plot(range(1, steps + 1), t.test_error, color=color, label=names[batches])
        bars(axes[0], points, [found["test_error"] for found in simulated[batches]], color)
    axes[0].axhline(minimum.test_error, color=COLORS[2], ls="--", label="joint minimum")
    axes[0].set(yscale="log", xlabel="gradient step", ylabel="test error")
    axes[0].set_yticks([0.02, 0.05, 0.1, 0.2, 0.4], ["0.02", "0.05", "0.1", "0.2", "0.4"])
    axes[0].minorticks_off()
    lines_and_points(axes[0])
    axes[0].legend(loc="upper right")
    axes[1].plot(dims, limits, color=COLORS[0])
    bars(axes[1], dims, cosines[1], COLORS[0], label="centered step")
    bars(axes[1], dims, cosines[0], COLORS[1], "s", label="published step")
    axes[1].set(xscale="log", xlabel="dimension and length, d = L", ylabel="cosine", ylim=(0, 1))
    axes[1].set_xticks(dims, list(map(str, dims)))
    axes[1].minorticks_off()
    axes[1].legend(loc="lower left")
    for (n_signal, line), color in zip(errors.items(), (COLORS[0], COLORS[4]), strict=True):
        axes[2].plot(depths, line, color=color, label=f"R = {n_signal}")
    axes[2].set(xlabel="self-attention layers", ylabel="test error", ylim=(0.0, 0.18))
    axes[2].set_xticks(depths)
    axes[2].legend(loc="lower left")
    figure.draw_without_rendering()  # ticks take their style when they are first drawn
