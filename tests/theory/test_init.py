"""Names of 0.3 still work, and warn."""

import pytest

import sparsetoken as st

PROBLEM = st.SparseTokenProblem(10, 1, 5.0)


def test_curves_are_the_functions_of_sequences():
    options = {"reg": 1e-2, "n_points": 256}
    with pytest.warns(FutureWarning, match="risk_curve goes in 0.6: risk takes"):
        curve = st.theory.risk_curve(PROBLEM, "pooled", alphas=[1.0, 2.0], **options)
    assert curve[1].test_error == pytest.approx(
        st.theory.risk(PROBLEM, "pooled", alpha=2.0, reg=1e-2).test_error, rel=1e-9
    )
    with pytest.warns(FutureWarning, match="two_step_curve goes in 0.6"):
        curve = st.theory.two_step_curve(PROBLEM, alphas0=[1.0], alphas1=[2.0], **options)
    assert curve[0].alpha == 2.0
    with pytest.warns(FutureWarning, match="optimal_curve goes in 0.6"):
        curve = st.theory.optimal_curve(PROBLEM, [2.0])
    assert curve[0].test_error == st.theory.optimal(PROBLEM, 2.0).test_error


def test_chi_was_called_step():
    found = st.theory.risk(PROBLEM, "pooled", alpha=2.0, reg=1e-2)
    with pytest.warns(FutureWarning, match="step is now called chi"):
        assert found.step == found.chi


def test_what_a_user_may_call_is_all_that_is_shown():
    names = dir(st.theory)
    assert len(names) <= 25
    assert all(callable(getattr(st.theory, name)) for name in names)
    with pytest.raises(AttributeError, match="has no attribute 'riskcurve'"):
        st.theory.riskcurve  # noqa: B018
