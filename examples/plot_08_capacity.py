"""
How many samples can be fitted perfectly?
=========================================

With few samples in many dimensions a classifier gets all of its training data right, whether or not
it has learned anything. The *capacity* is the number of samples per dimension up to which that is
possible. Below it, a perfect training score says nothing; above it, the training error begins to be
worth looking at.
"""

# %%
# The threshold
# -------------
# One of ten tokens carries a signal of strength 3. For attention we take a query whose
# cosine with the signal is 0.9. Theory gives the capacity in the limit of many dimensions:

import matplotlib.pyplot as plt
import numpy as np

import sparsetoken as st
from sparsetoken.experiments import compute, make_cell
from sparsetoken.models import look
from sparsetoken.plotting import styled
from sparsetoken.vocabulary import COLORS

problem = st.SparseTokenProblem(n_tokens=10, signal=3.0)
query = {"cosine": 0.9, "sharpness": 1.0}
queries = {"pooled": {}, "attention": query}
capacity = {model: st.theory.capacity(problem, model, **q) for model, q in queries.items()}
for model, value in capacity.items():
    print(f"{model:<10} {value:.3f} samples per dimension")

# %%
# Is it sharp?
# ------------
# We draw data sets of increasing size and ask how many of forty can be separated without a mistake.
# In 20 dimensions the share falls gradually, in 60 more steeply, and both around the capacity.

ratios = np.array([0.7, 0.85, 1.0, 1.15, 1.3])
settings = {"n_tokens": 10, "signal": 3.0, "reg": 1e-4}


def simulated(model, dim, trials, quantities):
    """Return measurements at sizes around the capacity of a model."""
    fixed = settings | queries[model] | {"model": model, "dim": dim, "trials": trials}
    alphas = (ratios * capacity[model]).tolist()
    return [compute(make_cell("simulation", quantities, {**fixed, "alpha": a})) for a in alphas]


cases = (("pooled", 20), ("pooled", 60), ("attention", 60))
separable = {
    (model, dim): [m["separable"] for m in simulated(model, dim, 40, ["separable"])]
    for model, dim in cases
}
print("alpha / capacity       " + "".join(f"{ratio:>7.2f}" for ratio in ratios))
for (model, dim), share in separable.items():
    print(f"{model:<10} {dim:>3} dim.    " + "".join(f"{value:>7.2f}" for value in share))

# %%
# Fitted is not learned
# ---------------------
# The pooled classifier with a very small ridge. Well below the capacity its training error is zero
# while it errs on new samples almost as often as a coin; beyond it, the two errors approach each
# other.

alphas = np.geomspace(0.5, 20.0, 14)
fixed = settings | {"model": "pooled", "dim": 100, "trials": 8}
curves = {
    source: [
        compute(make_cell(source, ["train_error", "test_error"], {**fixed, "alpha": float(a)}))
        for a in chosen
    ]
    for source, chosen in (("theory", alphas), ("simulation", alphas[1::3]))
}
below = [m["train_error"] for m, a in zip(curves["theory"], alphas, strict=True) if a < 2]
print(f"training error below 2 samples per dimension: at most {max(below):.3f}")
print(f"test error at {alphas[0]:.1f}: {curves['theory'][0]['test_error']:.3f}")

# %%
# A stronger signal can be fitted more often
# ------------------------------------------
# Without any signal the capacity is 2 for both, the classical number for random labels. A signal
# raises it, for attention faster.

signals = np.linspace(0.0, 5.0, 11)
by_signal = {
    model: [
        st.theory.capacity(st.SparseTokenProblem(10, signal=s), model, **q, n_points=4096)
        for s in signals
    ]
    for model, q in queries.items()
}
print({model: f"{values[0]:.3f} to {values[-1]:.1f}" for model, values in by_signal.items()})

with styled():
    figure, axes = plt.subplots(1, 3, figsize=(6.8, 2.5), layout="constrained")
    for (model, dim), share in separable.items():
        _, colour, marker = look(model)
        style = {"color": colour, "marker": marker, "ls": "-" if dim == 60 else ":"}
        axes[0].plot(ratios, share, label=f"{model}, {dim} dim.", markerfacecolor="white", **style)
    axes[0].axvline(1.0, ymin=0.3, color="0.8", lw=3, zorder=0)
    axes[0].set(xlabel="samples, in units of the capacity", ylabel="share separable")
    axes[0].legend(loc="lower left")
    names = {"test_error": "test error", "train_error": "training error"}
    for quantity, colour in (("test_error", COLORS[1]), ("train_error", COLORS[6])):
        line = [m[quantity] for m in curves["theory"]]
        axes[1].plot(alphas, line, color=colour, label=names[quantity])
        points = [m[quantity] for m in curves["simulation"]]
        values, bars = points, [p.uncertainty for p in points]
        style = {"fmt": "s", "color": colour, "markerfacecolor": "white", "capsize": 1.5}
        axes[1].errorbar(alphas[1::3], values, bars, **style)
    axes[1].axvline(capacity["pooled"], ymax=0.8, color="0.8", lw=3, zorder=0)
    axes[1].set(xscale="log", xlabel="samples per dimension, α", ylabel="error of pooled")
    axes[1].set_xticks([0.5, 1, 2, 5, 10, 20], ["0.5", "1", "2", "5", "10", "20"])
    axes[1].minorticks_off()
    axes[1].set_ylim(-0.01, 0.6)
    axes[1].set_title("lines: theory; points: simulation")
    axes[1].legend(loc="upper right")
    for model, values in by_signal.items():
        axes[2].plot(signals, values, color=look(model).color, label=model)
    axes[2].set(yscale="log", xlabel="signal θ", ylabel="capacity, samples per dimension")
    axes[2].set_yticks([2, 5, 10, 20], ["2", "5", "10", "20"])
    axes[2].minorticks_off()
    axes[2].legend(loc="upper left")
    figure.draw_without_rendering()  # ticks take their style when they are first drawn
