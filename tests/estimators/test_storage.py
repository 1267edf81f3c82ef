import io
import json
import subprocess
import sys
import tracemalloc
import zipfile
from pathlib import Path

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.preprocessing import StandardScaler

import sparsetoken as st
from platforms import unix
from sparsetoken.estimators.head_objective import HeadSpec
from sparsetoken.losses import Hinge, Loss

X, Y = st.SparseTokenProblem(5, 1, 4.0).sample(60, 6, random_state=0)
LABELS = np.where(Y == 1, "yes", "no")


class Own(Loss):
    value = derivative = second_derivative = staticmethod(lambda z, y: z)


def fitted(**kwargs):
    return st.PooledClassifier(**kwargs).fit(X, LABELS)


@pytest.mark.parametrize(
    "classifier",
    [
        st.PooledClassifier(loss=Hinge()),
        st.VectorizedClassifier(reg=0.3, loss="square"),
        st.TwoStepAttentionClassifier(random_state=np.random.default_rng(0)),
        st.TwoStepAttentionClassifier(random_state=7, beta=0.5),
        st.AttentionClassifier(cv=2, refine_steps=5),
        st.SparseTokenClassifier(cv=2, refine_steps=5, n_trees=10, random_state=7),
    ],
    ids=["pooled", "vectorized", "two-step", "two-step with a seed", "attention", "sparse token"],
)
def test_round_trip(classifier, tmp_path):
    path = tmp_path / "model.npz"
    classifier.fit(X, LABELS)
    st.save(classifier, path)
    again = st.load(path)
    assert type(again) is type(classifier)
    assert np.array_equal(again.decision_function(X), classifier.decision_function(X))
    assert np.array_equal(again.predict_proba(X), classifier.predict_proba(X))
    assert np.array_equal(again.predict(X), classifier.predict(X))
    assert again.n_features_in_ == 6
    again.fit(X, LABELS)  # and it can be fitted anew
    if getattr(classifier, "random_state", None) == 7:
        assert again.get_params() == classifier.get_params()
        assert np.array_equal(again.query_, classifier.query_)


def test_object_labels_and_column_names(tmp_path):
    pandas = pytest.importorskip("pandas", reason="column names come from pandas")
    table = pandas.DataFrame(X[:, 0], columns=list("abcdef"))
    classifier = st.PooledClassifier().fit(table, LABELS.astype(object))
    st.save(classifier, tmp_path / "model.npz")
    again = st.load(tmp_path / "model.npz")
    assert again.feature_names_in_.tolist() == list("abcdef")
    assert again.predict(table).tolist() == classifier.predict(table).tolist()


def test_several_classes(tmp_path):
    labels = np.where(Y == 1, "yes", np.where(X[:, 0, 0] > 0, "no", "maybe"))
    classifier = st.SparseTokenClassifier(cv=2, refine_steps=5, n_trees=10, random_state=0).fit(
        X, labels
    )
    st.save(classifier, tmp_path / "model.npz")
    again = st.load(tmp_path / "model.npz")
    assert np.array_equal(again.predict_proba(X), classifier.predict_proba(X))
    assert again.members_ == classifier.members_
    for options in ({}, {"n_tokens": 9}):
        expected = classifier.threshold(0.3, label="no", **options)
        assert again.threshold(0.3, label="no", **options) == expected
    stream, expected = again.stream(), classifier.decision_function(X[:1])[0]
    assert [stream.update(token) for token in X[0]][-1] == pytest.approx(expected)
    st.save(classifier, tmp_path / "lean.npz", tokens=False)
    lean = st.load(tmp_path / "lean.npz")
    assert lean.threshold(0.3, label="no") == classifier.threshold(0.3, label="no")
    with pytest.raises(ValueError, match="saved without them"):
        lean.threshold(0.3, label="no", n_tokens=9)


MODELS_TO_ALTER = [
    st.PooledClassifier(),
    st.VectorizedClassifier(),
    st.TwoStepAttentionClassifier(random_state=0),
    st.AttentionClassifier(cv=2, refine_steps=5, random_state=0),
    st.BayesAttentionClassifier(cv=2, random_state=0),
    st.SparseTokenClassifier(cv=2, refine_steps=5, n_trees=10, random_state=0),
]


@pytest.mark.parametrize("classifier", MODELS_TO_ALTER, ids=lambda c: type(c).__name__)
def test_every_array_must_fit_the_others(classifier, tmp_path):
    """Compiled loops index arrays without a check of their own: no other shape is loaded."""
    path = tmp_path / "model.npz"
    st.save(classifier.fit(X, LABELS), path)
    content = entries(path)
    free = {"header", "fingerprints_", "query_samples_", "query_", "coef_"}
    for name in (name for name in content.keys() - free if not name.endswith("roots")):
        for other in (np.append(content[name], 0).astype(content[name].dtype), content[name][:-1]):
            np.savez(path, **{**content, name: other})
            with pytest.raises(ValueError, match="not a valid sparsetoken model"):
                st.load(path)


