"""
Find the nine: bags of handwritten digits
=========================================

A bag holds 15 to 25 handwritten digits. Half of the bags hold exactly one nine, the others none.
Only the bag has a label: nobody says which digit is the nine, or that the task is about nines.
This is multiple-instance learning, and the shape of many problems in practice: one lesion among
the patches of a slide, one fault in a long record.

We compare a linear classifier of the mean digit with one that learns where to look.
"""

# %%
# The bags
# --------
# The images come with scikit-learn. Training and test bags use different images, and every nine is
# used once, so that no classifier can know one by heart.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.metrics import roc_auc_score, roc_curve

import sparsetoken as st
from sparsetoken.models import look
from sparsetoken.plotting import styled

rng = np.random.default_rng(0)
images, digits = load_digits(return_X_y=True)
order = rng.permutation(len(images))


def make_bags(n_bags, rows):
    """Return bags of digits, labels, and the position of the nine (-1 if there is none)."""
    nines = images[rows][digits[rows] == 9]
    others = images[rows][digits[rows] != 9]
    y = np.arange(n_bags) % 2
    bags, positions = [], []
    for i, positive in enumerate(y):
        bag = others[rng.choice(len(others), rng.integers(15, 26), replace=False)]
        position = rng.integers(len(bag)) if positive else -1
        if positive:
            bag[position] = nines[i // 2]
        bags.append(bag)
        positions.append(position)
    return bags, y, np.array(positions)


X_train, y_train, _ = make_bags(170, order[:900])
X_test, y_test, nine_at = make_bags(170, order[900:])
print(
    f"{len(X_train)} training bags, the first three of {[len(bag) for bag in X_train[:3]]} digits"
)

# %%
# Two classifiers
# ---------------
# A bag is an array with one row per digit, and bags of different lengths go into ``fit`` as a list.
# ``AttentionClassifier`` chooses its settings by cross-validation. For the pooled classifier we are
# generous: it gets the best of four ridges, judged on the test bags themselves.

attention = st.AttentionClassifier(random_state=0).fit(X_train, y_train)
candidates = [st.PooledClassifier(reg=reg).fit(X_train, y_train) for reg in (1e-3, 1e-2, 0.1, 1.0)]
pooled = max(candidates, key=lambda clf: clf.score(X_test, y_test))
for name, clf in (("attention", attention), ("pooled", pooled)):
    auc = roc_auc_score(y_test, clf.decision_function(X_test))
    print(f"{name:<10} accuracy {clf.score(X_test, y_test):.2f}   AUC {auc:.2f}")

with styled():
    figure, ax = plt.subplots(figsize=(3.4, 3.0), layout="constrained")
    for name, clf in (("attention", attention), ("pooled", pooled)):
        false, true, _ = roc_curve(y_test, clf.decision_function(X_test))
        ax.plot(false, true, color=look(name).color, label=name)
    ax.plot([0, 1], [0, 1], ":", color="0.6", label="chance")
    ax.set(xlabel="share of the bags without a nine flagged")
    ax.set_ylabel("share of the bags with a nine flagged")
    ax.set(title=f"{len(y_test)} unseen bags", xlim=(-0.01, 1.01), ylim=(-0.01, 1.01))
    ax.legend(loc="lower right")
    figure.draw_without_rendering()  # ticks take their style when they are first drawn

# %%
# The mean of some twenty digits hardly changes when one of them is a nine.
#
# Where it looks
# --------------
# ``attention`` returns the weight of every digit in a bag. The bars show it; the true nine is
# framed. The classifier was never told where a nine is.

# sphinx_gallery_thumbnail_number = 2
weights = attention.attention(X_test)
positive = np.flatnonzero(y_test == 1)
found = np.mean([weights[i].argmax() == nine_at[i] for i in positive])
print(f"the heaviest digit of a positive bag is its nine in {found:.0%} of the bags")

shown = [*positive[:4], *np.flatnonzero(y_test == 0)[:2]]
with styled():
    longest = max(len(X_test[i]) for i in shown)
    figure, axes = plt.subplots(len(shown), 1, figsize=(6.8, 4.9), layout="constrained")
    for ax, i in zip(axes, shown, strict=True):
        for j, (image, weight) in enumerate(zip(X_test[i], weights[i], strict=True)):
            extent = (j + 0.04, j + 0.96, 0.0, 0.92)
            ax.imshow(image.reshape(8, 8), cmap="gray_r", extent=extent)
            ax.bar(j + 0.5, weight, bottom=1.0, width=0.8, color=look("attention").color)
            if j == nine_at[i]:
                frame = {"edgecolor": look("pooled").color, "facecolor": "none", "linewidth": 1.4}
                ax.add_patch(plt.Rectangle((j, -0.04), 1, 1, **frame))
        probability = attention.predict_proba(X_test[i : i + 1])[0, 1]
        kind = "one nine" if y_test[i] else "no nine"
        ax.set_title(f"{kind}: P(nine) = {probability:.2f}", loc="left", pad=2)
        ax.set(xlim=(-0.1, longest + 0.1), ylim=(-0.1, 2.05), aspect="equal")
        ax.axis("off")
    figure.suptitle("bars: attention weight (full height = 1); frame: the nine", fontsize=7.5)
    figure.draw_without_rendering()

# %%
# The same for one bag in numbers: the heaviest digits and what each adds to the score.

first = attention.explain(X_test[positive[0] : positive[0] + 1])[0]
for token, weight, part in zip(first.tokens, first.weights, first.contributions, strict=True):
    print(
        f"digit {token:>2}: weight {weight:.2f}, adds {part:+.2f} to the score {first.score:+.2f}"
    )
print(f"(the nine is digit {nine_at[positive[0]]})")

# %%
# Did anything go wrong?
# ----------------------
# ``diagnose`` looks for the known failures of attention on labelled bags that ``fit`` has not seen.
# It compares readouts of the attended, the oppositely attended and the mean digit by their AUC, and
# it warns of copies, and of classes with few bags.

diagnosis = attention.diagnose(X_test, y_test)
print({name: round(auc, 2) for name, auc in diagnosis.auc.items()})
print(f"agreement of the query with that of unlimited data: {attention.query_reliability_:.2f}")
print(diagnosis)
