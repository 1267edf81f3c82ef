"""A probe that has left: the formula in its file, and its torch module, give the same scores."""

import json
import sys
from collections import defaultdict
from itertools import combinations

import numpy as np
import pytest
from safetensors import safe_open
from scipy.special import logsumexp, softmax
from sklearn.decomposition import PCA

import sparsetoken as st
from sparsetoken.files.array_files import open_safetensors

RNG = np.random.default_rng(0)
X, Y = st.SparseTokenProblem(n_tokens=6, signal=5.0).sample(90, 8, random_state=0)
X = X * RNG.uniform(0.1, 10.0, 8) + 50.0 * RNG.standard_normal(8)
X[:, :, 3] = 7.0  # carries nothing
THREE = Y + Y * (np.arange(90) % 2)
RAGGED = [x[: 1 + i % 6] for i, x in enumerate(X)]
QUICK = {"cv": 2, "refine_steps": 8}
CLASSIFIERS = {
    "attention": (st.AttentionClassifier(random_state=0, **QUICK), RAGGED, Y),
    "classes": (st.AttentionClassifier(random_state=0, **QUICK), X, THREE),
    "bayes": (st.BayesAttentionClassifier(random_state=0, cv=2), RAGGED, Y),
    "kinds": (st.BayesAttentionClassifier(random_state=0, cv=2, n_kinds=2), RAGGED, Y),
    "two-step": (
        st.TwoStepAttentionClassifier(lr_readout=0.01, lr_query=0.01, random_state=0),
        RAGGED,
        Y,
    ),
    "pooled": (st.PooledClassifier(loss="square"), RAGGED, Y),
    "vectorized": (st.VectorizedClassifier(), X, Y),
}


@pytest.fixture(scope="module", params=CLASSIFIERS)
def fitted(request):
    clf, sequences, labels = CLASSIFIERS[request.param]
    return clf.fit(sequences, labels), sequences


def read(path):
    with safe_open(path, "numpy") as file:
        return {name: file.get_tensor(name) for name in file.keys()}, file.metadata()  # noqa: SIM118


def score(tensors, x):
    """Do what the header says, a head and a class at a time."""
    total, joined = tensors["shift"].copy(), defaultdict(list)
    Z = (x.reshape(-1, len(tensors["mean"])) - tensors["mean"]) * tensors["scale"]
    for k, a in enumerate(tensors["temperatures"]):
        for c in range(len(total)):
            s, t = Z @ tensors["queries"][k, c], Z @ tensors["readouts"][k, c]
            bias = tensors["biases"][k, c]
            raw = softmax(s) @ t + bias
            if a:
                n_signal = int(tensors["n_signal"][k])
                size = min(n_signal, len(s))
                choices = [sum(chosen) for chosen in combinations(s, size)]
                raw = a * logsumexp(choices, b=1 / len(choices)) + bias * size / n_signal
            joined[int(tensors["group"][k]), c].append((raw, a))
    for (group, c), parts in joined.items():
        raws, temperatures = map(np.array, zip(*parts, strict=True))
        a = temperatures[0]
        raw = a * logsumexp(raws / a) if len(raws) > 1 else raws[0]
        low, high = tensors["limits"][:, group]
        total[c] += tensors["weights"][group] * np.clip(raw, low, high)
    return total


def test_the_formula_of_the_file_gives_the_scores(fitted, tmp_path):
    clf, sequences = fitted
    st.export(clf, tmp_path / "probe.safetensors", threshold=0.25)
    tensors, about = read(tmp_path / "probe.safetensors")
    scores = np.array([score(tensors, x) for x in sequences]).reshape(len(sequences), -1)
    expected = clf.decision_function(sequences).reshape(len(sequences), -1)
    assert np.abs(scores - expected).max() < 1e-9 * np.abs(expected).max()
    assert tensors["threshold"] == 0.25
    assert json.loads(about["classes"]) == clf.classes_.tolist()
    for name in set(tensors) - {"threshold"}:
        assert name in about["formula"], name


def test_probabilities_are_those_that_the_file_says(fitted, tmp_path):
    clf, sequences = fitted
    st.export(clf, tmp_path / "probe.safetensors")
    about = read(tmp_path / "probe.safetensors")[1]
    words = {"exp": np.exp, "clip": np.clip, "softmax": lambda score: softmax(score, axis=1)}
    formula = about["probability"].partition(", of")[0]
    probability = eval(formula, words | {"score": clf.decision_function(sequences)})
    expected = clf.predict_proba(sequences)
    assert np.allclose(probability, expected[:, 1] if probability.ndim == 1 else expected)


def test_our_own_reader_reads_it_and_numbers_are_aligned(fitted, tmp_path):
    path = tmp_path / "probe.safetensors"
    st.export(fitted[0], path)
    tensors = read(path)[0]
    assert {n: a.shape for n, a in open_safetensors(path).items()} == {
        name: tensor.shape for name, tensor in tensors.items()
    }
    assert int.from_bytes(path.read_bytes()[:8], "little") % 8 == 0