def test_forests_must_be_alike(tmp_path):
    path = tmp_path / "model.npz"
    clf = st.SparseTokenClassifier(cv=2, refine_steps=5, n_trees=10, random_state=0).fit(X, LABELS)
    st.save(clf, path)
    content = entries(path)
    wide = [name for name in content if name.endswith("forests.1.value")]
    np.savez(path, **content | {wide[0]: np.repeat(content[wide[0]], 40, axis=1)})
    with pytest.raises(ValueError, match="not a valid sparsetoken model: "):
        st.load(path)


@pytest.mark.system
def test_altered_models_end_in_a_sentence_or_answer():
    script = Path(__file__).parents[1] / "altered_models.py"
    command = [sys.executable, str(script), "120", "1"]
    lines = subprocess.run(
        command, stdout=subprocess.PIPE, text=True, check=True
    ).stdout.splitlines()
    assert len(lines) == 120
    assert not [line for line in lines if "WRONG" in line]


def entries(path):
    with np.load(path) as archive:
        return {name: archive[name] for name in archive.files}


@pytest.mark.parametrize("cut", [0, 10, 400, -200, -1])
def test_truncated(cut, tmp_path):
    path = tmp_path / "model.npz"
    st.save(fitted(), path)
    path.write_bytes(path.read_bytes()[:cut])
    with pytest.raises(ValueError, match=r"model.npz is not a sparsetoken model, or is damaged"):
        st.load(path)


def test_every_flipped_byte_is_seen_or_harmless(tmp_path):
    """A flipped byte in the archive's own padding changes nothing; any other is an error."""
    path, classifier = tmp_path / "model.npz", fitted()
    st.save(classifier, path)
    good = path.read_bytes()
    refused = 0
    for position in range(0, len(good), 11):
        path.write_bytes(good[:position] + bytes([good[position] ^ 0x55]) + good[position + 1 :])
        try:
            again = st.load(path)
        except ValueError:
            refused += 1
        else:
            assert np.array_equal(again.decision_function(X), classifier.decision_function(X))
    assert refused > 0.5 * len(good) / 11


def with_header(path, change):
    """Rewrite the header: what a forger would do."""
    content = entries(path)
    header = json.loads(str(content["header"]))
    change(header)
    content["header"] = np.array(json.dumps(header))
    np.savez(path, **content)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda h: h.update(version=4, sparsetoken="0.3.0"),
            r"format version 4, written by sparsetoken 0.3.0; this one reads version 5: fit again",
        ),
        (lambda h: h.update(format="other"), "is not a sparsetoken model"),
        (lambda h: h["content"].update(record="Popen"), "unknown record 'Popen'"),
        (lambda h: h["content"]["fields"].update(shell=True), "not a valid sparsetoken model"),
        (lambda h: h["content"]["fields"].update(predict=1), "unexpected .* 'predict'"),
        (lambda h: h["content"]["fields"].update(__class__=1), "unexpected .* '__class__'"),
        (lambda h: h["content"]["fields"].update(coef_={"array": "x"}), "not a valid"),
        (lambda h: h.pop("content"), "not a valid sparsetoken model"),
        (lambda h: h.update(content=[1, 2]), "not a valid sparsetoken model"),
        (lambda h: h["content"]["fields"].update(own_={"module": "os"}), "unknown module 'os'"),
        (lambda h: h["content"]["fields"].update(coef_=2.0), "not a valid sparsetoken model"),
        (lambda h: h["content"]["fields"].update(intercept_="no"), "not a valid"),
        (lambda h: h["content"]["fields"].update(intercept_=float("nan")), "not finite"),
        (lambda h: h["content"]["fields"].update(n_features_in_=5), "not a valid"),
        (
            lambda h: h["content"]["fields"].update(n_features_in_=10**12),
            r"coef_ has shape \(6,\)",
        ),
        (lambda h: h["content"]["fields"].pop("classes_"), "not a valid"),
        (lambda h: h["content"]["fields"].update(classes_={"objects": ["a"]}), "classes must be"),
        (lambda h: h.update(scores=[0.0, 1.0]), "it gives other scores with sparsetoken"),
        (lambda h: h["content"]["fields"].update(intercept_=7.0), "it gives other scores"),
        (
            lambda h: h["content"]["fields"].update(own_={"record": "Sequences", "fields": {}}),
            "unknown record 'Sequences'",
        ),
    ],
)
def test_forged(change, message, tmp_path):
    path = tmp_path / "model.npz"
    st.save(fitted(), path)
    with_header(path, change)
    with pytest.raises(ValueError, match=message):
        st.load(path)


class Bomb:
    def __reduce__(self):
        return (open, ("exploded", "w"))


