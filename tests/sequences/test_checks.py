"""What cannot be learned from is refused, and what looks like a mistake is said."""

import numpy as np
import pytest
from sklearn.model_selection import cross_val_score

import sparsetoken as st
from sequences.small import ragged
from sparsetoken.sequences.checks import OneTokenWarning, PaddingWarning
from sparsetoken.sequences.sequences import as_sequences


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
