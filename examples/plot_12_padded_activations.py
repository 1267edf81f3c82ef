"""
Padded activations: train short, serve long at 5 % false positives
==================================================================

A probe on a language model's activations is trained on short texts and runs on long ones. Batches
come as padded arrays with a mask. An alarm may go off on 5 % of the harmless texts only, and it
should go off while the text is still being written. The activations here are drawn from the model
of this package, with lengths that differ.
"""

# %%
# Padding is left out
# -------------------
# ``Sequences.from_padded`` takes array and mask as frameworks give them, torch and jax included.

import matplotlib.pyplot as plt
import numpy as np

import sparsetoken as st
from sparsetoken.plotting import styled
from sparsetoken.vocabulary import COLORS

dim, signal = 24, 5.5
rng = np.random.default_rng(0)


def draw(n_samples, longest, positive_rate, direction=None):
    """Return padded activations, their mask, labels and the direction of the signal."""
    problem = st.SparseTokenProblem(longest, signal=0.0, positive_rate=positive_rate)
    X, y, truth = problem.sample(
        n_samples, dim, random_state=rng, direction=direction, return_truth=True
    )
    lengths = rng.integers(longest // 2, longest + 1, n_samples)
    place = rng.integers(0, lengths)
    X[np.arange(n_samples), place] += signal * y[:, None] * truth.direction
    mask = np.arange(longest) < lengths[:, None]
    X[~mask] = 0.0  # as padding is
    return X, mask, y, truth.direction


X, mask, y, direction = draw(600, 30, 0.5)
short = st.Sequences.from_padded(X, mask)
print(f"{X.nbytes} bytes padded, {short.tokens.nbytes} without: {short}")
clf = st.AttentionClassifier(random_state=0).fit(short, y)

# %%
# A threshold for each length
# ---------------------------
# Scores depend on the length: the highest of many harmless tokens is higher than that of a few. So
# the threshold of short texts raises more false alarms the longer the texts are.
# ``threshold(fpr, n_tokens=...)`` makes sequences of that length of the negatives of ``fit``; with
# ``window=`` it is for the largest score of a text's windows, in which a signal token weighs as
# much as in a short text.

lengths, fpr, window = [30, 90, 240], 0.05, 30
ways = {
    "of short texts": lambda n: (clf.threshold(fpr), None),
    "for the length": lambda n: (clf.threshold(fpr, n_tokens=n), None),
    "for the length, windows of 30": lambda n: (
        clf.threshold(fpr, n_tokens=n, window=window),
        window,
    ),
}
rates = {name: [] for name in ways}
for length in lengths:
    X_long, mask_long, y_long, _ = draw(1200, length, 1 / 3, direction)
    texts = st.Sequences.from_padded(X_long, mask_long)
    for name, way in ways.items():
        threshold, used = way(length * 3 // 4)
        alarm = clf.decision_function(texts, window=used) > threshold
        rates[name].append((alarm[y_long == 0].mean(), alarm[y_long == 1].mean()))
for name, found in rates.items():
    print(name, [f"{f:.1%} / {r:.0%}" for f, r in found])
threshold = clf.threshold(fpr, n_tokens=180)
low, high = threshold.rate_interval
print(f"at 180 tokens the true rate is within {low:.1%} and {high:.1%} in 8 of 10 cases")

with styled():
    figure, (left, right) = plt.subplots(1, 2, figsize=(6.8, 2.8), layout="constrained")
    for i, (name, found) in enumerate(rates.items()):
        false, recall = np.array(found).T
        look = {"marker": "osD"[i], "color": COLORS[i], "markerfacecolor": "white", "label": name}
        left.plot(lengths, 100 * np.maximum(false, 5e-4), **look)
        right.plot(lengths, 100 * recall, **look)
    left.axhline(100 * fpr, ls=":", color="0.5")
    left.set(yscale="log", ylabel="false positives (%)", ylim=(1, 50), yticks=[1, 5, 20])
    left.set_yticklabels(["1", "5", "20"])
    right.set(ylabel="positives found (%)", ylim=(0, 103))
    for ax in (left, right):
        ax.set(xscale="log", xlabel="longest text served (tokens)", xticks=lengths)
        ax.set_xticklabels([str(n) for n in lengths])
        ax.minorticks_off()
    right.legend(title="threshold", loc="lower left")
    figure.draw_without_rendering()

# %%
# With the threshold of short texts, longer texts raise more false alarms. A threshold for the
# length keeps them nearer to what was asked for. How near, ``rate_interval`` says: 5 % of some 300
# negatives are 15, enough to hold the rate within a factor of 1.5 at their own length. About texts
# eight times as long they tell an eighth of that.
#
# While the text is being written
# -------------------------------
# ``clf.stream(fpr=..., n_tokens=240, window=30)`` takes one token at a time and knows the score of
# the last 30. A token costs the same however long the text has become. ``stream.alarm`` becomes
# True in a fraction ``fpr`` of harmless texts of that length, at any time, as near as the interval
# of its threshold says. We count over 200 texts.

length = 240
stream = clf.stream(fpr=fpr, n_tokens=length, window=window)
rng = np.random.default_rng(6)
alarms = 0
for _ in range(200):
    stream.reset()
    for token in rng.standard_normal((length, dim)):
        stream.update(token)
    alarms += stream.alarm
low, high = stream.threshold.rate_interval
print(f"alarms in {alarms / 2:.1f} % of harmless texts; promised: {low:.1%} to {high:.1%}")

scores = {}
for name, positive in (("harmless", False), ("signal at token 150", True)):
    tokens = np.random.default_rng(1).standard_normal((length, dim))
    tokens[150] += signal * positive * direction
    stream.reset()
    scores[name] = [stream.update(token) for token in tokens]
    print(name, "- alarm" if stream.alarm else "- no alarm")
assert abs(scores["harmless"][99] - clf.decision_function([tokens[70:100]])[0]) < 1e-6

with styled():
    figure, ax = plt.subplots(figsize=(6.0, 2.4), layout="constrained")
    for color, (name, values) in zip((COLORS[0], COLORS[1]), reversed(scores.items()), strict=True):
        ax.plot(values, color=color, label=name)
    ax.axhline(stream.threshold, ls=":", color="0.5", label="threshold")
    ax.set(xlabel="token", ylabel="score of the last 30 tokens")
    ax.legend(loc="upper left")
    figure.draw_without_rendering()