def test_a_pickle_is_not_executed(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    st.save(fitted(), "model.npz")
    content = entries("model.npz")
    content["coef_"] = np.array([Bomb()], dtype=object)
    np.savez("model.npz", **content)
    with pytest.raises(ValueError, match="not a sparsetoken model"):
        st.load("model.npz")
    assert not (tmp_path / "exploded").exists()


def test_foreign_files(tmp_path):
    with pytest.raises(FileNotFoundError):
        st.load(tmp_path / "missing.npz")
    foreign = tmp_path / "foreign.npz"
    np.savez(foreign, a=np.ones(3))
    with pytest.raises(ValueError, match="not a sparsetoken model"):
        st.load(foreign)
    np.save(tmp_path / "array.npy", np.ones(3))
    with pytest.raises(ValueError, match="not a sparsetoken model"):
        st.load(tmp_path / "array.npy")
    with zipfile.ZipFile(foreign, "w") as archive:
        archive.writestr("header.npy", "nonsense")
    with pytest.raises(ValueError, match="not a sparsetoken model"):
        st.load(foreign)
    foreign.write_text("a,b\n1,2\n")
    with pytest.raises(ValueError, match="not a sparsetoken model"):
        st.load(foreign)


def test_an_unfitted_classifier_is_refused(tmp_path):
    with pytest.raises(NotFittedError):
        st.save(st.PooledClassifier(), tmp_path / "model.npz")
    assert not list(tmp_path.iterdir())


def test_a_failed_write_leaves_the_old_model(tmp_path, monkeypatch):
    path, old = tmp_path / "model.npz", fitted()
    st.save(old, path)
    before = path.read_bytes()

    def full_disk(file, **_):
        file.write(before[:500])
        raise OSError("No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(np, "savez", full_disk)
        with pytest.raises(OSError, match="No space left"):
            st.save(fitted(reg=5.0), path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]
    with pytest.raises(FileNotFoundError):
        st.save(old, tmp_path / "missing" / "model.npz")


@unix
def test_a_replaced_file_keeps_its_mode_and_its_links(tmp_path):
    path, link = tmp_path / "model.npz", tmp_path / "link.npz"
    st.save(fitted(), path)
    path.chmod(0o640)
    link.symlink_to(path)
    st.save(fitted(reg=3.0), link)
    assert link.is_symlink()
    assert path.stat().st_mode & 0o777 == 0o640
    assert st.load(path).reg == 3.0


def refused_cheaply(path, message):
    tracemalloc.start()
    with pytest.raises(ValueError, match=message):
        st.load(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 20 * 2**20


def npy(array):
    buffer = io.BytesIO()
    np.save(buffer, array)
    return buffer.getvalue()


def test_a_bomb_is_not_unpacked(tmp_path):
    path = tmp_path / "model.npz"
    st.save(fitted(), path)
    with zipfile.ZipFile(path, "a", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("bomb.npy", npy(np.zeros(2**25, dtype=np.int8)))
    assert path.stat().st_size < 10**5
    refused_cheaply(path, "its arrays are compressed")


MODELS = Path(__file__).parent / "models"


def test_a_file_of_0_1_is_refused():
    with pytest.raises(ValueError, match=r"version 1, written by sparsetoken 0.1; .*: fit again"):
        st.load(MODELS / "0.1.0-pooled.npz")


def test_whatever_is_learned_is_stored(tmp_path):
    """A new class needs no code here: arrays and records in any nesting."""
    classifier = fitted()
    classifier.heads_ = [{"weight": 0.5, "query": np.arange(3.0)}, {"query": np.ones(2)}]
    classifier.reading_ = {"by": "bag", "features": ["a", "b"], "ignore": [], "group": None}
    classifier.parts_ = {"pooled": [0.25, "mean"], 3: None}
    classifier.found_ = HeadSpec(1.0, None, 0.1)
    classifier.empty_ = np.empty((0, 4), dtype=np.float32)
    classifier.ordered_ = np.asfortranarray(np.arange(6).reshape(2, 3))
    path = tmp_path / "model.npz"
    st.save(classifier, path)
    again = st.load(path)
    assert again.heads_[0]["query"].tolist() == [0.0, 1.0, 2.0]
    assert again.heads_[1]["query"].tolist() == [1.0, 1.0]
    assert again.reading_ == classifier.reading_
    assert again.parts_ == classifier.parts_
    assert again.found_ == classifier.found_
    assert isinstance(again.found_, HeadSpec)
    assert (again.empty_.shape, again.empty_.dtype) == ((0, 4), np.float32)
    assert np.array_equal(again.ordered_, classifier.ordered_)
    classifier.own_ = open
    with pytest.raises(ValueError, match=r"own_ cannot be saved without pickle"):
        st.save(classifier, path)
    assert st.load(path).reading_ == classifier.reading_


def test_what_cannot_be_stored_is_refused(tmp_path):
    with pytest.raises(ValueError, match=r"classifier must be one of .*, got StandardScaler"):
        st.save(StandardScaler(), tmp_path / "model.npz")
    classifier = fitted()
    classifier.loss = Own()
    with pytest.raises(ValueError, match=r"loss cannot be saved: .*built-in loss"):
        st.save(classifier, tmp_path / "model.npz")
