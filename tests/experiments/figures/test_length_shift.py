import pytest
from figure_tables import assert_agree, only

import sparsetoken as st


def test_length_shift(table):
    settings = {"trained": 8, "lines": [8, 32], "points": [8, 32], "n_points": 4096}
    settings |= {"window_points": 8192, "dim": 150, "trials": 12}
    rows = table("length-shift", **settings)
    assert_agree(rows, ("model", "read", "test_n_tokens", "quantity"), dim=20)
    longer = st.SparseTokenProblem(32, 1, 6.0)
    trained = st.theory.risk(st.SparseTokenProblem(8, 1, 6.0), "pooled", alpha=4.0, reg=1e-2)
    at = {"source": "theory", "model": "pooled", "test_n_tokens": 32}
    expected = trained.on(longer)
    assert only(rows, **at, quantity="test_error") == pytest.approx(expected.test_error, rel=1e-6)
    alarms = expected.rates(trained.threshold(fpr=0.01)).fpr
    assert only(rows, **at, quantity="false_positives") == pytest.approx(alarms, rel=1e-5)
    recall = expected.recall(fpr=0.01)
    assert only(rows, **at, quantity="recall") == pytest.approx(recall, rel=1e-6)
    at |= {"model": "two-step", "quantity": "false_positives"}
    # Four windows of the trained length raise an alarm if one of them does.
    assert only(rows, **at, read="windows") == pytest.approx(1.0 - 0.99**4, rel=1e-3)
    assert only(rows, **at, read="whole") < 0.01
