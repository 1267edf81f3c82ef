"""The container: indexing, grouping, selecting."""

import numpy as np
import pandas
import polars
import pyarrow
import pytest
from sklearn.utils import _safe_indexing

import sparsetoken as st
from sequences.small import frame, ragged
from sparsetoken import Sequences
from sparsetoken.sequences.checks import (
    EmptySequenceWarning,
)
from sparsetoken.sequences.sequences import as_sequences


@pytest.mark.parametrize(
    "key",
    [
        slice(1, 3),
        slice(None),
        slice(None, None, -1),
        slice(2, 2),
        [2, 0, 2],
        np.array([], dtype=int),
        np.array([True, False, True, False]),
        np.array([-1, 0]),
        range(2),
    ],
    ids=str,
)
def test_indexing_is_that_of_a_list(key):
    parts = ragged()
    selected = Sequences.from_list(parts)[key]
    expected = [parts[i] for i in np.arange(4)[key]]
    assert isinstance(selected, Sequences)
    assert len(selected) == len(expected)
    assert selected.shape == (len(expected),)
    for a, b in zip(selected, expected, strict=True):
        assert np.array_equal(a, b)


def test_one_sequence_and_slices_copy_nothing():
    X = Sequences.from_list(ragged())
    assert np.array_equal(X[-1], ragged()[-1])
    for view in (X[2], X[1:3].tokens):
        assert np.shares_memory(view, X.tokens)
    with pytest.raises(IndexError):
        X[4]
    with pytest.raises(IndexError, match="one index over the sequences"):
        X[np.array([[0, 1]])]


def test_scikit_learn_can_index():
    parts = ragged()
    selected = _safe_indexing(Sequences.from_list(parts), np.array([3, 1]))
    assert [len(part) for part in selected] == [2, 1]


@pytest.mark.parametrize(
    ("tokens", "offsets", "message"),
    [
        (np.ones(3), [0, 3], "tokens must have shape"),
        (np.ones((3, 1)), [0.0, 3.0], "offsets must be a one-dimensional array of int"),
        (np.ones((3, 1)), [0, 2], "from 0 to the number of tokens, 3"),
        (np.ones((3, 1)), [1, 3], "from 0 to the number of tokens, 3"),
        (np.ones((3, 1)), [0, 2, 1, 3], "must not decrease"),
        (np.ones((3, 1)), np.array([0, 2000, 3], np.uint64), "must not decrease"),
    ],
)
def test_bad_offsets(tokens, offsets, message):
    with pytest.raises(ValueError, match=message):
        Sequences(tokens, offsets)


def test_what_it_prints():
    X = Sequences.from_list(ragged())
    shown = "Sequences(n_sequences=4, total_tokens=10, dim=5, lengths=1…4, dtype=float64"
    assert repr(X) == f"{shown})"
    named = Sequences(X.tokens, X.offsets, feature_names=list("abcde"), ids=["p", "q", "r", "s"])
    assert repr(named) == f"{shown}, features=[a, b, c, …], ids=[p, q, r, …])"
    assert repr(X[:0]) == "Sequences(n_sequences=0, total_tokens=0, dim=5, dtype=float64)"


@pytest.mark.parametrize("kind", ["pandas", "polars", "pyarrow"])
def test_frames_are_grouped_in_order_of_appearance(kind):
    df = frame(kind)
    X = Sequences.from_frame(df, by="bag", ignore="ill")
    assert X.ids.tolist() == ["b", "a", "c"]
    assert X.feature_names.tolist() == ["x", "count"]
    assert [part.tolist() for part in X] == [[[1, 1], [3, 3]], [[2, 2], [5, 5]], [[4, 4]]]
    for features in (["count"], "count"):
        selected = Sequences.from_frame(df, by="bag", features=features)
        assert selected.feature_names.tolist() == ["count"]
    part = X[[2, 0]]
    assert (part.ids.tolist(), part.feature_names.tolist()) == (["c", "b"], ["x", "count"])
    with pytest.raises(
        ValueError, match="the frame: there is no 'bags'; the nearest names are 'bag'"
    ):
        Sequences.from_frame(df, by="bags")


@pytest.mark.parametrize("kind", ["pandas", "polars", "arrow"])
def test_a_frame_gives_labels_and_groups_too(kind):
    df = frame(kind, site=["p", "q", "p", "p", "q"])
    X, y, groups = Sequences.from_frame(df, by="bag", label="ill", groups="site")
    assert X.feature_names.tolist() == ["x", "count"]
    assert (y.tolist(), groups.tolist()) == ([1, 0, 0], ["p", "q", "p"])
    X, groups = Sequences.from_frame(df, by="bag", ignore="ill", groups="site")
    assert (X.dim, groups.tolist()) == (2, ["p", "q", "p"])
    with pytest.raises(ValueError, match="row 2 has 0, but 1 before in sequence 'b'"):
        Sequences.from_frame(frame(kind, ill=[1, 0, 0, 0, 0]), by="bag", label="ill")


def test_the_index_of_a_frame_may_name_sequences():
    df = frame("pandas").set_index("bag")
    X, y = Sequences.from_frame(df, by="bag", label="ill")
    assert (X.ids.tolist(), y.tolist()) == (["b", "a", "c"], [1, 0, 0])


@pytest.mark.parametrize("indexed", [False, True])
def test_a_table_of_tokens_passed_to_fit_says_how_to_group_it(indexed):
    df = frame("pandas").set_index("bag") if indexed else frame("pandas")
    with pytest.raises(ValueError, match=r"X, y = Sequences.from_frame\(df, by='bag', label=...\)"):
        st.PooledClassifier().fit(df, df["ill"])


