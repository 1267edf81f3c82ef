r"""
The square root of a logarithm
==============================

How strong must one token be to be found among L? For any linear rule the answer grows like
:math:`\sqrt{L}`: a sequence a hundred times longer needs a signal ten times stronger. For a rule
that looks at the tokens one by one it grows like :math:`\sqrt{2 \log L}`, which is to say hardly
at all.

To see what an architecture can do at all, we let its weights know the signal's direction. Training
can only do worse.
"""

# %%
# The signal needed for 5 % error
# -------------------------------
# ``required_signal`` gives the strength θ, in units of the noise's standard deviation, at which a
# rule errs in 5 % of the cases. *pooled* averages, *hardmax* takes the largest token, *attention*
# weighs by a softmax of the best sharpness, *elementwise* passes each score through a bounded
# function instead, and *bayes* is the best of all rules.

import math

import matplotlib.pyplot as plt
import numpy as np

import sparsetoken as st
from sparsetoken.models import look
from sparsetoken.plotting import styled

lengths = {
    "pooled": [4, 16, 64, 256, 1024, 4096, 16384],
    "elementwise": [4, 16, 64, 256],
    "attention": [4, 16, 64, 256],
    "hardmax": [4, 16, 64, 256, 1024, 4096, 16384],
    "bayes": [4, 16, 64, 256],
}
required = {
    model: [
        st.theory.required_signal(
            st.SparseTokenProblem(n), model, error=0.05, n_points=max(1024, 2**16 // n)
        )
        for n in chosen
    ]
    for model, chosen in lengths.items()
}
print("tokens   " + "".join(f"{model:>12}" for model in required))
for i, n in enumerate(lengths["bayes"]):
    print(f"{n:>6}   " + "".join(f"{required[model][i]:>12.2f}" for model in required))

# %%
# Softmax attention and hardmax need hardly more than the best possible rule; the bounded
# elementwise function is back at a power of L. We read off the two laws: four times the length
# doubles the signal that pooling needs. To the *square* of what hardmax needs it adds an amount
# that falls slowly towards 2 log 4 = 2.77.

pooled, hardmax = np.array(required["pooled"]), np.array(required["hardmax"])
print("pooled: ratio of neighboring lengths", np.round(pooled[1:] / pooled[:-1], 2))
print("hardmax: difference of squares       ", np.round(np.diff(hardmax**2), 2))

# %%
# A closer look at one length
# ---------------------------
# At 256 tokens: the error of each rule as the signal grows. The points are a check by brute force
# on sequences of which we draw only the component along the signal, all that matters here: 10 000
# choose the threshold, and 10 000 others tell its error.

n_tokens, signals = 256, np.linspace(0.5, 8.0, 26)
rng = np.random.default_rng(0)
positives, negatives = rng.standard_normal((2, 10_000, n_tokens))


def simulated_error(statistic, signal):
    """Return the error of a threshold on a statistic of the tokens."""
    shifted = positives.copy()
    shifted[:, 0] += signal  # the rules do not care about the order of the tokens
    (seen, new), (seen_negative, new_negative) = (
        np.split(statistic(tokens), 2) for tokens in (shifted, negatives)
    )
    thresholds = np.sort(seen)
    false_alarms = 1.0 - np.searchsorted(np.sort(seen_negative), thresholds) / len(seen_negative)
    best = thresholds[np.argmin(np.arange(len(seen)) / len(seen) + false_alarms)]
    return 0.5 * (np.mean(new < best) + np.mean(new_negative >= best))


statistics = {"pooled": lambda x: x.mean(axis=1), "hardmax": lambda x: x.max(axis=1)}
tried = [1.0, 3.0, 4.0, 5.0, 6.0, 7.0]
checks = {
    model: [simulated_error(statistic, signal) for signal in tried]
    for model, statistic in statistics.items()
}
errors = {
    model: [
        float(st.theory.oracle_error(st.SparseTokenProblem(n_tokens, signal=signal), model))
        for signal in signals
    ]
    for model in statistics
}
print("signal                  " + "".join(f"{signal:>7.1f}" for signal in tried))
for model in statistics:
    exact = [
        st.theory.oracle_error(st.SparseTokenProblem(n_tokens, signal=signal), model)
        for signal in tried
    ]
    print(f"{model:<8} exact          " + "".join(f"{error:>7.3f}" for error in exact))
    print(f"{model:<8} brute force    " + "".join(f"{error:>7.3f}" for error in checks[model]))

with styled():
    figure, (left, right) = plt.subplots(1, 2, figsize=(6.8, 3.0), layout="constrained")
    longest = np.array(lengths["pooled"])
    left.plot(longest, np.sqrt(longest), color="0.8", lw=3, zorder=0)
    left.annotate(r"$\sqrt{L}$", (1024, 26), ha="left", va="top", color="0.45")
    left.plot(longest, np.sqrt(2 * np.log(longest)), color="0.8", lw=3, zorder=0)
    left.annotate(r"$\sqrt{2\,\log L}$", (2500, 3.5), ha="left", va="top", color="0.45")
    looks = {"attention": {"lw": 3.0}, "hardmax": {"ls": "--", "markerfacecolor": "white"}}
    looks["bayes"] = {"ls": ":", "marker": ""}  # these three nearly coincide
    for model, chosen in lengths.items():
        _, colour, marker = look(model)
        style = {"color": colour, "marker": marker, "label": model} | looks.get(model, {})
        left.plot(chosen, required[model], **style)
    left.set(xscale="log", yscale="log", xlabel="sequence length, L")
    left.set_ylabel("signal θ needed for 5 % error")
    left.legend(loc="upper left")
    for model in statistics:
        _, colour, marker = look(model)
        right.plot(signals, errors[model], color=colour, label=model)
        right.plot(tried, checks[model], marker, color=colour, markerfacecolor="white")
    right.axvline(math.sqrt(2 * math.log(n_tokens)), color="0.8", lw=3, zorder=0)
    right.annotate(r"$\sqrt{2\,\log L}$", (3.45, 0.03), ha="left", color="0.45")
    right.set(xlabel="signal θ", ylabel="error", ylim=(0, 0.52), title=f"L = {n_tokens}")
    right.plot([], [], "o", color="0.4", markerfacecolor="white", label="brute force")
    right.legend(loc="lower left")
    figure.draw_without_rendering()  # ticks take their style when they are first drawn
