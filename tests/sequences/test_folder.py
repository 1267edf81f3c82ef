"""Sequences in a folder against the same ones in memory."""

import pickle

import numpy as np
import pytest

import sparsetoken as st
from sequences.stored import LENGTHS, NAMES, OFFSETS, TOKENS, X, Y
from sparsetoken.sequences.data import Data

STACKED = {
    "attention": st.AttentionClassifier(random_state=0, cv=2, refine_steps=5),
    "bayes": st.BayesAttentionClassifier(random_state=0),
    "sparse-token": st.SparseTokenClassifier(random_state=0, cv=2, refine_steps=5, n_trees=10),
}


def test_what_is_mapped_is_what_was_written(folder):
    opened = st.Sequences.open(folder)
    assert isinstance(opened.tokens.base, np.memmap)
    assert not opened.tokens.flags.writeable
    assert opened.labels.tolist() == Y.tolist()
    assert opened.feature_names.tolist() == NAMES
    assert opened.lengths.tolist() == LENGTHS.tolist()
    assert np.array_equal(opened.tokens, TOKENS)
    assert np.array_equal(opened[-3], X[-3])
    assert np.array_equal(opened[[7, 2]].tokens, X[[7, 2]].tokens)
    part = opened[100:200][10:30]
    assert np.shares_memory(part.tokens, opened.tokens)
    assert np.array_equal(part.tokens, X[110:130].tokens)
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
        (np.ones((2, 3, 5), np.float32), [0, 1], "like the sequences before, tokens of 4 features"),
        (np.ones((2, 3, 4)), [0, 1], "type float32"),
        (np.ones((2, 3, 4), np.float32), None, "all parts must have labels"),
        (np.ones((2, 3, 4), np.float32), [1], "labels must have one entry per seq"),
        (np.full((1, 1, 4), np.nan, np.float32), [1], "NaN in sequence 0"),
        (st.Sequences(np.ones((1, 4), np.float32), [0, 1], NAMES[:4]), [1], "same names"),
    ):
        with pytest.raises(ValueError, match=message):
            out.add(part, labels)
    with pytest.raises(ValueError, match="no complete sequences"):
        st.Sequences.open(tmp_path / "b")
    out.close()
    assert len(st.Sequences.open(tmp_path / "b")) == 2  # what was refused left nothing behind


@pytest.mark.parametrize("labels", [None, Y])
def test_an_add_that_failed_can_be_repeated(tmp_path, labels):
    """The system lets the file take 1,000 more bytes, as on a disk that is nearly full."""
    resource = pytest.importorskip("resource", reason="limits the size of files")
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)

    def of(low, high):
        return None if labels is None else labels[low:high]

    with st.Sequences.writer(tmp_path / "s") as out:
        out.add(X[:100], of(0, 100))
        size = (tmp_path / "s" / "tokens.npy").stat().st_size
        resource.setrlimit(resource.RLIMIT_FSIZE, (size + 1000, limits[1]))
        try:
            with pytest.raises(OSError, match="File too large"):
                out.add(X[100:300], of(100, 300))
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        out.add(X[100:102], of(100, 102))  # shorter than what was half written
    opened = st.Sequences.open(tmp_path / "s")
    assert np.array_equal(opened.tokens, X[:102].tokens)
    assert labels is None or opened.labels.tolist() == labels[:102].tolist()


def test_one_writer_a_folder(tmp_path):
    with st.Sequences.writer(tmp_path / "s") as out:
        with pytest.raises(ValueError, match="must be empty or not exist"):
            st.Sequences.writer(tmp_path / "s")
        out.add(X[:3])
    assert len(st.Sequences.open(tmp_path / "s")) == 3
    with pytest.raises(ZeroDivisionError), st.Sequences.writer(tmp_path / "t"):
        1 / 0  # noqa: B018
    X[:3].save(tmp_path / "t")  # nothing had been added: the folder is free


def test_a_limit_of_memory_has_no_effect(folder):
    with pytest.warns(FutureWarning, match="memory_limit has no effect"):
        assert len(st.Sequences.open(folder, memory_limit="1 GB")) == 400


def test_a_folder_of_0_3_is_read(tmp_path):
    X.save(tmp_path / "s", Y)
    np.save(tmp_path / "s" / "digests.npy", np.zeros(400, np.uint32))
    header = '{"format": "sparsetoken sequences", "version": 3, "crc32": {"tokens.npy": 1}}'
    (tmp_path / "s" / "sequences.json").write_text(header)
    assert np.array_equal(st.Sequences.open(tmp_path / "s").tokens, TOKENS)


