"""Whatever holds sequences, and what is wrong with it."""

import warnings

import numpy as np
import polars
import pytest

import sparsetoken as st
from sequences.small import LENGTHS, frame, ragged
from sparsetoken import Sequences
from sparsetoken.sequences.checks import (
    EmptySequenceWarning,
    OneTokenWarning,
)
from sparsetoken.sequences.sequences import as_sequences


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_arrays_become_sequences_without_a_copy(dtype):
    X = np.random.default_rng(0).standard_normal((6, 3, 2)).astype(dtype)
    X.flags.writeable = False
    sequences = as_sequences(X)
    assert np.shares_memory(sequences.tokens, X)
    assert sequences.dtype == dtype
    assert sequences.lengths.tolist() == [3] * 6
    assert np.array_equal(sequences[4], X[4])
    with pytest.warns(OneTokenWarning, match="each of the 6 rows of X was taken as a sequence"):
        single = as_sequences(X[:, 0])
    assert single.lengths.tolist() == [1] * 6
    assert np.array_equal(single.tokens, X[:, 0])


def test_every_form_of_the_same_data():
    parts = ragged()
    as_objects = np.empty(4, dtype=object)
    as_objects[:] = parts
    expected = np.concatenate(parts)
    for X in (
        parts,
        tuple(parts),
        as_objects,
        Sequences.from_list(parts),
        [p.tolist() for p in parts],
    ):
        sequences = as_sequences(X)
        assert np.array_equal(sequences.tokens, expected)
        assert sequences.lengths.tolist() == LENGTHS


def test_types_of_the_tokens():
    assert Sequences.from_list(ragged(np.float32)).dtype == np.float32
    assert Sequences.from_list([ragged(np.float32)[0], ragged()[1]]).dtype == np.float64
    assert Sequences.from_list([np.ones((2, 3), dtype=int)]).dtype == np.float64
    assert as_sequences(np.ones((2, 3, 1), dtype=np.int8)).dtype == np.float64
    assert as_sequences(np.ones((2, 3, 1), dtype=np.float16)).dtype == np.float32


def test_strided_arrays():
    X = np.random.default_rng(0).standard_normal((8, 6, 4))
    strided = np.asfortranarray(X)[::2, ::-1, ::2]
    sequences = as_sequences(strided)
    assert sequences.tokens.flags.c_contiguous
    assert np.array_equal(sequences[1], X[2, ::-1, ::2])


