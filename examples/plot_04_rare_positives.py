"""
Rare positives: scores, probabilities and thresholds
====================================================

One sequence in twenty is positive. A classifier that never raises an alarm is right 95 % of the
time, so accuracy says little. Three questions say more: does it rank positives first, are its
probabilities right, and at which probability should an alarm go off?
"""

# %%
# The data
# --------
# Sequences of 12 tokens; in a positive one a single token is shifted.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.metrics import average_precision_score, precision_recall_curve, roc_auc_score

import sparsetoken as st
from sparsetoken.models import look
from sparsetoken.plotting import styled

problem = st.SparseTokenProblem(n_tokens=12, signal=5.0, positive_rate=0.05)
dim = 30
X, y, truth = problem.sample(1500, dim, random_state=0, return_truth=True)
X_test, y_test = problem.sample(10_000, dim, random_state=1, direction=truth.direction)
print(f"{y.sum()} positives among {len(y)} training sequences")

# %%
# Ranking
# -------
# AUC is the probability that a positive scores higher than a negative. It does not change with the
# share of positives; the average precision does, and for a coin it equals that share.

attention = st.AttentionClassifier(random_state=0).fit(X, y)
pooled = st.PooledClassifier(reg=1e-3).fit(X, y)
probability = {}
print(f"never alarm: accuracy {1 - y_test.mean():.3f}")
for name, clf in (("attention", attention), ("pooled", pooled)):
    p = probability[name] = clf.predict_proba(X_test)[:, 1]
    print(
        f"{name:<10} accuracy {clf.score(X_test, y_test):.3f}   AUC {roc_auc_score(y_test, p):.3f}"
        f"   average precision {average_precision_score(y_test, p):.3f}"
    )

# %%
# Probabilities
# -------------
# ``AttentionClassifier`` calibrates its probabilities with scores that cross-validation held out.
# To judge them we sort the test sequences into groups of similar predicted probability and count
# the positives in each.

with styled():
    figure, (left, right) = plt.subplots(1, 2, figsize=(6.8, 2.9), layout="constrained")
    for name, p in probability.items():
        _, colour, marker = look(name)
        precision, recall, _ = precision_recall_curve(y_test, p)
        left.plot(recall, precision, color=colour, label=name)
        groups = [0.0, 0.02, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0]
        which = np.digitize(p, groups[1:-1])
        kept = [g for g in range(len(groups) - 1) if (which == g).sum() >= 20]
        predicted = [p[which == g].mean() for g in kept]
        share = np.array([y_test[which == g].mean() for g in kept])
        bar = np.sqrt(share * (1 - share) / [(which == g).sum() for g in kept])
        style = {"fmt": f"{marker}-", "markerfacecolor": "white", "capsize": 2}
        right.errorbar(predicted, share, bar, color=colour, label=name, **style)
    left.axhline(y_test.mean(), ls=":", color="0.5", label="chance")
    left.set(xlabel="share of the positives found", ylabel="share of the alarms that are right")
    left.set(ylim=(0, 1.03), title="ranking")
    left.legend(loc="lower left", bbox_to_anchor=(0.0, 0.08))
    right.plot([0, 1], [0, 1], ":", color="0.5")
    right.set(xlabel="predicted probability", ylabel="share of positives ± s.e.")
    right.set_title("calibration (groups of at least 20)")
    right.legend(loc="upper left")
    figure.draw_without_rendering()  # ticks take their style when they are first drawn

# %%
# Threshold
# ---------
# Where to put the threshold depends on what mistakes cost. Say that a missed positive costs ten
# times as much as a false alarm. If the probabilities are right, an alarm pays as soon as p > 1/11,
# and nothing has to be tuned. We compare with the best threshold in hindsight.

miss, false_alarm = 10.0, 1.0
thresholds = np.geomspace(0.005, 0.9, 60)


def cost(p, threshold):
    """Return the mean cost of alarms above a threshold."""
    alarm = p > threshold
    return np.mean(np.where(y_test == 1, miss * ~alarm, false_alarm * alarm))


costs = {name: [cost(p, t) for t in thresholds] for name, p in probability.items()}
by_theory = false_alarm / (miss + false_alarm)
for name, p in probability.items():
    best = thresholds[np.argmin(costs[name])]
    print(
        f"{name:<10} cost at 1/2: {cost(p, 0.5):.3f}   at 1/11: {cost(p, by_theory):.3f}"
        f"   best in hindsight: {min(costs[name]):.3f} (at {best:.3f})"
    )
print(f"never alarm: {miss * y_test.mean():.3f}   always alarm: {1 - y_test.mean():.3f}")

with styled():
    figure, ax = plt.subplots(figsize=(3.6, 2.6), layout="constrained")
    for name in probability:
        ax.plot(thresholds, costs[name], color=look(name).color, label=name)
    ax.axvline(by_theory, ls=":", color="0.5")
    ax.annotate("1/11", (by_theory, 0.2), xytext=(3, 0), textcoords="offset points")
    ax.axhline(miss * y_test.mean(), ls="--", lw=0.8, color="0.5", label="never alarm")
    ax.set(xscale="log", xlabel="alarm if the probability exceeds", ylim=(0, None))
    ax.set_ylabel("mean cost (false alarm = 1)")
    ax.set_xticks([0.01, 0.1, 0.5], ["0.01", "0.1", "0.5"])
    ax.legend(loc="upper right")
    figure.draw_without_rendering()

# %%
# What the theory says
# --------------------
# The exact theory predicts AUC and error of the two-step protocol, rare positives included. At its
# default learning rates the query of so rare a class can even point the wrong way; the rate of the
# bias puts that right.

alpha = len(y) / dim / 2
for lr_bias in (0.0, 1.0, st.theory.best_bias_rate(problem, alpha=alpha)):
    settings = {"lr_bias": lr_bias, "lr_query": 100.0}
    learned = st.theory.alignment(problem, alpha=alpha, **settings)
    risk = st.theory.two_step_risk(problem, alpha0=alpha, alpha1=alpha, reg=1e-2, **settings)
    print(
        f"lr_bias {lr_bias:.2f}: cosine with the signal {learned.cosine:+.2f}, AUC {risk.auc:.3f}"
    )
