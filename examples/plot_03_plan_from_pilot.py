"""
How many samples? Planning from a pilot
=======================================

Labels are expensive, so a study starts with a small pilot. From it we predict how the classifier
will learn, ask how many labelled sequences the error we want takes, then "collect" that many and
see whether the answer holds.

The data are drawn from a model here, so that we can collect as much as we like.
"""

# %%
# The pilot
# ---------
# A hundred and twenty labelled sequences of 8 tokens with 30 features each.

import matplotlib.pyplot as plt
import numpy as np

import sparsetoken as st
from sparsetoken.plotting import styled

truth = st.SparseTokenProblem(n_tokens=8, n_signal=2, signal=3.5)
dim = 30
X, y, hidden = truth.sample(120, dim, random_state=1, return_truth=True)

# %%
# The plan
# --------
# The classifier is trained on parts of the pilot and tested on the rest; learning curves that agree
# with these errors are extrapolated. Any estimator for sequences can be planned for. The answer
# comes first, then how far to trust it, then what it rests on.

classifier = st.PooledClassifier(reg=0.1)
pilot = st.plan.from_pilot(X, y, error=0.12, estimator=classifier)
print(pilot.summary())

# %%
# ``pilot.plot()`` draws all of this; ``pilot.curve`` and ``pilot.predict`` have the numbers.

# %%
# Collect and check
# -----------------
# We carry out the study twenty times at several sizes, with fresh samples, and measure the error on
# 2000 more. The interval is about the mean error at a size; a single study varies around it.


def carry_out(n_samples, seed):
    """Return the error of the classifier after training on fresh samples."""
    new = {"direction": hidden.direction, "random_state": np.random.default_rng([n_samples, seed])}
    X, y = truth.sample(n_samples, dim, **new)
    X_test, y_test = truth.sample(2000, dim, **new)
    return 1.0 - classifier.fit(X, y).score(X_test, y_test)


sizes = [120, 240, 480, 960]
measured = np.array([[carry_out(n, seed) for seed in range(20)] for n in sizes]).mean(axis=1)
for n, (low, median, high), error in zip(sizes, pilot.predict(sizes), measured, strict=True):
    print(f"{n:>4} samples: predicted {median:.3f} ({low:.3f} to {high:.3f}), measured {error:.3f}")

curve = pilot.curve
with styled():
    figure, ax = plt.subplots(figsize=(4.2, 2.9), layout="constrained")
    ax.fill_between(curve.n_samples, curve.lower, curve.upper, alpha=0.2, label="80 % interval")
    ax.plot(curve.n_samples, curve.median, label="predicted")
    ax.plot(sizes, measured, "D", label="measured later")
    ax.axhline(pilot.target, color="0.5", ls="--", lw=0.8, label="target")
    ax.set(xscale="log", xlabel="samples, n", ylabel="test error")
    ax.legend()

# %%
# By theory alone
# ---------------
# The pilot also gives the parameters of the package's model. With them the theory plans without any
# training, also for classifiers that were not tried, and says when a target is out of reach.

estimate = st.estimate_problem(X, y)
print(estimate)
try:
    st.plan(problem=estimate.problem, dim=dim, error=0.02, model="pooled")
except ValueError as reason:
    print(reason)
