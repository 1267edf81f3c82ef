import json
import zipfile

import numpy as np
import pytest
from sklearn.preprocessing import StandardScaler

import sparsetoken as st
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
    ],
    ids=["pooled", "vectorized", "two-step", "two-step with a seed"],
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


def test_edited(tmp_path):
    path = tmp_path / "model.npz"
    st.save(fitted(), path)
    content = entries(path)
    content["PooledClassifier.coef_"] = content["PooledClassifier.coef_"] + 1.0
    np.savez(path, **content)
    with pytest.raises(ValueError, match="damaged or was edited"):
        st.load(path)


def with_header(path, change):
    """Rewrite the header with a digest that matches: what a determined forger would do."""
    from sparsetoken.estimators.storage import _digest

    content = entries(path)
    header = json.loads(str(content["header"]))
    change(header)
    content["header"] = np.array(json.dumps(header))
    del content["digest"]
    np.savez(path, **content, digest=np.array(_digest(content)))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda h: h.update(version=2), "format version 2, this sparsetoken reads version 1"),
        (lambda h: h.update(format="other"), "is not a sparsetoken model"),
        (lambda h: h["content"].update(estimator="Popen"), "unknown class 'Popen'"),
        (lambda h: h["content"]["parameters"].update(shell=True), "not a valid sparsetoken model"),
        (lambda h: h["content"]["learned"].update(predict=1), "attribute 'predict'"),
        (lambda h: h["content"]["learned"].update(__class__=1), "attribute '__class__'"),
        (lambda h: h["content"]["learned"].update(coef_={"array": "x"}), "not a valid"),
        (lambda h: h.pop("content"), "not a valid sparsetoken model"),
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
    content["PooledClassifier.coef_"] = np.array([Bomb()], dtype=object)
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


def test_what_cannot_be_stored_is_refused(tmp_path):
    with pytest.raises(ValueError, match=r"classifier must be one of .*, got StandardScaler"):
        st.save(StandardScaler(), tmp_path / "model.npz")
    classifier = fitted()
    classifier.loss = Own()
    with pytest.raises(ValueError, match=r"PooledClassifier.loss cannot be saved: .*built-in loss"):
        st.save(classifier, tmp_path / "model.npz")
