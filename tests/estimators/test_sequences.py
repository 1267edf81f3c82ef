import numpy as np
import pytest
from sklearn.utils import _safe_indexing

from sparsetoken import Sequences
from sparsetoken.estimators.sequences import as_sequences

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


def test_repr():
    assert repr(Sequences.from_list(ragged())) == "Sequences(n_sequences=4, total_tokens=10, dim=5)"
