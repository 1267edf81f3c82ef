"""Compiled functions, with and without a folder to keep them in."""

import warnings

import pytest
from numba.core.caching import _CacheLocator

from sparsetoken import _njit
from sparsetoken._njit import njit


def double(x):
    return 2.0 * x


def test_functions_are_compiled_where_no_folder_can_be_written(monkeypatch):
    def refuse(self):
        raise OSError("read-only")

    monkeypatch.setattr(_CacheLocator, "ensure_cache_path", refuse)
    _njit._warn_once.cache_clear()
    with pytest.warns(UserWarning, match="NUMBA_CACHE_DIR") as warned:
        compiled = [njit()(double) for _ in range(2)]
    assert [function(2.0) for function in compiled] == [4.0, 4.0]
    assert len(warned) == 1


def test_functions_are_kept_where_a_folder_can_be_written():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert njit()(double)(2.0) == 4.0
