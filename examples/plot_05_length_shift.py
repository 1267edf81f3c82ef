"""
Train short, test long
======================

Sequences in use are often longer than those at hand for training. The signal is still one token,
but there are more others to be mistaken for it. How much does that cost, and which classifier
should one worry about?

The theory answers without retraining: a trained classifier is a few numbers, and ``Risk.on``
applies them to another problem. Then we check with estimators on sampled sequences.
"""

# %%
# Theory
# ------
# We train at length 20, with three samples per dimension in all, and test from 5 to 200 tokens.

import matplotlib.pyplot as plt
import numpy as np

import sparsetoken as st
from sparsetoken.models import look
from sparsetoken.plotting import lines_and_points, styled
from sparsetoken.vocabulary import COLORS

trained_at, signal, alpha, reg = 20, 6.0, 3.0, 1e-2


def problem(n_tokens):
    """Return the problem with one signal token among the given number."""
    return st.SparseTokenProblem(n_tokens, signal=signal)


lengths = np.unique(np.geomspace(5, 200, 10).round().astype(int)).tolist()
half = {"alpha0": alpha / 2, "alpha1": alpha / 2}  # samples for the query, and for the readout
theory = {
    "attention": st.theory.two_step_risk(problem(trained_at), **half, reg=reg, n_points=4096),
    "pooled": st.theory.risk(problem(trained_at), "pooled", alpha=alpha, reg=reg),
}
shifted = {
    name: [risk.on(problem(length)).test_error for length in lengths]
    for name, risk in theory.items()
}

# %%
# Estimators
# ----------
# Four training sets of 20 tokens and 400 dimensions, and test sets of each length.

dim, tested = 400, [5, 10, 20, 50, 100, 200]
measured = {name: np.empty((4, len(tested))) for name in theory}
for trial in range(4):
    rng = np.random.default_rng(trial)
    draw = {"dim": dim, "random_state": rng, "dtype": np.float32}
    X, y, truth = problem(trained_at).sample(int(alpha * dim), **draw, return_truth=True)
    classifiers = {
        "attention": st.TwoStepAttentionClassifier(reg=reg, random_state=trial).fit(X, y),
        "pooled": st.PooledClassifier(reg=reg).fit(X, y),
    }
    for j, length in enumerate(tested):
        X_test, y_test = problem(length).sample(300, **draw, direction=truth.direction)
        for name, clf in classifiers.items():
            measured[name][trial, j] = 1.0 - clf.score(X_test, y_test)

for name, errors in measured.items():
    predicted = [theory[name].on(problem(length)).test_error for length in tested]
    print(name)
    for length, p, e in zip(tested, predicted, errors.T, strict=True):
        bar = e.std(ddof=1) / np.sqrt(len(e))
        print(f"  {length:>3} tokens: theory {p:.3f}   estimator {e.mean():.3f} ± {bar:.3f}")

# %%
# Is it the shift, or the length?
# -------------------------------
# Long sequences are harder anyway. So we also train at each tested length, with as many samples and
# the same sharpness of attention. And we mix: the query learned on short sequences, where the
# signal is easier to see, and only the readout trained at the tested length.

short = theory["attention"]


def readout_trained_at(length, cosine):
    """Return the error of a readout trained at a length, for a query of the given cosine."""
    query = {"cosine": cosine, "sharpness": short.sharpness, "n_points": 4096}
    options = {"alpha": half["alpha1"], "reg": reg, **query}
    return st.theory.risk(problem(length), "attention", **options).test_error


cosines = [st.theory.alignment(problem(n), alpha=half["alpha0"]).cosine for n in lengths]
both_long = [readout_trained_at(n, cosine) for n, cosine in zip(lengths, cosines, strict=True)]
mixed = [readout_trained_at(n, short.cosine) for n in lengths]
print(f"cosine between query and signal: {short.cosine:.2f} trained at {trained_at} tokens,")
print(f"                            {cosines[-1]:.2f} trained at {lengths[-1]} tokens")
print(f"error at {lengths[-1]} tokens: {shifted['attention'][-1]:.3f} trained at {trained_at},")
print(
    f"    {both_long[-1]:.3f} trained there, {mixed[-1]:.3f} with the query trained at {trained_at}"
)

