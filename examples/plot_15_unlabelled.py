r"""
What is an unlabelled sequence worth?
=====================================

Sequences are often cheap and labels are not. How much does a pile of unlabelled sequences help,
counted in labelled ones? The theory of optimal learning answers for the best learner there is, so
no algorithm gets more out of them. The surprise: if the signal can be seen in a sequence at all, a
sequence without its label is worth nearly as much as one with it.
"""

# %%
# A few labels, and then only sequences
# -------------------------------------
# Twenty tokens, one of which carries the signal in half of the sequences. We have a quarter of a
# labelled sequence per dimension (25 of them in 100 dimensions) and add unlabelled ones.
# ``st.theory.optimal`` gives the least error that any learner can expect.

import matplotlib.pyplot as plt
import numpy as np

import sparsetoken as st
from sparsetoken.plotting import plain_log, styled
from sparsetoken.vocabulary import COLORS, MARKERS

labelled, strengths = 0.25, (3.5, 4.5, 5.5)
added = [0.0, 0.5, 1.0, 2.0, 4.0, 8.0]
problems = {signal: st.SparseTokenProblem(n_tokens=20, signal=signal) for signal in strengths}
errors = {
    signal: [st.theory.optimal(problem, labelled, extra).test_error for extra in added]
    for signal, problem in problems.items()
}
print("unlabelled per dimension " + "".join(f"{extra:>8g}" for extra in added) + "    Bayes")
for signal, problem in problems.items():
    floor = st.theory.oracle_error(problem, "bayes")
    shown = "".join(f"{error:>8.4f}" for error in errors[signal])
    print(f"signal {signal:g}                 {shown} {floor:>8.4f}")

# %%
# An algorithm that does it
# -------------------------
# The optimum is no mere bound. Message passing reaches it: it attends to the tokens that agree with
# its present idea of the direction, weighs each unlabelled sequence by its chance of being
# positive, and averages. ``sample_posterior_mean`` draws what it learns in 300 dimensions without
# building the tokens. Mean and standard error of eight draws:

dim, draws = 300, range(8)
simulated = {}
for signal, problem in problems.items():
    for extra in (0.0, 1.0, 4.0):
        found = [
            st.sampling.sample_posterior_mean(
                problem,
                round(labelled * dim),
                dim,
                n_unlabelled=round(extra * dim),
                random_state=seed,
            ).test_error(random_state=seed)
            for seed in draws
        ]
        simulated[signal, extra] = np.mean(found), np.std(found, ddof=1) / np.sqrt(len(found))
        mean, bar = simulated[signal, extra]
        exact = errors[signal][added.index(extra)]
        print(
            f"signal {signal:g}, {extra:g} unlabelled: theory {exact:.4f}, {mean:.4f} ± {bar:.4f}"
        )

# %%
# A classifier that does it
# -------------------------
# Message passing knows the model. :class:`~sparsetoken.estimators.BayesAttentionClassifier` has to
# find strength and noise in the sequences, and takes those of label -1 as unlabelled. Here are 100
# dimensions, 25 labelled sequences and 100 without a label:

signal, dim, extra = 5.5, 100, 1.0
fitted = {0: [], 1: []}
for seed in range(6):
    problem = problems[signal]
    X, y, truth = problem.sample(125, dim, random_state=seed, return_truth=True)
    new, labels = problem.sample(2000, dim, random_state=100 + seed, direction=truth.direction)
    y[25:] = -1
    for used, count in ((0, 25), (1, 125)):
        clf = st.BayesAttentionClassifier(random_state=0).fit(X[:count], y[:count])
        fitted[used].append(1.0 - clf.score(new, labels))
for used, name in ((0, "labelled alone"), (1, "with unlabelled")):
    exact = errors[signal][added.index(extra * used)]
    bar = np.std(fitted[used], ddof=1) / np.sqrt(6)
    print(f"{name}: optimum {exact:.4f}, classifier {np.mean(fitted[used]):.4f} ± {bar:.4f}")

# %%
# The exchange rate
# -----------------
# How many labelled sequences would do the same? We read it off the curve of the labelled ones
# alone. The rate is that number, beyond the quarter that we had, for each unlabelled sequence: 1 if
# the label is not missed at all.

extra = 2.0
alphas = np.linspace(labelled, labelled + extra, 41)


def exchange_rate(problem):
    """Return the labelled sequences that one of the unlabelled ones is worth."""
    reached = st.theory.optimal(problem, labelled, extra).overlap
    alone = [best.overlap for best in st.theory.optimal(problem, alphas)]
    return (np.interp(reached, alone, alphas) - labelled) / extra


signals = np.linspace(2.0, 6.0, 13)
rates = (0.1, 0.5)
worth = {
    rate: [
        exchange_rate(st.SparseTokenProblem(20, signal=signal, positive_rate=rate))
        for signal in signals
    ]
    for rate in rates
}
print("\nsignal        " + "".join(f"{signal:>6.1f}" for signal in signals[::3]))
for rate in rates:
    print(f"{rate:.0%} positive  " + "".join(f"{value:>6.2f}" for value in worth[rate][::3]))

# %%
# A weak signal leaves the class of a sequence in doubt, and then its label is most of what it has
# to say. A strong one shows by itself which sequences are positive. Where positives are rare the
# worth jumps: with few labels and a signal below 3.5 even the best learner cannot tell which of the
# unlabelled sequences are positive, so it gets no further than its prior of 10 %.

with styled():
    figure, (left, right) = plt.subplots(1, 2, figsize=(6.8, 2.9), layout="constrained")
    fine = np.concatenate([[0.0], np.geomspace(0.05, 8.0, 30)])
    for (signal, problem), color, marker in zip(problems.items(), COLORS, MARKERS, strict=False):
        line = [st.theory.optimal(problem, labelled, extra).test_error for extra in fine]
        left.plot(fine, line, color=color)
        places = [extra for strength, extra in simulated if strength == signal]
        means, bars = np.transpose([simulated[signal, extra] for extra in places])
        look = {"fmt": marker, "color": color, "markerfacecolor": "white", "capsize": 1.5}
        left.errorbar(places, means, yerr=bars, label=f"θ = {signal:g}", **look)
    left.set(xlabel="unlabelled sequences per dimension", ylabel="test error", yscale="log")
    plain_log(left.yaxis)
    left.legend(title="optimum (lines), message passing")
    for rate, color, style in zip(rates, COLORS, ("-", "--"), strict=False):
        right.plot(signals, worth[rate], style, color=color, label=f"{rate:.0%} positive")
    right.axhline(1.0, color="0.8", lw=3, zorder=0)
    right.set(xlabel="signal θ", ylabel="worth, in labelled sequences", ylim=(0.0, 1.08))
    right.legend(loc="lower right")
    figure.draw_without_rendering()  # ticks take their style when they are first drawn
