"""
How many samples? Planning from a pilot
=======================================

Labels are expensive, so a study starts with a small pilot. From it we estimate the problem, ask how
many labelled sequences each classifier would need for the error we want, then "collect" that many
and see whether the promise holds.

The data are drawn from the model here, so that we can collect as much as we like.
"""

# %%
# The pilot
# ---------
# Two hundred labelled sequences of 8 tokens with 100 features each. We know how they were made; the
# estimate does not.

from functools import partial

import matplotlib.pyplot as plt
import numpy as np

import sparsetoken as st
from sparsetoken.plotting import styled
from sparsetoken.vocabulary import MODELS

truth = st.SparseTokenProblem(n_tokens=8, n_signal=2, signal=3.5)
dim = 100
X, y, hidden = truth.sample(200, dim, random_state=1, return_truth=True)

estimate = st.estimate_problem(X, y)
print(estimate)
print("truth:", truth)

# %%
# A modest target
# ---------------
# An error of 15 % with the simplest classifier, of the mean token. The plan comes with a range,
# from the uncertainty of the estimate. It also says how far to trust it: the prediction is compared
# with cross-validated errors on the pilot itself.

modest = st.plan.from_pilot(X, y, error=0.15, model="pooled")
print(modest.summary())

# %%
# An ambitious target
# -------------------
# For 7 % the same classifier is not enough, whatever the number of samples. The planner says why:

try:
    st.plan.from_pilot(X, y, error=0.07, model="pooled")
except ValueError as reason:
    print(reason)

# %%
# Attention can get there. We plan with the estimated problem:

problem = estimate.problem
print(f"planning with {problem.n_signal} signal tokens of strength {problem.signal:.2f}")
ambitious = st.plan(
    dim=dim,
    n_tokens=problem.n_tokens,
    n_signal=problem.n_signal,
    signal=problem.signal,
    positive_rate=problem.positive_rate,
    error=0.07,
    model="attention",
)
print(ambitious)
print({name: v if isinstance(v, str) else round(v, 3) for name, v in ambitious.settings.items()})

# %%
# Collect and check
# -----------------
# ``settings`` are the arguments of the planned classifier. We carry out each study twenty times,
# with fresh samples, and measure the error on 2000 more.


def carry_out(plan, classifier, seed):
    """Return the error of the planned classifier, trained on as many samples as planned."""
    rng = np.random.default_rng(seed)
    new = {"direction": hidden.direction, "random_state": rng}
    X, y = truth.sample(plan.n_samples, dim, **new)
    X_test, y_test = truth.sample(2000, dim, **new)
    return 1.0 - classifier(**plan.settings).fit(X, y).score(X_test, y_test)


plans = {"pooled": modest.plan, "attention": ambitious}
classifiers = {
    "pooled": st.PooledClassifier,
    "attention": partial(st.TwoStepAttentionClassifier, random_state=0),
}
errors = {
    name: np.array([carry_out(plan, classifiers[name], seed) for seed in range(20)])
    for name, plan in plans.items()
}
for name, plan in plans.items():
    mean, deviation = errors[name].mean(), errors[name].std(ddof=1)
    print(
        f"{name:<10} {plan.n_samples:>4} samples: planned {plan.error:.3f}, "
        f"measured {mean:.3f}, deviation between studies {deviation:.3f}"
    )

# %%
# Left, how the pooled classifier is predicted to learn, for the problem as estimated and at both
# ends of the range: the planned number follows from where a line meets the target. Right, what the
# studies gave. A single study can miss its target: the plan is about their mean, and it
# knows the estimated signal only, not the true one.

with styled():
    figure, (left, right) = plt.subplots(1, 2, figsize=(6.8, 2.8), layout="constrained")
    colour = MODELS["pooled"].color
    cases = {"as estimated": modest.plan, "optimistic": modest.optimistic}
    if modest.pessimistic is not None:
        cases["pessimistic"] = modest.pessimistic
    for (label, plan), dashes in zip(cases.items(), ("-", "--", ":"), strict=False):
        left.plot(plan.curve.values, plan.curve.errors, dashes, color=colour, label=label)
        left.plot(plan.n_samples, plan.error, "*", color=colour, ms=7)
    left.axhline(0.15, color="0.5", lw=0.8)
    left.text(0.01, 0.151, "target", transform=left.get_yaxis_transform(), fontsize=6.5)
    left.set(xscale="log", title="pooled: predicted", xlabel="number of samples, n")
    left.set_ylabel("test error")
    left.set_xticks([50, 100, 200, 500, 1000, 2000], ["50", "100", "200", "500", "1000", "2000"])
    left.minorticks_off()
    left.legend(loc="upper right")
    for place, (name, plan) in enumerate(plans.items()):
        _, _, colour, marker = MODELS[name]
        spread = place + np.linspace(-0.2, 0.2, len(errors[name]))
        right.plot(spread, errors[name], marker, color=colour, markerfacecolor="white")
        right.hlines(plan.target, place - 0.32, place + 0.32, color="0.5", lw=0.8)
        right.hlines(errors[name].mean(), place - 0.25, place + 0.25, color=colour, lw=2)
    labels = [f"{name}, n = {plan.n_samples}" for name, plan in plans.items()]
    right.set_xticks(range(len(plans)), labels)
    right.set(title="carried out: 20 studies (thick: mean, grey: target)", ylim=(0.0, None))
    right.set(xlim=(-0.5, 1.5), ylabel="test error")
    figure.draw_without_rendering()  # ticks take their style when they are first drawn
