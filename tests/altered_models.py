"""Models whose files were altered: each ends in a sentence or answers what it is asked.

A crash of compiled code would end the process, so that whoever runs this gives it one of its own:
``python altered_models.py COUNT SEED`` prints a verdict a line.
"""

import io
import json
import sys
import tempfile
import warnings
from pathlib import Path

import numpy as np

import sparsetoken as st

X, Y = st.SparseTokenProblem(5, 1, 4.0).sample(60, 6, random_state=0)
THREE = np.where(np.arange(60) % 3 == 0, 2, Y)
_QUICK = {"cv": 2, "random_state": 0}
_STEPS = {**_QUICK, "refine_steps": 5}
CLASSIFIERS = {
    "pooled": (st.PooledClassifier(), Y),
    "vectorized": (st.VectorizedClassifier(loss="square"), Y),
    "two-step": (st.TwoStepAttentionClassifier(random_state=0), Y),
    "attention": (st.AttentionClassifier(**_STEPS), Y),
    "attention, three classes": (st.AttentionClassifier(**_STEPS), THREE),
    "bayes": (st.BayesAttentionClassifier(**_QUICK), Y),
    "bayes, contiguous": (st.BayesAttentionClassifier(contiguous=True, **_QUICK), Y),
    "sparse-token": (st.SparseTokenClassifier(n_trees=10, **_STEPS), Y),
    "sparse-token, three classes": (st.SparseTokenClassifier(n_trees=10, **_STEPS), THREE),
    "monotone": (st.SparseTokenClassifier(monotone=True, **_STEPS), Y),
}
_TYPES = ("f4", "f2", "i4", "i8", "u1", "c16", "?", ">f8", "U3", "M8[s]")
_NUMBERS = (-1, 0, 1, 7, 10**6, -(10**12), 2**63 - 1, 0.5, 1e300, None, "x", True, [], {})


def flipped(content: bytes, rng: np.random.Generator) -> bytes:
    """Damage the file: flip a byte, or lose its end."""
    place = int(rng.integers(len(content)))
    if rng.random() < 0.2:
        return content[:place]
    return (
        content[:place] + bytes([content[place] ^ int(rng.integers(1, 256))]) + content[place + 1 :]
    )


def rewritten(content: bytes, rng: np.random.Generator) -> bytes:
    """Change an array or the header, and write a sound archive again."""
    with np.load(io.BytesIO(content)) as archive:
        entries = {name: archive[name] for name in archive.files}
    names = [name for name in entries if name != "header"]
    if rng.random() < 0.6:
        for name in rng.choice(names, int(rng.integers(1, 3))):
            entries[name] = _another(entries[name], rng)
        if rng.random() < 0.1:
            del entries[str(rng.choice(names))]
    else:
        header = json.loads(str(entries["header"]))
        _change_somewhere(header["content"], rng)
        entries["header"] = np.array(json.dumps(header))
    buffer = io.BytesIO()
    np.savez(buffer, **entries)
    return buffer.getvalue()


def _another(array, rng: np.random.Generator):
    """Return an array of another shape, type, order or other values."""
    kind = int(rng.integers(7))
    axis = int(rng.integers(max(array.ndim, 1)))
    if kind == 0 and array.ndim:
        return (
            np.delete(array, rng.integers(max(array.shape[axis], 1)), axis) if array.size else array
        )
    if kind == 1 and array.ndim:
        return np.concatenate([array, array], axis)
    if kind == 2:
        return array.ravel() if rng.random() < 0.5 else array[np.newaxis]
    if kind == 3 and array.dtype.kind in "fiu":
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            return array.astype(str(rng.choice(_TYPES)))
    if kind == 4:
        return array.T.copy()
    other = array.copy()
    if other.size and other.dtype.kind in "fiu":
        value = _NUMBERS[int(rng.integers(9))]
        with np.errstate(all="ignore"):
            other.flat[int(rng.integers(other.size))] = np.array(value).astype(other.dtype)
    return other if kind == 5 else np.asfortranarray(other[..., :0] if array.ndim else other)


def _change_somewhere(value, rng: np.random.Generator) -> None:
    """Change, drop or double something in nested dicts and lists."""
    keys = list(value) if isinstance(value, dict) else list(range(len(value)))
    if not keys:
        return
    key = keys[int(rng.integers(len(keys)))]
    if isinstance(value[key], dict | list) and value[key] and rng.random() < 0.9:
        _change_somewhere(value[key], rng)
    elif rng.random() < 0.2:
        del value[key]
    else:
        value[key] = _NUMBERS[int(rng.integers(len(_NUMBERS)))]


def verdict(path: Path, expected, *, damaged: bool) -> str:
    """Load a model and ask it everything; say how that went."""
    try:
        model = st.load(path)
    except ValueError:
        return "refused"
    try:
        with np.errstate(all="ignore"):
            scores = model.decision_function(X)
            model.attention(X)
            model.explain(X[:3])
            stream = None if isinstance(model, st.VectorizedClassifier) else model.stream()
            for token in X[0] if stream is not None else ():
                stream.update(token)
            if model.reference_ is not None:
                label = None if len(model.classes_) == 2 else model.classes_[1]
                model.threshold(0.3, label=label)
                model.threshold(0.3, label=label, n_tokens=7)
    except ValueError:
        return "refused when asked"
    if np.array_equal(scores, expected):
        return "equal scores"
    return "WRONG: other scores of a damaged file" if damaged else "another model"


def main(count: int, seed: int) -> None:
    """Print a verdict for each altered model."""
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as folder:
        path, models = Path(folder, "model.npz"), []
        for classifier, labels in CLASSIFIERS.values():
            st.save(classifier.fit(X, labels), path)
            models.append((path.read_bytes(), classifier.decision_function(X)))
        for number in range(count):
            rng = np.random.default_rng([seed, number])
            content, expected = models[number % len(models)]
            damaged = rng.random() < 0.3
            path.write_bytes((flipped if damaged else rewritten)(content, rng))
            name = list(CLASSIFIERS)[number % len(models)]
            print(f"{number} {name}", end=": ", flush=True)
            try:
                print(verdict(path, expected, damaged=damaged), flush=True)
            except Exception as error:
                print(f"WRONG: {type(error).__name__}: {error}", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
