"""
Bring your own loss
===================

Three losses are built in. A fourth needs three methods, and then serves everywhere: in the
estimators, which minimize it, and in the theory, which predicts what will come out. That makes it
cheap to ask whether a new loss is worth anything before using it.

Our loss is the *modified Huber* loss. Like the hinge it ignores samples that are right by a margin;
it grows like a square near the boundary, and only linearly for samples that are badly wrong, so
that single bad samples do not pull too hard.
"""

# %%
# The loss
# --------
# ``value``, ``derivative`` and ``second_derivative`` take a score z and a label y = ±1, as arrays.
# The loss must be convex in z. The theory needs its prox, and finds it numerically.

import matplotlib.pyplot as plt
import numpy as np

import sparsetoken as st
from sparsetoken.models import look
from sparsetoken.plotting import lines_and_points, styled
from sparsetoken.vocabulary import COLORS


class ModifiedHuber(st.losses.Loss):
    """Zero beyond margin 1, a square between 1 and -1, linear below."""

    def value(self, z, y):
        """Return the loss."""
        margin = y * z
        return np.where(margin < -1.0, -4.0 * margin, np.maximum(1.0 - margin, 0.0) ** 2)

    def derivative(self, z, y):
        """Return its slope in z."""
        return -y * np.clip(2.0 * (1.0 - y * z), 0.0, 4.0)

    def second_derivative(self, z, y):
        """Return its curvature in z."""
        return np.where(np.abs(z) < 1.0, 2.0, 0.0)


# %%
# Theory
# ------
# Ten tokens, one of them with a signal of strength 4. The theory takes the loss as it is. Attention
# spends half of its samples on the query, in both places.

loss, reg = ModifiedHuber(), 0.1
problem = st.SparseTokenProblem(n_tokens=10, signal=4.0)
alphas = [0.5, 1.0, 2.0, 4.0, 8.0]
options = {"reg": reg, "loss": loss}
theory = {
    "pooled": st.theory.risk(problem, "pooled", alpha=alphas, **options),
    "attention": [
        st.theory.two_step_risk(problem, alpha0=a / 2, alpha1=a / 2, n_points=1024, **options)
        for a in alphas
    ],
}

# %%
# Estimators
# ----------
# The same loss in two estimators, on sampled sequences in 300 dimensions, six times each.

dim, trials = 300, 6
measured = {model: np.empty((trials, len(alphas))) for model in theory}
for trial in range(trials):
    rng = np.random.default_rng(trial)
    draw = {"dim": dim, "random_state": rng, "direction": np.eye(dim)[0], "dtype": np.float32}
    X_test, y_test = problem.sample(1500, **draw)
    for j, alpha in enumerate(alphas):
        X, y = problem.sample(int(alpha * dim), **draw)
        classifiers = {
            "pooled": st.PooledClassifier(reg=reg, loss=loss),
            "attention": st.TwoStepAttentionClassifier(reg=reg, loss=loss, random_state=trial),
        }
        for model, clf in classifiers.items():
            measured[model][trial, j] = 1.0 - clf.fit(X, y).score(X_test, y_test)

means = {model: errors.mean(axis=0) for model, errors in measured.items()}
bars = {model: e.std(axis=0, ddof=1) / np.sqrt(trials) for model, e in measured.items()}
for model, risks in theory.items():
    for risk, alpha, mean, bar in zip(risks, alphas, means[model], bars[model], strict=True):
        print(
            f"{model:<10} alpha {alpha:>3}: theory {risk.test_error:.3f}, "
            f"estimator {mean:.3f} ± {bar:.3f}"
        )

# %%
# Is it better than the others?
# -----------------------------
# A question for the theory alone: the error of the pooled classifier with four losses over a range
# of ridges, at two samples per dimension. With a strong ridge the loss does not matter; with a weak
# one it does.

ridges = np.geomspace(1e-3, 1.0, 13)
losses = {"logistic": "logistic", "square": "square", "hinge": "hinge", "modified Huber": loss}
by_ridge = {
    name: [
        st.theory.risk(problem, "pooled", alpha=2.0, reg=r, loss=chosen).test_error for r in ridges
    ]
    for name, chosen in losses.items()
}
for name, errors in by_ridge.items():
    print(f"{name:<15} error {errors[0]:.3f} at ridge {ridges[0]:g}, {errors[-1]:.3f} at 1")

with styled():
    figure, axes = plt.subplots(1, 3, figsize=(6.8, 2.5), layout="constrained")
    margins = np.linspace(-2.5, 2.5, 201)
    for i, (name, chosen) in enumerate(losses.items()):
        values = st.losses.get_loss(chosen).value(margins, 1.0)
        dashes = "-" if name == "modified Huber" else "--"
        axes[0].plot(margins, values, dashes, color=COLORS[i], label=name)
        axes[2].plot(ridges, by_ridge[name], dashes, color=COLORS[i], label=name)
    axes[0].set(xlabel="score, for a positive sample", ylabel="loss", ylim=(0, 8))
    axes[0].legend(loc="upper right")
    for model, risks in theory.items():
        _, colour, marker = look(model)
        axes[1].plot(alphas, [risk.test_error for risk in risks], color=colour, label=model)
        style = {"fmt": marker, "color": colour, "markerfacecolor": "white", "capsize": 1.5}
        axes[1].errorbar(alphas, means[model], bars[model], **style)
    lines_and_points(axes[1])
    axes[1].set(xscale="log", xlabel="samples per dimension, α", ylabel="test error")
    axes[1].set(title="modified Huber", ylim=(0, None))
    axes[1].set_xticks(alphas, [f"{alpha:g}" for alpha in alphas])
    axes[1].minorticks_off()
    axes[1].legend(loc="lower left")
    axes[2].set(
        xscale="log", xlabel="ridge λ", ylabel="test error", title="pooled, α = 2 (colours as left)"
    )
    figure.draw_without_rendering()  # ticks take their style when they are first drawn
