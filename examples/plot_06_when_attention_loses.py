"""
When attention loses
====================

Attention is not always the better choice. It has a query to learn on top of a readout, and a query
learned badly does harm. Three ways to lose to plain averaging, each as exact theory (lines) beside
simulation (points): too few samples, a signal in most of the tokens, and a first step that does not
fit the share of positives.
"""

# %%
# Both classifiers get the same samples; attention spends half of them on its query. A cell names
# everything a number depends on, and ``compute`` returns it, from the theory or from a simulation
# in 300 dimensions.

import math
from functools import cache

import matplotlib.pyplot as plt
import numpy as np

import sparsetoken as st
from sparsetoken.experiments import compute, make_cell
from sparsetoken.models import look
from sparsetoken.plotting import lines_and_points, styled

TOKENS = 10
computed = cache(compute)  # pooling has no query: its cells are the same at every rate


def test_error(source, model, **values):
    """Return the test error, with its standard error if simulated."""
    values = {"n_tokens": TOKENS, "model": model, "dim": 300, "trials": 6, **values}
    return computed(make_cell(source, "test_error", values))["test_error"]


def both(axis, fine, coarse, **fixed):
    """Return theory on a fine grid and simulation on a coarse one, for both models."""
    found = {}
    for model in ("two-step", "pooled"):
        line = [test_error("theory", model, **fixed, **axis(x)) for x in fine]
        points = [test_error("simulation", model, **fixed, **axis(x)) for x in coarse]
        found[model] = fine, line, coarse, points
    return found


# %%
# Too few samples
# ---------------
# A weak signal, θ = 3, in one of ten tokens. With too few samples the query is mostly noise, and
# attention picks out the wrong tokens.

alphas = np.geomspace(0.1, 20, 12)
few = both(lambda alpha: {"alpha": float(alpha)}, alphas, alphas[1::3], signal=3.0)
ahead = np.less(few["two-step"][1], few["pooled"][1])
print(f"attention is ahead at alpha = {', '.join(f'{alpha:.2g}' for alpha in alphas[ahead])}")
print(f"       and behind at alpha = {', '.join(f'{alpha:.2g}' for alpha in alphas[~ahead])}")
for alpha in (0.2, 1.0, 20.0):
    learned = st.theory.alignment(st.SparseTokenProblem(TOKENS, signal=3.0), alpha=alpha / 2)
    print(f"alpha = {alpha:>4}: cosine between query and signal {learned.cosine:.2f}")

# %%
# A dense signal
# --------------
# Now R of the ten tokens carry the signal. We keep θ²R, its total energy, fixed. The mean token
# gains from every further signal token. Attention does not: it puts its weight on few tokens, and
# when all of them carry the signal there is nothing to pick.

counts = list(range(1, TOKENS + 1))
dense = both(
    lambda r: {"n_signal": int(r), "signal": 5.0 / math.sqrt(r)},
    counts,
    [1, 3, 5, 7, 10],
    alpha=2.0,
)
for r in (1, 5, 10):
    attention, pooled = (dense[model][1][r - 1] for model in ("two-step", "pooled"))
    print(f"R = {r:>2}: attention {attention:.3f}, pooled {pooled:.3f}")

# %%
# A query that points the wrong way
# ---------------------------------
# One positive in ten, and θ = 5. The step of the query starts from the bias after the first step.
# If that does not fit the share of positives, the negatives dominate the step, and the query comes
# out turned away from the signal: *anti-aligned*.

rates = np.linspace(0.0, 10.0, 11)
rare = {"positive_rate": 0.1, "alpha": 8.0, "lr_query": 100.0}
wrong = both(lambda rate: {"lr_bias": float(rate)}, rates, rates[::2], **rare)
problem = st.SparseTokenProblem(TOKENS, signal=5.0, positive_rate=0.1)
best = st.theory.best_bias_rate(problem, alpha=4.0)
for rate in (0.0, 1.0, best):
    cosine = st.theory.alignment(problem, alpha=4.0, lr_bias=rate).cosine
    print(f"lr_bias = {rate:.1f}: cosine between query and signal {cosine:+.2f}")

# %%
# The three together
# ------------------

with styled():
    figure, axes = plt.subplots(1, 3, figsize=(6.8, 2.5), layout="constrained")
    for ax, found in zip(axes, (few, dense, wrong), strict=True):
        for model, (fine, line, coarse, points) in found.items():
            _, colour, marker = look(model)
            ax.plot(fine, line, color=colour, label=model)
            values, bars = points, [p.uncertainty for p in points]
            style = {"fmt": marker, "color": colour, "markerfacecolor": "white", "capsize": 1.5}
            ax.errorbar(coarse, values, bars, **style)
        ax.set_ylim(0, None)
    axes[0].set(xscale="log", xlabel="samples per dimension, α", ylabel="test error")
    axes[0].set_xticks([0.1, 1, 10], ["0.1", "1", "10"])
    axes[0].set_title("few samples")
    axes[1].set_xticks([1, 4, 7, 10])
    axes[1].set(xlabel="tokens with signal, R of 10", title="dense signal")
    axes[2].set(xlabel="learning rate of the bias", title="rare positives")
    lines_and_points(axes[0])
    axes[0].legend(loc="lower left")
    figure.draw_without_rendering()  # ticks take their style when they are first drawn

# %%
# What to do about it? ``AttentionClassifier`` has mean pooling among its candidates and starts from
# weights that balance the classes. On the dense problem:

dense_problem = st.SparseTokenProblem(TOKENS, n_signal=TOKENS, signal=5.0 / math.sqrt(TOKENS))
X, y = dense_problem.sample(200, 100, random_state=0)
print(st.AttentionClassifier(random_state=0).fit(X, y).chosen_)