with styled():
    figure, (left, right) = plt.subplots(1, 2, figsize=(6.8, 2.8), layout="constrained")
    for name in theory:
        _, colour, marker = look(name)
        left.plot(lengths, shifted[name], color=colour, label=name)
        style = {"fmt": marker, "color": colour, "markerfacecolor": "white", "capsize": 1.5}
        bar = measured[name].std(axis=0, ddof=1) / np.sqrt(len(measured[name]))
        left.errorbar(tested, measured[name].mean(axis=0), bar, **style)
    lines_and_points(left)
    right.plot(lengths, shifted["attention"], color=COLORS[0], label="trained at 20")
    right.plot(lengths, both_long, "--", color=COLORS[3], label="trained at the tested length")
    right.plot(lengths, mixed, "-.", color=COLORS[2], label="query at 20, readout there")
    for ax in (left, right):
        ax.axvline(trained_at, ymax=0.65, ls=":", lw=0.8, color="0.5")
        ax.set(xscale="log", xlabel="length of the test sequences", ylabel="test error")
        ax.set_xticks([5, 10, 20, 50, 100, 200], ["5", "10", "20", "50", "100", "200"])
        ax.minorticks_off()
        ax.set_ylim(0, None)
    left.set_title("trained at length 20")
    right.set_title("attention: what to train at which length")
    left.legend(loc="upper left")
    right.legend(loc="upper left")
    figure.draw_without_rendering()  # ticks take their style when they are first drawn

# %%
# On long sequences the mixture is the best of the three: the query carries over from short to long
# ones, the readout does not.

# %%
# Alarms on long sequences
# ------------------------
# A threshold that 1 % of the negatives exceed at the length of training means something else on
# longer sequences. Read as a whole, they dilute attention: false alarms cease, and right ones with
# them. Read in windows of the trained length, of which the largest score counts, they have one more
# chance for a false alarm with each window. With a threshold set for each length, windows lose
# less. The simulation trains eight classifiers in 500 dimensions.

fpr, multiples = 0.01, [1, 2, 5, 10, 20]


def of_training(trial, n_tokens, n_windows=1):
    """Return what a trained query and readout do on sequences of a length, or of windows."""
    query = trial.query
    angle = {"cosine": query.cosine, "sharpness": query.sharpness}
    law = st.sampling.sample_feature_law(
        problem(n_tokens), 8192, **angle, random_state=trial.draw.rng
    )
    one = st.sampling.exact_performance(law, *trial.readout, query.query, query.directions)
    return st.theory.Performance(law, one.readout, one.loss, n_windows=n_windows)


def alarms_and_recall(trained, *ways):
    """Return both numbers for each way to read a long sequence."""
    threshold = trained.threshold(fpr)
    return [(float(way.rates(threshold).fpr), float(way.recall(fpr))) for way in ways]


model, settings = st.models.get("two-step"), {"reg": reg}
trials = [
    model.trial(problem(trained_at), alpha, 500, settings, np.random.default_rng(seed))
    for seed in range(8)
]
predicted, drawn = [], []
for times in multiples:
    long = short.on(problem(times * trained_at))
    predicted.append(alarms_and_recall(short, long, long.windowed(times)))
    drawn.append(
        [
            alarms_and_recall(
                of_training(trial, trained_at),
                of_training(trial, times * trained_at),
                of_training(trial, trained_at, n_windows=times),
            )
            for trial in trials
        ]
    )
predicted, drawn = np.array(predicted), np.array(drawn)  # (lengths, [trials,] ways, numbers)

with styled():
    figure, axes = plt.subplots(1, 2, figsize=(6.8, 2.6), layout="constrained")
    long_lengths = trained_at * np.array(multiples)
    for way, name in enumerate(("whole sequence", "windows of 20")):
        for number, ax in enumerate(axes):
            color = COLORS[2 * way]
            ax.plot(long_lengths, predicted[:, way, number], color=color, label=name)
            means = drawn[:, :, way, number].mean(axis=1)
            bars = drawn[:, :, way, number].std(axis=1, ddof=1) / np.sqrt(len(trials))
            ax.errorbar(long_lengths, means, bars, fmt="o", color=color, markerfacecolor="white")
    for ax in axes:
        ax.set(xscale="log", xlabel="length of the test sequences")
        ax.set_xticks(long_lengths, list(map(str, long_lengths)))
        ax.minorticks_off()
    axes[0].set(yscale="log", ylim=(1e-4, 1.0), ylabel="false alarms")
    axes[0].axhline(fpr, ls=":", lw=0.8, color="0.5")
    axes[0].set_title("threshold of 1 % at length 20")
    axes[1].set(ylim=(0.7, 1.0), ylabel="recall")
    axes[1].set_title("threshold of 1 % at each length")
    lines_and_points(axes[1])
    axes[1].legend(loc="lower left")
    figure.draw_without_rendering()
