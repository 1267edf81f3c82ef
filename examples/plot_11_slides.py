"""
Slides in .h5 files: which region decides
=========================================

Feature extractors for microscope slides write one ``.h5`` file per slide: a vector for each small
region, and its coordinates. A table says which slides come from ill patients; nobody has marked
the regions. We go from such a folder to a classifier, and back to the place on the slide.

The slides here are made of images of handwritten digits: an ill slide has a small cluster of
nines among other digits. What matters is the form of the files, which is the usual one.
"""

# %%
# The files
# ---------
# 160 slides with 100 to 200 regions each, on a grid. A slide of an ill patient has nines on two or
# three neighboring places.

import tempfile
from pathlib import Path

import h5py
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

import sparsetoken as st
from sparsetoken.plotting import styled

rng = np.random.default_rng(0)
images, digits = load_digits(return_X_y=True)
nines, others = images[digits == 9], images[digits != 9]
folder = Path(tempfile.mkdtemp())
marked, lines = {}, ["slide,label"]
for number in range(160):
    name, ill = f"slide-{number:03}", number % 2
    grid = np.argwhere(np.ones((14, 14)))
    coords = rng.permutation(grid)[: rng.integers(100, 200)]
    features = others[rng.choice(len(others), len(coords))]
    centre = coords[rng.integers(len(coords))]
    near = np.argsort(np.abs(coords - centre).sum(axis=1))[: rng.integers(2, 4)]
    if ill:
        features[near] = nines[rng.choice(len(nines), len(near))]
        marked[name] = near
    with h5py.File(folder / f"{name}.h5", "w") as file:
        file["features"], file["coords"] = features.astype(np.float32), coords
    lines.append(f"{name},{'ill' if ill else 'well'}")
(folder / "labels.csv").write_text("\n".join(lines))
size = sum(file.stat().st_size for file in folder.iterdir())
print(f"{len(marked) * 2} slides, {size / 1e6:.1f} MB")

# %%
# From the folder to a classifier
# -------------------------------
# The labels are in ``labels.csv`` beside the slides; ``labels=`` names another table. As a command
# this is ``sparsetoken fit slides --out model.npz``.

data = st.read_dataset(folder)
print(data.sequences)
train, test = np.arange(120), np.arange(120, 160)
clf = st.SparseTokenClassifier(random_state=0)
clf.fit(data.sequences[train], data.labels[train])
print(f"accuracy on 40 slides not seen: {clf.score(data.sequences[test], data.labels[test]):.3f}")
print("members:", {name: round(weight, 2) for name, weight in clf.members_.items()})

# %%
# Back to the slide
# -----------------
# ``explain`` gives each region's attention and what it adds to the score for a class. The
# coordinates lie in the same file, in the same order.

held_out = data.sequences[test]
scores = clf.decision_function(held_out) * (1 if clf.classes_[1] == "ill" else -1)
surest = np.argsort(-scores)[[0, 6, 12]]
found = clf.explain(held_out[surest], top=200, label="ill")

with styled():
    figure, axes = plt.subplots(1, 3, figsize=(7.2, 2.7), layout="constrained")
    for ax, which, explanation in zip(axes, surest, found, strict=True):
        name = data.ids[test[which]]
        with h5py.File(folder / f"{name}.h5") as file:
            x, y = file["coords"][:][explanation.tokens].T
        limit = np.abs(explanation.contributions).max()
        look = {"s": 34, "marker": "s", "cmap": "RdBu_r", "vmin": -limit, "vmax": limit}
        drawn = ax.scatter(x, y, c=explanation.contributions, edgecolor="0.7", lw=0.4, **look)
        is_nine = np.isin(explanation.tokens, marked.get(name, []))
        ax.scatter(x[is_nine], y[is_nine], s=80, facecolor="none", edgecolor="k", lw=1.0)
        ax.set(title=f"{name} ({data.labels[test[which]]})", aspect="equal", xticks=[], yticks=[])
        ax.spines[:].set_visible(False)
    figure.colorbar(drawn, ax=axes, label="speaks for ill", ticks=[0], shrink=0.7)
    figure.draw_without_rendering()

# %%
# Circles mark the nines, which the classifier was never shown. How often is the region with the
# most attention one of them?

ill = [i for i in test if data.labels[i] == "ill"]
top = [explanation.tokens[0] for explanation in clf.explain(data.sequences[ill], top=1)]
hits = [t in marked[data.ids[i]] for i, t in zip(ill, top, strict=True)]
print(f"the top region is a nine on {np.mean(hits):.0%} of the {len(ill)} ill slides not seen")
