import warnings

import numpy as np
import polars
import pytest
from sklearn.model_selection import cross_val_score
from sklearn.utils import _safe_indexing

import sparsetoken as st
from sparsetoken import Sequences
from sparsetoken.sequences.forms import (
    EmptySequenceWarning,
    OneTokenWarning,
    PaddingWarning,
)
from sparsetoken.sequences.grouping import align_labels
from sparsetoken.sequences.sequences import as_sequences

LENGTHS = [3, 1, 4, 2]


def ragged(dtype=np.float64, seed=0):
    rng = np.random.default_rng(seed)
    return [rng.standard_normal((length, 5)).astype(dtype) for length in LENGTHS]


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
    chosen = Sequences.from_list(parts)[key]
    wanted = [parts[i] for i in np.arange(4)[key]]
    assert isinstance(chosen, Sequences)
    assert len(chosen) == len(wanted)
    assert chosen.shape == (len(wanted),)
    for a, b in zip(chosen, wanted, strict=True):
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
    chosen = _safe_indexing(Sequences.from_list(parts), np.array([3, 1]))
    assert [len(part) for part in chosen] == [2, 1]


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
    wanted = np.concatenate(parts)
    for X in (
        parts,
        tuple(parts),
        as_objects,
        Sequences.from_list(parts),
        [p.tolist() for p in parts],
    ):
        sequences = as_sequences(X)
        assert np.array_equal(sequences.tokens, wanted)
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


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_the_token_that_is_not_finite_is_named(value):
    parts = ragged()
    parts[2][3, 1] = value
    kind = "NaN" if np.isnan(value) else "infinity"
    with pytest.raises(ValueError, match=f"X contains {kind} in sequence 2, token 3, feature 1"):
        as_sequences(parts)
    with pytest.raises(ValueError, match="in sequence 102, token 3"):
        as_sequences(parts, first=100)


def test_large_finite_values_are_finite():
    X = np.full((2, 2, 2), 1e308)  # their sum overflows
    assert as_sequences(X).dim == 2


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