def test_a_loaded_classifier_and_feature_names(tmp_path):
    sequences = st.Sequences(X.reshape(-1, 8), np.arange(91) * 6, feature_names=list("abcdefgh"))
    clf = st.AttentionClassifier(random_state=0, **QUICK).fit(sequences, Y)
    st.save(clf, tmp_path / "model.npz", tokens=False)
    st.export(st.load(tmp_path / "model.npz"), tmp_path / "again")
    st.export(clf, tmp_path / "once")
    assert (tmp_path / "once").read_bytes() == (tmp_path / "again").read_bytes()
    assert json.loads(read(tmp_path / "once")[1]["features"]) == list("abcdefgh")


def test_what_is_no_tensor_is_refused(tmp_path):
    clf = st.SparseTokenClassifier(n_trees=10, random_state=0, **QUICK).fit(X, Y)
    kernel, trees = clf.stack_.split(np.arange(len(clf.stack_.weights)))[-2:]
    clf.stack_.weights[kernel] = 0.0
    clf.stack_.weights[trees] = 0.0625
    with pytest.raises(ValueError, match=r"'statistics' \(weight 0\.1\d\) .* AttentionClassifier"):
        st.export(clf, tmp_path / "x")
    clf.stack_.weights[trees], clf.stack_.weights[kernel] = 0.0, 0.125
    with pytest.raises(ValueError, match=r"'kernel' \(weight 0\.3\d\) .* AttentionClassifier"):
        st.export(clf, tmp_path / "x")
    clf.stack_.weights[kernel] = 0.0  # then they say nothing
    st.export(clf, tmp_path / "x")
    scores = [score(read(tmp_path / "x")[0], x)[0] for x in X]
    assert np.allclose(scores, clf.decision_function(X))
    with pytest.raises(ValueError, match="one of sparsetoken's classifiers, got PCA"):
        st.export(PCA(), tmp_path / "y")
    assert [path.name for path in tmp_path.iterdir()] == ["x"]


def test_without_torch(fitted, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(ImportError, match=r"pip install 'sparsetoken\[torch\]'"):
        st.to_torch(fitted[0])


@pytest.fixture
def torch():
    return pytest.importorskip("torch", reason="torch is an extra")


@pytest.mark.parametrize("kind", ["float64", "float32", "bfloat16"])
@pytest.mark.parametrize("moved", [True, False])
def test_torch_gives_the_same_scores(torch, fitted, kind, moved):
    clf, sequences = fitted
    kind = getattr(torch, kind)
    tokens = [torch.from_numpy(x).to(kind) for x in sequences]
    padded = torch.nn.utils.rnn.pad_sequence(tokens, batch_first=True, padding_value=torch.nan)
    lengths = torch.tensor([len(x) for x in tokens])
    mask = torch.arange(padded.shape[1]) < lengths[:, None]
    module = st.to_torch(clf).to(kind) if moved else st.to_torch(clf)
    scores = module(padded, None if mask.all() else mask.int()).numpy()
    expected = clf.decision_function([x.double().numpy() for x in tokens])
    assert np.abs(scores - expected).max() < 1e-4 * expected.std()


def test_torch_keeps_its_digits_on_long_sequences(torch):
    clf = st.BayesAttentionClassifier(random_state=0, cv=2).fit(X, Y)
    tokens = np.random.default_rng(0).standard_normal((4, 30_000, 8)) * X.std(axis=(0, 1))
    tokens = (tokens + X.mean(axis=(0, 1))).astype(np.float32)
    tokens[::2, 0] = X[Y == 1][0, 0]
    scores = st.to_torch(clf)(torch.from_numpy(tokens)).numpy()
    expected = clf.decision_function(tokens.astype(np.float64))
    assert np.abs(scores - expected).max() < 1e-4 * expected.std()


def test_a_module_takes_the_tensors_of_a_file(torch, fitted, tmp_path):
    from safetensors.torch import load_file

    clf, sequences = fitted
    st.export(clf, tmp_path / "x", threshold=1.5)
    module = st.to_torch(clf)
    tokens = torch.from_numpy(np.asarray(sequences[5])[None])
    scores = module(tokens)
    for buffer in module.buffers():
        buffer.zero_()
    module.load_state_dict(load_file(tmp_path / "x"))
    assert torch.equal(module(tokens), scores)
    assert module.threshold == 1.5


def test_torch_has_no_score_without_tokens_and_has_gradients(torch, fitted):
    clf, _ = fitted
    tokens = torch.from_numpy(X).float().requires_grad_()
    mask = torch.ones(X.shape[:2])
    mask[0] = 0
    scores = st.to_torch(clf)(tokens, mask)
    assert scores[0].isnan().all()
    assert scores[1:].isfinite().all()
    scores[1:].sum().backward()
    assert tokens.grad[1:].isfinite().all()
    assert (tokens.grad[1:] != 0).any()


def test_torch_takes_no_other_tokens(torch, fitted):
    module = st.to_torch(fitted[0])
    for shape in ((6, 8), (2, 12, 4), (2, 6, 16)):
        with pytest.raises(ValueError, match=r"must have shape \(batch, [6L], 8\), got"):
            module(torch.zeros(shape))
