"""
Patients as groups: the split that does not flatter
===================================================

Several bags of one patient look alike, whatever their label says. If some of them are in training
and others in the test, a classifier can recognize the patient instead of the illness, and the test
believes it. Groups keep the bags of a patient together.
"""

# %%
# The data
# --------
# Forty patients with six bags of ten tokens each. Patients differ from each other in the mean of
# their tokens. Illness is one shifted token in each bag, weak enough to be hard.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import GroupKFold, StratifiedKFold, cross_val_predict

import sparsetoken as st
from sparsetoken.inspection.measures import fraction
from sparsetoken.plotting import styled
from sparsetoken.vocabulary import COLORS

dim, signal, n_bags, n_tokens = 20, 3.5, 6, 10


def draw(n_patients, random_state):
    """Return bags, labels, and the patient of each bag."""
    rng = np.random.default_rng(random_state)
    patient = np.repeat(np.arange(n_patients), n_bags)
    ill = np.arange(n_patients) % 2
    X = rng.standard_normal((len(patient), n_tokens, dim))
    X += 0.8 * rng.standard_normal((n_patients, 1, dim))[patient]  # each has a look of his own
    y = ill[patient]
    X[np.arange(len(y)), rng.integers(0, n_tokens, len(y)), 0] += signal * y
    return X, y, patient


X, y, patient = draw(40, random_state=0)

# %%
# Two ways to hold bags out
# -------------------------
# Random folds have bags of every patient on both sides. With groups no patient is on both. The
# truth comes from 200 patients that nobody has seen.

clf = st.SparseTokenClassifier(random_state=0)
folds = {
    "random folds": StratifiedKFold(3, shuffle=True, random_state=0).split(X, y),
    "patients held out": GroupKFold(3, shuffle=True, random_state=0).split(X, y, patient),
}
measured = {
    name: fraction(name, cross_val_predict(clf, X, y, cv=list(split)) == y)
    for name, split in folds.items()
}
X_new, y_new, patient_new = draw(200, random_state=1)

# %%
# The fit needs groups too
# ------------------------
# The classifier weighs its members and calibrates its probabilities by held-out bags of its own.
# ``fit(..., groups=patient)`` keeps patients together there as well; on the command line it is
# ``--group patient``. Without them it trusts members that recognize patients, and is too sure.

fitted = {
    "fit without groups": st.SparseTokenClassifier(random_state=0).fit(X, y),
    "fit with groups": st.SparseTokenClassifier(random_state=0).fit(X, y, groups=patient),
}
loss = {}
for name, model in fitted.items():
    chance = model.predict_proba(X_new)[np.arange(len(y_new)), y_new]
    measured[f"{name}: new patients"] = fraction(name, model.predict(X_new) == y_new)
    loss[name] = -np.log(chance).mean()
    print(
        f"{name}: log-loss on new patients {loss[name]:.3f}, mean confidence "
        f"{model.predict_proba(X_new).max(axis=1).mean():.2f}, members",
        {member: round(weight, 2) for member, weight in model.members_.items()},
    )
for name, share in measured.items():
    print(f"{name}: accuracy {share}")

with styled():
    figure, ax = plt.subplots(figsize=(5.6, 2.3), layout="constrained")
    colors = [COLORS[1], COLORS[0], "0.45", "0.2"]
    for row, (color, share) in enumerate(zip(colors, measured.values(), strict=True)):
        bar = [[share.value - share.low], [share.high - share.value]]
        ax.errorbar(share.value, -row, xerr=bar, fmt="o", color=color, capsize=2)
    ax.set_yticks(-np.arange(len(measured)), list(measured))
    ax.set(xlabel="accuracy (95 % interval, bags counted as independent)", ylim=(-3.6, 0.6))
    figure.draw_without_rendering()

# %%
# Random folds promise an accuracy that no new patient will see. Held-out patients are near the
# truth, a little below it because each of these fits has a third fewer patients to learn from.
#
# Bags of one patient are not independent either: judged by patients, with the mean score of a
# patient's bags, the uncertainty is that of 200 patients, not of 1200 bags.

mean_score = np.bincount(patient_new, fitted["fit with groups"].decision_function(X_new)) / n_bags
by_patient = fraction("patients", (mean_score > 0) == (np.arange(200) % 2 == 1))
print(f"patients told apart by the mean score of their bags: {by_patient}")
