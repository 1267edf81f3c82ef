"""Rows grouped into sequences, and labels matched to them."""

import numpy as np
import pytest

from sparsetoken import Sequences
from sparsetoken.sequences.grouping import align_labels


def test_a_label_among_the_features_is_refused():
    pandas = pytest.importorskip("pandas", reason="a frame of pandas")
    rng = np.random.default_rng(0)
    bag = np.repeat(np.arange(8), 3)
    df = pandas.DataFrame({"bag": bag, "x": rng.standard_normal(24), "ill": bag % 2, "unit": 1.0})
    df["rare"] = (bag == 5).astype(int)  # constant in each sequence too, but only one has it
    with pytest.raises(ValueError, match="column 'ill' has one value in each sequence"):
        Sequences.from_frame(df, by="bag")
    assert Sequences.from_frame(df, by="bag", ignore=["ill"]).dim == 3
    assert Sequences.from_frame(df, by="bag", features=["x", "ill"]).dim == 2


def test_a_row_without_a_time_names_no_sequence():
    bag = np.array(["2020-01-01", "NaT"], dtype="datetime64[s]")
    with pytest.raises(ValueError, match="bag must name the sequence of each row, row 1 has none"):
        Sequences.from_stacked(np.ones((2, 1)), bag)


def test_labels_are_matched_by_the_names_of_sequences():
    pandas = pytest.importorskip("pandas", reason="a Series has an index")
    X = Sequences(np.ones((3, 2)), [0, 1, 2, 3], ids=["b", "a", "c"])
    named = pandas.Series({"a": 0, "b": 1, "c": 2})
    assert align_labels(X, named).tolist() == [1, 0, 2]
    assert align_labels(X, named[["b", "a", "c"]]).tolist() == [1, 0, 2]
    assert align_labels(X, pandas.Series([5, 6, 7])).tolist() == [5, 6, 7]
    assert align_labels(X, pandas.Series([5, 6, 7], index=[9, 3, 1])).tolist() == [5, 6, 7]
    assert align_labels(X, [5, 6, 7]) == [5, 6, 7]
    with pytest.raises(ValueError, match=r"y is indexed .* none for sequence 'c'; .*y.to_numpy"):
        align_labels(X, named.rename({"c": "d"}))
    numbered = Sequences(np.ones((3, 2)), [0, 1, 2, 3], ids=[2, 0, 1])
    grouped = pandas.Series([5, 6, 7], index=pandas.Index([0, 1, 2], name="bag"))
    assert align_labels(numbered, grouped).tolist() == [7, 5, 6]
    assert align_labels(numbered, pandas.Series([5, 6, 7])).tolist() == [5, 6, 7]
    assert align_labels(Sequences(np.ones((3, 2)), [0, 1, 2, 3]), named) is named
