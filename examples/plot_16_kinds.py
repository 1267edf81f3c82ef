r"""
Positives of several kinds
==========================

Several words make a comment toxic, several lesions a slide malignant. If nobody records which, what
does it cost? One direction for all kinds pays with the strength of the signal; a direction for each
pays with samples. The theory has a law for both, and simulation agrees with them.
"""

# %%
# What one direction sees
# -----------------------
# Ten tokens; in a positive sequence one of them carries a signal of strength 6 along one of K
# orthogonal directions. ``truth.kinds`` says which, and no learner is told. The mean token of all
# positives points along the mean of the directions, on which each has a part of 1/√K only:

import matplotlib.pyplot as plt
import numpy as np

import sparsetoken as st
from sparsetoken.plotting import plain_log, styled
from sparsetoken.vocabulary import COLORS

problem = st.SparseTokenProblem(n_tokens=10, signal=6.0, n_kinds=4)
X, y, truth = problem.sample(20_000, 20, random_state=0, return_truth=True)
mean = X[y == 1].mean(axis=(0, 1))
print("kinds of the first samples:", truth.kinds[:8])
print("cosine of the mean token with each direction:", end=" ")
print((truth.directions @ mean / np.linalg.norm(mean)).round(2))

# %%
# Two laws
# --------
# One query sees K kinds as one kind of strength θ/√K. A learner with a direction for each kind sees
# one kind in K times as many tokens, with a K-th of the samples. Both by theory, and simulated in
# 300 dimensions: two gradient steps and a readout; message passing.

kinds, alpha, dim, draws = (1, 2, 3, 5), 6.0, 300, 6
settings = {"reg": 1e-2, "lr_query": 50.0}
rows = {"two-step": {}, "optimal": {}}
for n_kinds in kinds:
    problem = st.SparseTokenProblem(n_tokens=10, signal=6.0, n_kinds=n_kinds)
    for name, table in rows.items():
        model, options = st.models.get(name), settings if name == "two-step" else {}
        (theory,) = model.theory(problem, [alpha], options)
        drawn = [
            model.trial(problem, alpha, dim, options, np.random.default_rng(seed)).test_error
            for seed in range(draws)
        ]
        table[n_kinds] = theory.test_error, np.mean(drawn), np.std(drawn, ddof=1) / draws**0.5
        exact, error, bar = table[n_kinds]
        print(f"{n_kinds} kinds, {name:8}: theory {exact:.4f}, simulation {error:.4f} ± {bar:.4f}")

# %%
# A sequence longer than it is
# ----------------------------
# The second law says that kinds and tokens are exchangeable: five kinds in 20 tokens are as hard as
# one kind in 100 tokens with a fifth of the samples.

several = st.theory.optimal(st.SparseTokenProblem(20, signal=6.0, n_kinds=5), alpha=5.0)
single = st.theory.optimal(st.SparseTokenProblem(100, signal=6.0), alpha=1.0)
print(f"\nfive kinds in 20 tokens: {several.test_error:.5f}; one in 100: {single.test_error:.5f}")

# %%
# The signal that it takes
# ------------------------
# With the directions known, the largest score of one query needs a signal of order √(2K log L), the
# best rule of one for each kind only √(2 log KL).

many = np.unique(np.geomspace(1, 100, 13).round().astype(int))
needed = {
    rule: [
        st.theory.required_signal(st.SparseTokenProblem(100, n_kinds=int(k)), rule, error=0.05)
        for k in many
    ]
    for rule in ("hardmax", "bayes")
}
labels = {
    "two-step": "one query",
    "optimal": "best learner",
    "hardmax": "one query",
    "bayes": "a direction for each",
}
with styled():
    figure, (left, right) = plt.subplots(1, 2, figsize=(6.8, 2.9), layout="constrained")
    for (name, table), color in zip(rows.items(), (COLORS[0], COLORS[6]), strict=True):
        exact, error, bar = np.transpose(list(table.values()))
        left.plot(kinds, exact, color=color, label=labels[name])
        left.errorbar(kinds, error, yerr=bar, fmt="o", color=color, markerfacecolor="white")
    left.set(xlabel="kinds of signal, K", ylabel="test error", yscale="log", xticks=kinds)
    plain_log(left.yaxis)
    left.legend(title="theory (lines), simulation")
    for (rule, signals), color in zip(needed.items(), (COLORS[0], COLORS[6]), strict=True):
        right.plot(many, signals, color=color, label=labels[rule])
    right.plot(many, np.sqrt(2 * many * np.log(100)), color="0.6", lw=0.8, label="√(2K log L)")
    right.plot(
        many, np.sqrt(2 * np.log(100 * many)), "--", color="0.6", lw=0.8, label="√(2 log KL)"
    )
    right.set(
        xlabel="kinds of signal, K", ylabel="signal θ for 5 % error", xscale="log", yscale="log"
    )
    plain_log(right.xaxis)
    plain_log(right.yaxis)
    right.legend()
    figure.draw_without_rendering()  # ticks take their style when they are first drawn