@pytest.mark.parametrize(
    ("tokens", "offsets", "message"),
    [
        (np.ones(3), [0, 3], "tokens must have shape"),
        (np.ones((3, 1)), [0.0, 3.0], "offsets must be a one-dimensional array of int"),
        (np.ones((3, 1)), [0, 2], "from 0 to the number of tokens, 3"),
        (np.ones((3, 1)), [1, 3], "from 0 to the number of tokens, 3"),
        (np.ones((3, 1)), [0, 2, 1, 3], "must not decrease"),
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


# Frames: rows interleaved, sequences in the order of their first row.
BAG = ["b", "a", "b", "c", "a"]
VALUES = {"x": [1.0, 2.0, 3.0, 4.0, 5.0], "count": [1, 2, 3, 4, 5], "ill": [1, 0, 1, 0, 0]}


def frame(kind, **columns):
    columns = {"bag": BAG, **VALUES} | columns
    if kind == "pandas":
        return pytest.importorskip("pandas", reason="a frame of pandas").DataFrame(columns)
    if kind == "polars":
        return polars.DataFrame(columns)
    return pytest.importorskip("pyarrow", reason="a table of Arrow").table(columns)


@pytest.mark.parametrize("kind", ["pandas", "polars", "pyarrow"])
def test_frames_are_grouped_in_order_of_appearance(kind):
    df = frame(kind)
    X = Sequences.from_frame(df, by="bag", ignore="ill")
    assert X.ids.tolist() == ["b", "a", "c"]
    assert X.feature_names.tolist() == ["x", "count"]
    assert [part.tolist() for part in X] == [[[1, 1], [3, 3]], [[2, 2], [5, 5]], [[4, 4]]]
    assert Sequences.per_sequence(df["ill"], df["bag"]).tolist() == [1, 0, 0]
    for features in (["count"], "count"):
        chosen = Sequences.from_frame(df, by="bag", features=features)
        assert chosen.feature_names.tolist() == ["count"]
    part = X[[2, 0]]
    assert (part.ids.tolist(), part.feature_names.tolist()) == (["c", "b"], ["x", "count"])
    with pytest.raises(
        ValueError, match="the frame: there is no 'bags'; the nearest names are 'bag'"
    ):
        Sequences.from_frame(df, by="bags")


def test_frames_say_what_is_wrong():
    df = frame("pandas", site=list("uvwxy"), n=[1, 2, 3, 4, 5])
    with pytest.raises(ValueError, match="column 'site' of X must hold numbers"):
        Sequences.from_frame(df, by="bag")
    with pytest.raises(ValueError, match="two columns named 'x'"):
        Sequences.from_frame(df[["bag", "x", "x"]], by="bag")
    with pytest.raises(ValueError, match="frame must be a table"):
        Sequences.from_frame([1], by="bag")
    with pytest.raises(
        ValueError, match=r"sequence 'b' has two values: 1\.0 in row 0 and 3\.0 in row 2"
    ):
        Sequences.per_sequence(df["x"], df["bag"])
    missing = frame("pandas", bag=["b", None, "b", "c", "a"])
    with pytest.raises(ValueError, match="bag must name the sequence of each row, row 1 has none"):
        Sequences.from_frame(missing, by="bag", ignore="ill")
    empty_cell = frame("pandas", x=[1.0, 2.0, None, 4.0, 5.0])
    with pytest.raises(ValueError, match="NaN in sequence 'b', token 1, feature 'x'"):
        as_sequences(Sequences.from_frame(empty_cell, by="bag", ignore="ill"))


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


def test_padding_is_left_out():
    padded = np.arange(24.0, dtype=np.float32).reshape(2, 4, 3)
    mask = np.array([[0, 1, 1, 0], [1, 1, 1, 1]])
    for given in (mask, mask.astype(bool), mask.tolist()):
        X = Sequences.from_padded(padded, given)
        assert X.dtype == np.float32
        assert np.array_equal(X[0], padded[0, 1:3])
        assert np.array_equal(X[1], padded[1])
    own = np.ma.MaskedArray(padded, mask=np.repeat(mask[..., None] == 0, 3, axis=2))
    assert Sequences.from_padded(own).lengths.tolist() == [2, 4]
    own[1, 1, 1] = np.ma.masked
    with pytest.raises(ValueError, match="some features masked"):
        Sequences.from_padded(own)
    for wrong in (mask[:, :3], mask + 1):
        with pytest.raises(
            ValueError, match=r"mask must hold True or False, 1 or 0, of shape \(2, 4"
        ):
            Sequences.from_padded(padded, wrong)
    with pytest.raises(ValueError, match="mask must say"):
        Sequences.from_padded(padded)


def test_a_mask_that_leaves_nothing_is_said():
    padded, mask = np.ones((3, 2, 2)), np.array([[1, 1], [1, 0], [1, 1]])
    with pytest.warns(EmptySequenceWarning, match="mask leaves 2 of 3 sequences without .* ~mask"):
        assert Sequences.from_padded(padded, 1 - mask).lengths.tolist() == [0, 1, 0]


@pytest.mark.parametrize("side", ["left", "right"])
def test_zero_padding_is_said(side):
    padded = np.random.default_rng(0).standard_normal((6, 9, 4))
    cut = slice(0, 3) if side == "left" else slice(6, 9)
    padded[1:, cut] = 0.0
    with pytest.warns(PaddingWarning, match=r"15 of 54 tokens are exactly zero \(28%\): is that"):
        as_sequences(padded)
    with pytest.warns(PaddingWarning):
        st.PooledClassifier().fit(list(padded), [0, 1] * 3)
    padded[1:, cut, 1] = 1e-9
    as_sequences(padded)
    padded[3] = 0.0  # a token that is zero may be a token: few are no padding
    padded[3, 2:] = 1.0
    as_sequences(padded)


def test_tokens_are_selected_by_position_or_mask():
    X = Sequences(np.arange(20.0).reshape(10, 2), [0, 3, 4, 8, 10], ["a", "b"], list("pqrs"))
    last = X.select(slice(-2, None))
    assert last.lengths.tolist() == [2, 1, 2, 2]
    assert [part.tolist() for part in last] == [part[-2:].tolist() for part in X]
    assert (last.ids.tolist(), last.feature_names.tolist()) == (list("pqrs"), ["a", "b"])
    role = np.array(list("uauuaauuua"))
    chosen = X.select(role == "u")
    assert np.array_equal(chosen.tokens, X.tokens[role == "u"])
    assert chosen.lengths.tolist() == [2, 1, 2, 1]
    ragged_mask = np.split(role == "u", [3, 4, 8])
    assert np.array_equal(X.select(ragged_mask).tokens, chosen.tokens)
    dense = Sequences(np.arange(12.0).reshape(6, 2), [0, 3, 6])
    assert dense.select(np.array([[1, 0, 0], [0, 1, 1]], bool)).lengths.tolist() == [1, 2]
    with pytest.warns(EmptySequenceWarning, match="tokens leaves 1 of 4 sequences"):
        assert X.select(slice(1, None)).lengths.tolist() == [2, 0, 3, 1]
    for wrong in ([True] * 9, np.arange(10), ragged_mask[::-1], np.ones((5, 2), bool)):
        with pytest.raises(ValueError, match=r"tokens (must|has)"):
            X.select(wrong)


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


def test_the_warning_names_the_line_of_the_caller():
    X, y = np.random.default_rng(0).standard_normal((20, 3)), np.arange(20) % 2
    for call in (
        lambda: st.PooledClassifier().fit(X, y),
        lambda: cross_val_score(st.PooledClassifier(), X, y, cv=2),
        lambda: st.estimators.PerToken().fit(X),
    ):
        with pytest.warns(OneTokenWarning) as caught:
            call()
        assert {warning.filename for warning in caught} == {__file__}


def test_masked_values_are_never_used():
    array = np.ma.MaskedArray(np.ones((2, 2, 2)), mask=False)
    assert as_sequences(array).dim == 2  # nothing is masked
    array[1, 0, 0] = np.ma.masked
    for X in (array, [array[0], array[1]], array[:, 0]):
        with pytest.raises(ValueError, match="masked values"):
            as_sequences(X)
        with pytest.raises(ValueError, match="masked values"):
            st.PooledClassifier().fit(X, [0, 1])


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
        wanted = np.float64 if dtype in ("float64", "int64") else np.float32
        assert X.dtype == wanted
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
