"""Sequences in a folder against the same ones in memory."""

import pickle

import numpy as np
import pytest

import sparsetoken as st
from sequences.stored import LENGTHS, LIMIT, NAMES, OFFSETS, TOKENS, X, Y

STACKED = [st.AttentionClassifier, st.BayesAttentionClassifier, st.SparseTokenClassifier]


def test_what_is_read_is_what_was_written(folder):
    opened = st.Sequences.open(folder)
    assert len(opened) == 400
    assert opened.labels.tolist() == Y.tolist()
    assert opened.feature_names.tolist() == NAMES
    assert opened.lengths.tolist() == LENGTHS.tolist()
    assert np.array_equal(opened.to_memory().tokens, TOKENS)
    assert np.array_equal(opened[-3], X[-3])
    assert np.array_equal(opened[[7, 2]].tokens, X[[7, 2]].tokens)
    assert np.array_equal(opened[Y == 1].tokens, X[Y == 1].tokens)
    part = opened[100:200][10:30]
    assert isinstance(part, st.estimators.StoredSequences)
    assert np.array_equal(part.to_memory().tokens, X[110:130].tokens)
    assert part.labels.tolist() == Y[110:130].tolist()
    assert len(opened[5:5]) == 0
    assert np.array_equal(np.load(folder / "tokens.npy", mmap_mode="r"), TOKENS)
    again = pickle.loads(pickle.dumps(part))
    assert [len(sequence) for sequence in again] == LENGTHS[110:130].tolist()


def test_parts_of_any_size_make_the_same_folder(folder, tmp_path):
    with st.Sequences.writer(tmp_path / "new") as out:
        for low, high in ((0, 1), (1, 300), (300, 400)):
            out.add(X[low:high], Y[low:high])
    for file in sorted(folder.iterdir()):
        assert (tmp_path / "new" / file.name).read_bytes() == file.read_bytes(), file.name


def test_names_of_sequences_are_kept(tmp_path):
    st.Sequences(np.ones((3, 2)), [0, 1, 3], ids=np.array(["b", "äa"], object)).save(tmp_path / "s")
    assert st.Sequences.open(tmp_path / "s").ids.tolist() == ["b", "äa"]
    assert st.Sequences.open(tmp_path / "s")[1:].ids.tolist() == ["äa"]


def test_a_writer_refuses_what_does_not_go_together(folder, tmp_path):
    with pytest.raises(ValueError, match="one sequence must be added"):
        st.Sequences.writer(tmp_path / "a").close()
    with pytest.raises(ValueError, match="must be empty or not exist"):
        st.Sequences.writer(folder)
    out = st.Sequences.writer(tmp_path / "b")
    out.add(np.ones((2, 3, 4), np.float32), [0, 1])
    for part, labels, message in (
        (np.ones((2, 3, 5), np.float32), [0, 1], "tokens of 4 features"),
        (np.ones((2, 3, 4)), [0, 1], "type float32"),
        (np.ones((2, 3, 4), np.float32), None, "all parts must have labels"),
        (np.ones((2, 3, 4), np.float32), [1], "labels must have shape"),
        (np.full((1, 1, 4), np.nan, np.float32), [1], "NaN in sequence 0"),
        (st.Sequences(np.ones((1, 4), np.float32), [0, 1], NAMES[:4]), [1], "same names"),
    ):
        with pytest.raises(ValueError, match=message):
            out.add(part, labels)
    with pytest.raises(ValueError, match="no complete sequences"):
        st.Sequences.open(tmp_path / "b")
    out.close()
    assert len(st.Sequences.open(tmp_path / "b")) == 2  # what was refused left nothing behind


def full_disk(monkeypatch, out, room):
    """Let the writer's file take ``room`` more bytes, and no others."""

    class Full:
        def __init__(self, file):
            self.file, self.room = file, room

        def write(self, content):
            if self.room == 0:
                raise OSError(28, "No space left on device")
            done = self.file.write(content[: self.room])
            self.room -= done
            return done

        def __getattr__(self, name):
            return getattr(self.file, name)

    monkeypatch.setattr(out, "_file", Full(out._file))


@pytest.mark.parametrize("labels", [None, Y])
def test_an_add_that_failed_can_be_repeated(tmp_path, monkeypatch, labels):
    def of(low, high):
        return None if labels is None else labels[low:high]

    with st.Sequences.writer(tmp_path / "s") as out:
        out.add(X[:100], of(0, 100))
        with monkeypatch.context() as full:
            full_disk(full, out, 1000)
            with pytest.raises(OSError, match="No space"):
                out.add(X[100:300], of(100, 300))
        out.add(X[100:120], of(100, 120))  # shorter than what was half written
    opened = st.Sequences.open(tmp_path / "s")
    assert np.array_equal(opened.to_memory().tokens, X[:120].tokens)
    assert labels is None or opened.labels.tolist() == labels[:120].tolist()


def test_one_writer_a_folder(tmp_path):
    with st.Sequences.writer(tmp_path / "s") as out:
        with pytest.raises(ValueError, match="must be empty or not exist"):
            st.Sequences.writer(tmp_path / "s")
        out.add(X[:3])
    assert len(st.Sequences.open(tmp_path / "s")) == 3
    with pytest.raises(ZeroDivisionError), st.Sequences.writer(tmp_path / "t"):
        1 / 0  # noqa: B018
    X[:3].save(tmp_path / "t")  # nothing had been added: the folder is free