@pytest.mark.parametrize(
    ("X", "message"),
    [
        ([], "X must hold at least one sequence"),
        (np.empty((0, 3, 2)), "X must hold at least one sequence"),
        ([np.ones((2, 3)), np.ones((0, 3))], "sequence 1 of X has no tokens"),
        (np.empty((3, 0, 2)), "sequence 0 of X has no tokens"),
        (np.empty((3, 2, 0)), "at least one feature"),
        ([np.ones((2, 3)), np.ones((2, 4))], "sequence 1 of X has tokens of dimension 4, .* 3"),
        ([np.ones((2, 3)), np.ones(3)], r"sequence 1 of X must have shape \(length, dim\)"),
        ([np.ones(3), np.ones(2)], "rows of unequal shape"),
        (np.ones((2, 2, 2, 2)), r"shape \(n, L, d\)"),
        (np.ones(4), "Reshape your data"),
        ("tokens", "got str"),
        (7, "got int"),
        ([["a", "b"], ["c", "d"]], "X must hold numbers"),
        ([np.array([["a"]])], "sequence 0 of X must hold numbers"),
        ([np.ones((1, 1), dtype=complex)], "Complex data not supported"),
        (np.ones((2, 2, 2), dtype="datetime64[s]"), "must hold numbers"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_is_wrong_is_said(X, message):
    with pytest.raises(ValueError, match=message):
        as_sequences(X)


@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_lists_of_frames_are_matched_by_name(kind):
    df = frame(kind)
    first, other = df[["x", "count"]], df[["count", "x"]]
    X = as_sequences([first, other])
    assert X.feature_names.tolist() == ["x", "count"]
    assert np.array_equal(X[0], X[1])
    with pytest.raises(ValueError, match="sequence 1 of X lacks the feature 'count', unlike seq"):
        as_sequences([first, df[["x"]]])
    with pytest.raises(
        ValueError, match="sequence 1 of X has the feature 'ill', unlike sequence 0"
    ):
        as_sequences([first, df[["x", "count", "ill"]]])
    with pytest.raises(ValueError, match="sequence 1 of X has no names of features, but others"):
        as_sequences([first, np.ones((2, 2))])


def test_a_frame_without_a_grouping_is_one_token_a_row_and_says_so():
    df = frame("pandas")[["x", "count"]]
    with pytest.warns(OneTokenWarning, match="each of the 5 rows"):
        X = as_sequences(df)
    assert X.feature_names.tolist() == ["x", "count"]
    assert X.lengths.tolist() == [1] * 5
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(as_sequences(df.to_numpy()[:, None])) == 5
    assert as_sequences(df.set_axis([0, 1], axis=1)).feature_names is None  # numbered columns


def test_padding_is_left_out():
    padded = np.arange(24.0, dtype=np.float32).reshape(2, 4, 3)
    mask = np.array([[0, 1, 1, 0], [1, 1, 1, 1]])
    for form in (mask, mask.astype(bool), mask.tolist()):
        X = Sequences.from_padded(padded, form)
        assert X.dtype == np.float32
        assert np.array_equal(X[0], padded[0, 1:3])
        assert np.array_equal(X[1], padded[1])
    masked_array = np.ma.MaskedArray(padded, mask=np.repeat(mask[..., None] == 0, 3, axis=2))
    assert Sequences.from_padded(masked_array).lengths.tolist() == [2, 4]
    masked_array[1, 1, 1] = np.ma.masked
    with pytest.raises(ValueError, match="some features masked"):
        Sequences.from_padded(masked_array)
    for wrong in (mask[:, :3], mask + 1):
        with pytest.raises(ValueError, match=r"mask must hold True or False of shape \(2, 4\)"):
            Sequences.from_padded(padded, wrong)
    with pytest.raises(ValueError, match="mask must say"):
        Sequences.from_padded(padded)


def test_a_mask_that_leaves_nothing_is_said():
    padded, mask = np.ones((3, 2, 2)), np.array([[1, 1], [1, 0], [1, 1]])
    with pytest.warns(EmptySequenceWarning, match="mask leaves 2 of 3 sequences without .* ~mask"):
        assert Sequences.from_padded(padded, 1 - mask).lengths.tolist() == [0, 1, 0]


def test_masked_values_are_never_used():
    array = np.ma.MaskedArray(np.ones((2, 2, 2)), mask=False)
    assert as_sequences(array).dim == 2  # nothing is masked
    array[1, 0, 0] = np.ma.masked
    for X in (array, [array[0], array[1]], array[:, 0]):
        with pytest.raises(ValueError, match="masked values"):
            as_sequences(X)
        with pytest.raises(ValueError, match="masked values"):
            st.PooledClassifier().fit(X, [0, 1])


NESTED = [[[1.0, 2.0], [3.0, 4.0]], [[5.0, 6.0]]]


def arrow_column():
    pyarrow = pytest.importorskip("pyarrow", reason="a column of Arrow")
    return pyarrow.array([[[9.0, 9.0]], *NESTED])[1:]  # its buffers hold more than it does


def arrow_chunks():
    pyarrow = pytest.importorskip("pyarrow", reason="a column of Arrow")
    kind = pyarrow.list_(pyarrow.list_(pyarrow.float32(), 2))
    return pyarrow.chunked_array([pyarrow.array([part], type=kind) for part in NESTED])


def polars_series():
    return polars.Series(NESTED)


def pandas_series():
    pandas = pytest.importorskip("pandas", reason="a column of pandas")
    column = arrow_column()
    return pandas.Series(column.to_pylist(), dtype=pandas.ArrowDtype(column.type))


def pandas_objects():
    pandas = pytest.importorskip("pandas", reason="a column of pandas")
    return pandas.Series([np.array(part) for part in NESTED], index=["p", "q"])


def awkward_array():
    return pytest.importorskip("awkward", reason="awkward is not installed").Array(NESTED)


@pytest.mark.parametrize(
    "make",
    [arrow_column, arrow_chunks, polars_series, pandas_series, pandas_objects, awkward_array],
)
def test_columns_of_lists(make):
    X = as_sequences(make())
    assert [part.tolist() for part in X] == NESTED
    assert X.dtype == (np.float32 if make is arrow_chunks else np.float64)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([[1.0, 2.0], [3.0]], "column of lists of tokens, got list"),
        ([1.0, 2.0], "column of lists of tokens, got double"),
        ([[[1.0, 2.0]], None], "sequence 1 of X is missing"),
        ([[[1.0, 2.0], [3.0]]], "token 1 of X has 1 features, token 0 has 2"),
        ([[[1.0, None]]], "NaN in sequence 0, token 0, feature 1"),
    ],
)
def test_columns_that_hold_no_tokens(values, message):
    pyarrow = pytest.importorskip("pyarrow", reason="a column of Arrow")
    with pytest.raises(ValueError, match=message):
        as_sequences(pyarrow.array(values))


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "bfloat16", "int64"])
def test_tensors(dtype):
    torch = pytest.importorskip("torch", reason="torch is not installed")
    values = torch.arange(12).reshape(2, 3, 2).to(getattr(torch, dtype))
    if values.is_floating_point():
        values.requires_grad_()
    for X in (as_sequences(values), as_sequences([values[0], values[1]])):
        expected = np.float64 if dtype in ("float64", "int64") else np.float32
        assert X.dtype == expected
        assert np.array_equal(X.tokens, np.arange(12).reshape(6, 2))


class OnlyDlpack:
    """What a library without NumPy offers."""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self, **options):
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


def test_dlpack():
    array = np.arange(12.0).reshape(2, 3, 2)
    assert np.shares_memory(as_sequences(OnlyDlpack(array)).tokens, array)


def test_sparse_matrices_are_refused():
    from scipy.sparse import csr_array

    with pytest.raises(TypeError, match="Sparse data was passed for X"):
        as_sequences(csr_array(np.eye(3)))
