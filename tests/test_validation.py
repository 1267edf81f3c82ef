"""Each error names the argument, what was given and what is allowed."""

import math

import numpy as np
import pytest

from sparsetoken._validation import (
    MissingPackageError,
    check_choice,
    check_count,
    check_flag,
    check_float_type,
    check_random_state,
    check_real,
    import_extra,
    import_object,
    read_toml,
    shown,
)


def test_what_is_allowed_is_returned_plain():
    assert type(check_count("n", np.int64(3), maximum=3)) is int
    assert type(check_real("x", np.float32(0.5))) is float
    assert check_real("x", math.inf, infinite=True) == math.inf
    assert check_choice("c", "a", ("a", "b")) == "a"
    assert check_flag("f", np.bool_(True)) is True
    assert check_float_type("dtype", "float32") == np.float32
    rng = np.random.default_rng(0)
    assert check_random_state(rng) is rng


@pytest.mark.parametrize(
    ("check", "message"),
    [
        (lambda: check_count("n", 0), r"n must be an integer >= 1, got 0"),
        (lambda: check_count("n", True), r"n must be an integer >= 1, got True"),
        (lambda: check_count("n", 9, maximum=5), r"n must be an integer in \[1, 5\], got 9"),
        (lambda: check_real("x", 0.0, low=0.0, above=True), r"finite number in \(0, inf\), got 0"),
        (lambda: check_real("x", math.nan), "x must be a finite number .*, got nan"),
        (lambda: check_real("x", math.inf), "x must be a finite number .*, got inf"),
        (lambda: check_real("x", "1"), "x must be a finite number .*, got '1'"),
        (lambda: check_real("x", np.ones(1)), "x must be a finite number"),
        (lambda: check_choice("c", "d", ("a", "b")), "c must be one of 'a', 'b', got 'd'"),
        (lambda: check_choice("c", ["a"], ("a", "b")), r"c must be one of .*, got \['a'\]"),
        (lambda: check_flag("f", 2), "f must be True or False, got 2"),
        (lambda: check_float_type("dtype", int), "dtype must be float64 or float32"),
        (lambda: check_random_state(-1), "random_state must be a whole number >= 0"),
        (lambda: import_object("loss", "nowhere:Loss"), "loss must be importable, got 'nowhere"),
    ],
)
def test_what_is_not_is_named(check, message):
    with pytest.raises(ValueError, match=message):
        check()


def test_a_missing_package_says_how_to_install_it():
    with pytest.raises(MissingPackageError, match=r"frames needs nowhere: pip install 'sparse"):
        import_extra("nowhere.at_all", "frames")


def test_a_bad_file_is_named(tmp_path):
    path = tmp_path / "a.toml"
    path.write_text("a = 1")
    assert read_toml(path, dict) == {"a": 1}
    with pytest.raises(ValueError, match=r"a.toml: bad value"):
        read_toml(path, lambda content: (_ for _ in ()).throw(ValueError("bad value")))
    for content in (b"a =", b"\xff"):
        path.write_bytes(content)
        with pytest.raises(ValueError, match=r"a.toml is not TOML"):
            read_toml(path, dict)


def test_long_values_are_shortened():
    assert shown([1, 2]) == "[1, 2]"
    assert len(shown("x" * 1000)) == 201