@pytest.mark.parametrize(
    "bag",
    [
        lambda: pandas.array(["a", None, "a"], "string"),
        lambda: pandas.array([1, None, 1], "Int64"),
        lambda: pandas.Categorical(["a", None, "a"]),
        lambda: pyarrow.array(["a", None, "a"]),
        lambda: pyarrow.array(["a", None, "a"]).dictionary_encode(),
        lambda: polars.Series(["a", None, "a"], dtype=polars.Categorical),
    ],
    ids=["string", "Int64", "categorical", "Arrow", "Arrow dictionary", "polars"],
)
def test_a_missing_name_is_never_another(bag):
    """Arrow fills the gaps of a dictionary with its first entry; NA has no truth value."""
    with pytest.raises(ValueError, match="bag must name the sequence of each row, row 1 has none"):
        Sequences.from_stacked(np.ones((3, 2)), bag())


def test_a_missing_number_of_a_dictionary_is_missing():
    numbers = pyarrow.array([5.0, None, 7.0]).dictionary_encode()
    X = Sequences.from_frame(pyarrow.table({"bag": [1, 1, 2], "x": numbers}), "bag")
    assert np.array_equal(X.tokens, [[5.0], [np.nan], [7.0]], equal_nan=True)


def test_frames_say_what_is_wrong():
    df = frame("pandas", site=list("uvwxy"), n=[1, 2, 3, 4, 5])
    with pytest.raises(ValueError, match="column 'site' of X must hold numbers"):
        Sequences.from_frame(df, by="bag")
    with pytest.raises(ValueError, match="two columns named 'x'"):
        Sequences.from_frame(df[["bag", "x", "x"]], by="bag")
    with pytest.raises(ValueError, match="frame must be a table"):
        Sequences.from_frame([1], by="bag")
    with pytest.raises(ValueError, match=r"row 2 has 3\.0, but 1\.0 before in sequence 'b'"):
        Sequences.from_frame(df, by="bag", features="n", label="x")
    missing = frame("pandas", bag=["b", None, "b", "c", "a"])
    with pytest.raises(ValueError, match="bag must name the sequence of each row, row 1 has none"):
        Sequences.from_frame(missing, by="bag", ignore="ill")
    empty_cell = frame("pandas", x=[1.0, 2.0, None, 4.0, 5.0])
    with pytest.raises(ValueError, match="NaN in sequence 'b', token 1, feature 'x'"):
        as_sequences(Sequences.from_frame(empty_cell, by="bag", ignore="ill"))


def test_stacked_tokens():
    tokens = np.arange(10.0).reshape(5, 2)
    X = Sequences.from_stacked(tokens, [7, 3, 7, 9, 3])
    assert X.ids.tolist() == [7, 3, 9]
    assert X[0].tolist() == [[0, 1], [4, 5]]
    together = Sequences.from_stacked(tokens, ["z", "z", "a", "a", "b"])
    assert together.ids.tolist() == ["z", "a", "b"]
    assert np.shares_memory(together.tokens, tokens)
    assert np.shares_memory(Sequences.from_offsets(tokens, [0, 2, 5]).tokens, tokens)
    with pytest.raises(ValueError, match=r"tokens must have shape \(3, dim\)"):
        Sequences.from_stacked(tokens, [1, 1, 2])
    with pytest.raises(ValueError, match="names of one type"):
        Sequences.from_stacked(tokens, np.array([1, "a", 2, "b", 3], dtype=object))


def test_tokens_are_selected_by_position_or_mask():
    X = Sequences(np.arange(20.0).reshape(10, 2), [0, 3, 4, 8, 10], ["a", "b"], list("pqrs"))
    last = X.select(slice(-2, None))
    assert last.lengths.tolist() == [2, 1, 2, 2]
    assert [part.tolist() for part in last] == [part[-2:].tolist() for part in X]
    assert (last.ids.tolist(), last.feature_names.tolist()) == (list("pqrs"), ["a", "b"])
    role = np.array(list("uauuaauuua"))
    selected = X.select(role == "u")
    assert np.array_equal(selected.tokens, X.tokens[role == "u"])
    assert selected.lengths.tolist() == [2, 1, 2, 1]
    ragged_mask = np.split(role == "u", [3, 4, 8])
    assert np.array_equal(X.select(ragged_mask).tokens, selected.tokens)
    dense = Sequences(np.arange(12.0).reshape(6, 2), [0, 3, 6])
    assert dense.select(np.array([[1, 0, 0], [0, 1, 1]], bool)).lengths.tolist() == [1, 2]
    with pytest.warns(EmptySequenceWarning, match="tokens leaves 1 of 4 sequences"):
        assert X.select(slice(1, None)).lengths.tolist() == [2, 0, 3, 1]
    for wrong in ([True] * 9, np.arange(10), ragged_mask[::-1], np.ones((5, 2), bool)):
        with pytest.raises(ValueError, match=r"tokens (must|has)"):
            X.select(wrong)


def test_concatenation():
    X = Sequences.from_frame(frame("pandas"), by="bag", features=["x", "count"])
    other = Sequences.from_frame(frame("pandas"), by="bag", features=["count", "x"])
    both = Sequences.concatenate([X, other[1:]])
    assert both.ids.tolist() == ["b", "a", "c", "a", "c"]
    assert np.array_equal(both[1], both[3])
    plain = Sequences(X.tokens, X.offsets, X.feature_names)
    assert Sequences.concatenate([X, plain]).ids is None
    with pytest.raises(ValueError, match="part 1 of X has no names"):
        Sequences.concatenate([X, Sequences(X.tokens, X.offsets)])
    with pytest.raises(ValueError, match="at least one"):
        Sequences.concatenate([])
