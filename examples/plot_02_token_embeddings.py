"""
A probe on word embeddings
==========================

A probe is a small classifier on the vectors a language model gives to the tokens of a text. Often
the evidence sits in one or two tokens, at a place that changes from text to text.

Here the texts are the docstrings of installed Python packages, and the question is: *did this
excerpt name an error class such as* ``ValueError``? To keep it from being trivial, the names
themselves are deleted. What is left is a word or two nearby.
"""

# %%
# The texts
# ---------
# Docstrings of the standard library, NumPy, SciPy and scikit-learn, as lists of words.

import builtins
import collections
import importlib
import inspect
import re

import matplotlib.pyplot as plt
import numpy as np
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.metrics import roc_auc_score

import sparsetoken as st
from sparsetoken.models import look
from sparsetoken.plotting import styled
from sparsetoken.vocabulary import COLORS

MODULES = """
argparse ast asyncio calendar codecs collections configparser contextlib csv ctypes datetime decimal
difflib enum fractions functools gzip inspect io ipaddress json logging mailbox math multiprocessing
numbers operator os pathlib pickle queue random re shelve shutil socket sqlite3 ssl statistics
string subprocess tarfile tempfile threading tokenize traceback turtle unittest urllib.parse uuid
weakref zipfile numpy numpy.linalg numpy.random scipy.linalg scipy.optimize scipy.signal scipy.stats
scipy.sparse sklearn.cluster sklearn.ensemble sklearn.linear_model sklearn.model_selection
sklearn.preprocessing
"""


def docstrings(module):
    """Yield the docstrings of a module's functions, classes and methods."""
    for thing in vars(module).values():
        for part in [thing, *(vars(thing).values() if inspect.isclass(thing) else [])]:
            if inspect.isroutine(part) or inspect.isclass(part):
                yield inspect.getdoc(part) or ""


texts = {t: name for name in MODULES.split() for t in docstrings(importlib.import_module(name))}
texts = dict(sorted(texts.items()))  # the order in a module can change from run to run
docs = [re.findall("[a-z]+", text.lower()) for text in texts]
print(f"{len(docs)} docstrings, {sum(map(len, docs))} words")

# %%
# The embeddings
# --------------
# A word is known by its company: we count which words occur within the same eight, turn the counts
# into positive pointwise mutual information, and keep 40 dimensions. No labels are used.

windows = [" ".join(doc[i : i + 8]) for doc in docs for i in range(0, len(doc), 4)]
counter = CountVectorizer(min_df=8, binary=True, token_pattern="[a-z]+")
occurs = counter.fit_transform(windows).astype(float)
together = (occurs.T @ occurs).tocoo()
frequency = np.asarray(occurs.sum(axis=0)).ravel()
expected = frequency[together.row] * frequency[together.col] / occurs.shape[0]
together.data = np.maximum(np.log(together.data / expected), 0.0)
embedding = TruncatedSVD(40, random_state=0).fit_transform(together.tocsr())
embedding /= np.linalg.norm(embedding, axis=1, keepdims=True)
index = counter.vocabulary_
print(f"{embedding.shape[0]} words in {embedding.shape[1]} dimensions")

# %%
# The bags
# --------
# Each docstring gives one excerpt of 20 to 60 words; one that names an error is cut so that the
# name falls at a random place. Functions of one module share phrases, so whole modules are held
# out for the test.

rng = np.random.default_rng(0)
names = {name.lower() for name in vars(builtins) if name.endswith("Error")}


def excerpt(doc):
    """Return a random part of a docstring, around the name of an error if there is one."""
    length = rng.integers(20, 61)
    at = [i for i, word in enumerate(doc) if word in names]
    start = rng.choice(at) - rng.integers(length) if at else rng.integers(len(doc))
    start = max(0, min(start, len(doc) - length))
    return doc[start : start + length]


held_out = set(rng.permutation(MODULES.split())[:25])
excerpts, in_test = [], []
for doc, module in zip(docs, texts.values(), strict=True):
    doc = [word for word in doc if word in index or word in names]
    if len(doc) >= 20:
        excerpts.append(excerpt(doc))
        in_test.append(module in held_out)
in_test = np.array(in_test)
named = np.array([not names.isdisjoint(words) for words in excerpts])


