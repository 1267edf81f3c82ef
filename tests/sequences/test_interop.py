"""Numbers of other libraries."""

import numpy as np
import polars
import pytest

from sparsetoken.sequences.sequences import as_sequences

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
