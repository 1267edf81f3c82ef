"""Every quantity is described once, and what is described is what the code takes."""

import inspect
import math
from dataclasses import fields

import pytest

import sparsetoken as st
from sparsetoken.vocabulary import MEASURED, PARAMETERS, check_parameters, group


@pytest.mark.parametrize(
    "quantity", [*PARAMETERS.values(), *MEASURED.values()], ids=lambda q: q.name
)
def test_entries_are_complete(quantity):
    assert quantity.label
    assert quantity.help.endswith(".")
    assert quantity.low <= quantity.high
    if quantity.default is not None:
        assert quantity.check(quantity.default) == quantity.default
    if quantity.slider is not None:
        for end in quantity.slider:
            assert quantity.check(end) == end
        assert not quantity.logarithmic or quantity.slider[0] > 0


def test_problem_is_described():
    assert group("problem", "positions") == tuple(f.name for f in fields(st.SparseTokenProblem))


@pytest.mark.parametrize(
    "function",
    [
        st.theory.alignment,
        st.theory.two_step_risk,
        st.TwoStepAttentionClassifier,
        st.PooledClassifier,
        st.VectorizedClassifier,
        st.sampling.sample_query,
    ],
)
def test_signatures_have_the_defaults_of_the_vocabulary(function):
    checked = 0
    for name, parameter in inspect.signature(function).parameters.items():
        known = name in PARAMETERS and name not in ("n_points", "random_state")
        if known and parameter.default not in (inspect.Parameter.empty, None):
            assert parameter.default == PARAMETERS[name].default, name
            checked += 1
    assert checked


def test_values_are_checked_by_name():
    assert check_parameters({"alpha": 2, "n_tokens": 10}) == {"n_tokens": 10, "alpha": 2.0}
    assert check_parameters({"alpha": math.inf})["alpha"] == math.inf
    with pytest.raises(ValueError, match="did you mean 'alpha'"):
        check_parameters({"alhpa": 2})
    with pytest.raises(ValueError, match="signal must be a finite number"):
        check_parameters({"signal": 10**400})
    for wrong in (0, 2.5, True, "3", 1.0):
        with pytest.raises(ValueError, match="n_tokens must be an integer >= 1"):
            check_parameters({"n_tokens": wrong})