@pytest.mark.parametrize("limit", [0, -5, "1 TB", "many", float("nan"), "-1"])
def test_a_limit_is_a_number_of_bytes(folder, limit):
    with pytest.raises(ValueError, match="memory_limit must be a number of bytes"):
        st.Sequences.open(folder, memory_limit=limit)
    assert st.Sequences.open(folder, memory_limit="1.5 GB").memory_limit == 1_500_000_000


CLASSIFIERS = {
    "pooled": st.PooledClassifier(),
    "two-step": st.TwoStepAttentionClassifier(random_state=0),
    "attention": st.AttentionClassifier(random_state=0, refine_steps=10),
    "sparse-token": st.SparseTokenClassifier(random_state=0, refine_steps=10),
}


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_a_fit_is_that_in_memory(folder, small_blocks, name):
    clf = CLASSIFIERS[name]
    clf.fit(X, Y)
    wanted, chances = clf.decision_function(X), clf.predict_proba(X)
    opened = st.Sequences.open(folder, LIMIT)
    clf.fit(opened, opened.labels)
    near = 1e-9
    assert clf.decision_function(opened) == pytest.approx(wanted, abs=near)
    assert clf.predict_proba(opened) == pytest.approx(chances, abs=near)
    assert clf.score(opened, Y) > 0.65
    if hasattr(clf, "attention"):
        found = np.concatenate(clf.attention(opened))
        assert found == pytest.approx(np.concatenate(clf.attention(X)), abs=near)
        assert clf.explain(opened[:5])[0].score == pytest.approx(wanted[0], abs=1e-5)
        with pytest.raises(ValueError, match="explain needs X in memory"):
            clf.explain(opened)
    if hasattr(clf, "threshold"):
        windows = clf.decision_function(opened, window=5)
        assert windows == pytest.approx(clf.decision_function(X, window=5), abs=near)


def test_columns_in_another_order(folder, tmp_path, small_blocks):
    clf = st.PooledClassifier().fit(X, Y)
    st.Sequences(TOKENS[:, ::-1], OFFSETS, NAMES[::-1]).save(tmp_path / "turned")
    turned = st.Sequences.open(tmp_path / "turned", LIMIT)
    assert clf.decision_function(turned) == pytest.approx(clf.decision_function(X), abs=1e-5)


def test_a_part_that_fits_is_simply_read(folder):
    opened = st.Sequences.open(folder)
    clf = st.AttentionClassifier(random_state=0, refine_steps=3).fit(opened, Y)
    here = st.AttentionClassifier(random_state=0, refine_steps=3).fit(X, Y)
    assert np.array_equal(clf.decision_function(opened), here.decision_function(X))
    assert clf.n_passes_ == here.n_passes_
    assert "separ" not in str(clf.diagnose(opened, Y))


def test_several_classes_and_the_rarest(folder, small_blocks):
    """A class of five in 400 is in the part that the heads are chosen on."""
    y = np.where(np.arange(400) % 80 == 3, 2, Y)
    opened = st.Sequences.open(folder, LIMIT)
    clf = st.AttentionClassifier(random_state=0, refine_steps=3).fit(opened, y)
    assert clf.decision_function(opened).shape == (400, 3)
    assert (clf.reference_.classes == 2).sum() >= 5
    chance = clf.predict_proba(opened).mean(axis=0)
    assert chance[2] < 0.05  # each of the five stands for itself only
    with pytest.raises(ValueError, match="label must be given"):
        clf.attention(opened)
    assert clf.diagnose(opened, y).auc["model"] > 0.5


@pytest.mark.parametrize("kind", STACKED)
@pytest.mark.parametrize("room", [10, 50])
def test_little_memory_changes_nothing(folder, kind, room):
    """What does not fit is passed over in the folder: the choice is made on as many samples."""
    options = {"random_state": 0}
    options |= {} if kind is st.BayesAttentionClassifier else {"refine_steps": 10}
    options |= {"n_trees": 20} if kind is st.SparseTokenClassifier else {}
    expected = kind(**options).fit(X, Y).decision_function(X)
    limit = int(room * TOKENS.nbytes / len(Y) * 2)  # half of it is kept for what comes of it
    opened = st.Sequences.open(folder, limit)
    scores = kind(**options).fit(opened, Y).decision_function(X)
    assert np.abs(scores - expected).max() < 1e-6 * expected.std()


def test_vectorized_predicts_only(tmp_path):
    array, labels = TOKENS[:4000].reshape(400, 10, 6), Y
    st.Sequences(TOKENS[:4000], np.arange(401) * 10).save(tmp_path / "s")
    opened = st.Sequences.open(tmp_path / "s", LIMIT)
    clf = st.VectorizedClassifier().fit(array, labels)
    assert clf.decision_function(opened) == pytest.approx(clf.decision_function(array))
    with pytest.raises(ValueError, match="can predict but not fit"):
        st.VectorizedClassifier().fit(opened, labels)