@pytest.mark.parametrize("name", ["tokens.npy", "offsets.npy", "labels.npy", "feature_names.npy"])
def test_files_that_are_too_short_or_do_not_go_together_are_noticed(tmp_path, name):
    X.save(tmp_path / "s", Y)
    path = tmp_path / "s" / name
    content = path.read_bytes()
    for damaged in (content[:-100], content[:40], b"", content.replace(b"}", b"(", 1)):
        path.write_bytes(damaged)
        with pytest.raises(ValueError, match="s is damaged: "):
            st.Sequences.open(tmp_path / "s")
    odd = {"tokens.npy": TOKENS[:50], "feature_names.npy": ["a", "b"]}.get(name, [0, 2])
    np.save(path, odd)
    with pytest.raises(ValueError, match="s is damaged: "):
        st.Sequences.open(tmp_path / "s")


def test_a_folder_without_tokens_is_noticed(tmp_path):
    X[:20].save(tmp_path / "s")
    (tmp_path / "s" / "tokens.npy").unlink()
    with pytest.raises(ValueError, match=r"damaged: .*No such file"):
        st.Sequences.open(tmp_path / "s")


def test_nan_that_was_put_in_is_noticed(tmp_path):
    X.save(tmp_path / "s", Y)
    tokens = np.load(tmp_path / "s" / "tokens.npy")
    tokens[OFFSETS[300] + 2, 3] = np.nan
    np.save(tmp_path / "s" / "tokens.npy", tokens)
    with pytest.raises(ValueError, match="NaN in sequence 300, token 2, feature 'd'"):
        st.PooledClassifier().fit(st.Sequences.open(tmp_path / "s"), Y)


@pytest.mark.parametrize(
    "text",
    [
        "[]",
        "3",
        "{",
        "[" * 10**6,
        '{"format": "other", "version": 4}',
        '{"format": "sparsetoken sequences"}',
    ],
)
def test_a_header_that_is_none(tmp_path, text):
    X[:3].save(tmp_path / "s")
    (tmp_path / "s" / "sequences.json").write_text(text)
    with pytest.raises(ValueError, match=r"not of format version 4: write the sequences again"):
        st.Sequences.open(tmp_path / "s")


@pytest.mark.parametrize("name", ["pooled", "two-step", *STACKED])
def test_a_fit_is_that_in_memory(folder, name):
    two = {"pooled": st.PooledClassifier(), "two-step": st.TwoStepAttentionClassifier()}
    clf = {**STACKED, **two}[name].set_params(**({} if name == "pooled" else {"random_state": 0}))
    scores = clf.fit(X, Y).decision_function(X)
    opened = st.Sequences.open(folder)
    clf.fit(opened, opened.labels)
    assert np.array_equal(clf.decision_function(opened), scores)
    windows = clf.decision_function(opened, window=5)
    assert np.array_equal(windows, clf.decision_function(X, window=5))
    attention = np.concatenate(clf.attention(opened))
    assert attention == pytest.approx(np.concatenate(clf.attention(X)), abs=1e-9)
    assert clf.explain(opened[:5])[0].score == pytest.approx(scores[0], abs=1e-5)


@pytest.mark.parametrize("name", STACKED)
@pytest.mark.parametrize("sequences", [10, 50])
def test_little_memory_changes_nothing(folder, monkeypatch, name, sequences):
    """What may not be copied is passed over as a whole: the choice is made on as many samples."""
    expected = STACKED[name].fit(X, Y).decision_function(X)
    monkeypatch.setattr(Data, "memory_budget", sequences * TOKENS.size // len(Y))
    opened = st.Sequences.open(folder)
    scores = STACKED[name].fit(opened, Y).decision_function(X)
    assert np.abs(scores - expected).max() < 1e-6 * expected.std()


def test_columns_in_another_order(folder, tmp_path):
    clf = st.PooledClassifier().fit(X, Y)
    st.Sequences(TOKENS[:, ::-1], OFFSETS, NAMES[::-1]).save(tmp_path / "reversed")
    backwards = st.Sequences.open(tmp_path / "reversed")
    assert clf.decision_function(backwards) == pytest.approx(clf.decision_function(X), abs=1e-5)


def test_several_classes_and_the_rarest(folder, chosen_on_a_part):
    """A class of five in 400 is in the part that the heads are chosen on."""
    y = np.where(np.arange(400) % 80 == 3, 2, Y)
    opened = st.Sequences.open(folder)
    clf = st.AttentionClassifier(random_state=0, cv=2, refine_steps=3).fit(opened, y)
    assert clf.decision_function(opened).shape == (400, 3)
    assert (clf.reference_.classes == 2).sum() >= 5
    chance = clf.predict_proba(opened).mean(axis=0)
    assert chance[2] < 0.05  # each of the five stands for itself only
    assert clf.diagnose(opened, y).auc["model"] > 0.5