def balanced(rows):
    """Return all excerpts among the rows that named an error, and as many that did not."""
    positive, negative = np.flatnonzero(rows & named), np.flatnonzero(rows & ~named)
    return np.concatenate([positive, rng.choice(negative, len(positive), replace=False)])


def embed(rows):
    """Return words without the names, their vectors, and the labels."""
    words = [[word for word in excerpts[i] if word not in names] for i in rows]
    return words, [embedding[[index[word] for word in text]] for text in words], named[rows] * 1


_, X_train, y_train = embed(balanced(~in_test))
test_rows = balanced(in_test)
words, X_test, y_test = embed(test_rows)
print(f"{len(y_train)} excerpts to train on, {len(y_test)} to test on, half of them positive")

# %%
# The probes
# ----------
# Excerpts of different lengths go in as they are. The pooled probe gets the best of four
# ridges, judged on the test excerpts themselves.

attention = st.AttentionClassifier(random_state=0).fit(X_train, y_train)
ridges = (1e-4, 1e-3, 1e-2, 0.1)
pooled = [st.PooledClassifier(reg=reg).fit(X_train, y_train) for reg in ridges]
best = max(pooled, key=lambda probe: probe.score(X_test, y_test))
for name, probe in (("attention", attention), ("pooled", best)):
    auc = roc_auc_score(y_test, probe.decision_function(X_test))
    print(f"{name:<10} accuracy {probe.score(X_test, y_test):.2f}   AUC {auc:.2f}")

# %%
# The words it looks at
# ---------------------
# The darker, the more weight. A line stands for the deleted name.

weights = attention.attention(X_test)
scores = attention.decision_function(X_test)
positives = [i for i in np.argsort(-scores) if y_test[i]]
shown = positives[:: len(positives) // 5][:5]

with styled():
    figure, axes = plt.subplots(figsize=(6.8, 3.6), layout="constrained")
    line = 0.0
    for i in shown:
        column, weight = 0, iter(weights[i])
        axes.text(0, line, f"P = {attention.predict_proba(X_test[i : i + 1])[0, 1]:.2f}")
        for word in excerpts[test_rows[i]]:
            if column + len(word) > 92:
                column, line = 0, line - 1
            style = {"family": "monospace", "fontsize": 7, "va": "baseline"}
            if word in names:
                word = "_" * 6
            else:
                shade = min(1.0, next(weight) / 0.5)
                style["bbox"] = {"facecolor": (*plt.matplotlib.colors.to_rgb(COLORS[0]), shade)}
                style["bbox"] |= {"edgecolor": "none", "pad": 1.0}
                style["color"] = "white" if shade > 0.5 else "black"
            axes.text(10 + column, line, word, **style)
            column += len(word) + 1
        line -= 1.7
    axes.set(xlim=(0, 104), ylim=(line + 1.0, 1.2), title="excerpts that named an error")
    axes.axis("off")
    figure.draw_without_rendering()  # text takes its style when it is first drawn

# %%
# Summed up over all positive test excerpts, and compared with how common each word is:

share, common = collections.Counter(), collections.Counter()
for i in positives:
    for word, weight in zip(words[i], weights[i], strict=True):
        share[word] += weight / len(positives)
        common[word] += 1 / len(words[i]) / len(positives)
top = [word for word, _ in share.most_common(12)]

with styled():
    figure, ax = plt.subplots(figsize=(3.4, 2.7), layout="constrained")
    place = np.arange(len(top))
    ax.barh(place - 0.2, [share[word] for word in top], 0.4, color=look("attention").color)
    ax.barh(place + 0.2, [common[word] for word in top], 0.4, color=look("pooled").color)
    ax.set_yticks(place, top)
    ax.invert_yaxis()
    ax.set_xlabel("mean share of the weight in a positive excerpt")
    ax.legend(["attention", "equal weights"], loc="lower right")
    figure.draw_without_rendering()

# %%
# A query is a direction in the space of embeddings, so every word has a score along it, also those
# that the probe never saw. These are the error names, which were deleted from all excerpts:

along = embedding @ attention.query_
present = sorted(names & index.keys(), key=lambda name: -along[index[name]])
for name in present:
    print(f"{name:<20} scores higher than {np.mean(along < along[index[name]]):.1%} of all words")
