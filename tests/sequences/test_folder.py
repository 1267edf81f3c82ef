"""Sequences in a folder against the same ones in memory."""

import json
import pickle

import numpy as np
import pytest

import sparsetoken as st
from sequences.stored import LENGTHS, LIMIT, NAMES, OFFSETS, TOKENS, X, Y
from sparsetoken.sequences.data import StoredData
from sparsetoken.sequences.passes import pooled_features

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
    assert np.array_equal(opened.to_memory().tokens, X[:102].tokens)
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


def flipped(content, place):
    return content[:place] + bytes([content[place] ^ 16]) + content[place + 1 :]


FILES = [
    "tokens.npy",
    "offsets.npy",
    "labels.npy",
    "digests.npy",
    "feature_names.npy",
    "sequences.json",
]


@pytest.mark.parametrize("name", FILES)
def test_flipped_bits_are_noticed(tmp_path, small_blocks, name):
    X.save(tmp_path / "s", Y)
    path = tmp_path / "s" / name
    content = path.read_bytes()
    head = range(12, 64, 7) if name == "tokens.npy" else range(0, 64, 9)
    for place in [*head, *np.linspace(64, len(content) - 1, 8).astype(int)]:
        path.write_bytes(flipped(content, place))
        with pytest.raises(ValueError, match="damaged"):
            StoredData(st.Sequences.open(tmp_path / "s", LIMIT)).per_sample(pooled_features)
    path.write_bytes(content)
    assert len(st.Sequences.open(tmp_path / "s").to_memory()) == 400


def test_tokens_of_the_other_byte_order_are_noticed(tmp_path):
    """The head alone is changed, by one bit: every token has the bytes of before."""
    X.save(tmp_path / "s")
    path = tmp_path / "s" / "tokens.npy"
    path.write_bytes(path.read_bytes().replace(b"<f4", b">f4", 1))
    with pytest.raises(ValueError, match=r"damaged: tokens.npy has changed since it was written"):
        st.Sequences.open(tmp_path / "s")


def test_what_is_changed_while_it_is_read_is_noticed(tmp_path):
    X.save(tmp_path / "s", Y)
    opened = st.Sequences.open(tmp_path / "s", LIMIT)
    path = tmp_path / "s" / "tokens.npy"
    path.write_bytes(flipped(path.read_bytes(), -5000))
    row = np.searchsorted(OFFSETS * 24, OFFSETS[-1] * 24 - 5000, side="right") - 1
    for read in (lambda: opened[int(row)], lambda: opened[[3, row]], opened.to_memory):
        with pytest.raises(ValueError, match="damaged, or was changed since it was written"):
            read()
    assert np.array_equal(opened[[3, int(row) - 1]].tokens, X[[3, int(row) - 1]].tokens)


def test_nan_that_was_put_in_is_noticed(tmp_path):
    X.save(tmp_path / "s", Y)
    tokens = np.load(tmp_path / "s" / "tokens.npy")
    tokens[OFFSETS[300] + 2, 3] = np.nan
    np.save(tmp_path / "s" / "tokens.npy", tokens)
    with pytest.raises(ValueError, match=r"damaged"):
        st.PooledClassifier().fit(st.Sequences.open(tmp_path / "s", LIMIT), Y)


def test_files_that_are_too_short_or_missing_are_noticed(tmp_path):
    X[:20].save(tmp_path / "s")
    tokens = tmp_path / "s" / "tokens.npy"
    opened = st.Sequences.open(tmp_path / "s")
    tokens.write_bytes(tokens.read_bytes()[:-100])
    with pytest.raises(ValueError, match="shorter than it was"):
        opened.to_memory()
    with pytest.raises(ValueError, match="mmap length"):
        st.Sequences.open(tmp_path / "s")
    tokens.unlink()
    with pytest.raises(ValueError, match=r"damaged: .*No such file"):
        st.Sequences.open(tmp_path / "s")


@pytest.mark.parametrize(
    "text",
    [
        "[]",
        "3",
        "null",
        "{",
        '{"format": "other", "version": 3}',
        '{"format": "sparsetoken sequences", "version": 1, "feature_names": null}',
        '{"format": "sparsetoken sequences", "version": 2, "feature_names": null, "files": {}}',
        '{"format": "sparsetoken sequences", "version": [3], "crc32": {}}',
    ],
)
def test_a_header_that_is_none_and_those_of_older_versions(tmp_path, text):
    X[:3].save(tmp_path / "s")
    (tmp_path / "s" / "sequences.json").write_text(text)
    with pytest.raises(ValueError, match=r"not of format version 3: write the sequences again"):
        st.Sequences.open(tmp_path / "s")


@pytest.mark.parametrize("listed", [{}, [], None, {"offsets.npy": 0}, {"tokens.npy": "x"}])
def test_a_header_that_does_not_list_the_files(tmp_path, listed):
    X[:3].save(tmp_path / "s")
    header = {"format": "sparsetoken sequences", "version": 3, "crc32": listed}
    (tmp_path / "s" / "sequences.json").write_text(json.dumps(header))
    with pytest.raises(ValueError, match="is damaged"):
        st.Sequences.open(tmp_path / "s")


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
    scores, probabilities = clf.decision_function(X), clf.predict_proba(X)
    opened = st.Sequences.open(folder, LIMIT)
    clf.fit(opened, opened.labels)
    near = 1e-9
    assert clf.decision_function(opened) == pytest.approx(scores, abs=near)
    assert clf.predict_proba(opened) == pytest.approx(probabilities, abs=near)
    assert clf.score(opened, Y) > 0.65
    if hasattr(clf, "attention"):
        attention = np.concatenate(clf.attention(opened))
        assert attention == pytest.approx(np.concatenate(clf.attention(X)), abs=near)
        assert clf.explain(opened[:5])[0].score == pytest.approx(scores[0], abs=1e-5)
        with pytest.raises(ValueError, match="explain needs X in memory"):
            clf.explain(opened)
    if hasattr(clf, "threshold"):
        windows = clf.decision_function(opened, window=5)
        assert windows == pytest.approx(clf.decision_function(X, window=5), abs=near)


def test_columns_in_another_order(folder, tmp_path, small_blocks):
    clf = st.PooledClassifier().fit(X, Y)
    st.Sequences(TOKENS[:, ::-1], OFFSETS, NAMES[::-1]).save(tmp_path / "reversed")
    backwards = st.Sequences.open(tmp_path / "reversed", LIMIT)
    assert clf.decision_function(backwards) == pytest.approx(clf.decision_function(X), abs=1e-5)


def test_a_part_that_fits_is_simply_read(folder):
    opened = st.Sequences.open(folder)
    clf = st.AttentionClassifier(random_state=0, refine_steps=3).fit(opened, Y)
    in_memory = st.AttentionClassifier(random_state=0, refine_steps=3).fit(X, Y)
    assert np.array_equal(clf.decision_function(opened), in_memory.decision_function(X))
    assert clf.n_passes_ == in_memory.n_passes_
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
