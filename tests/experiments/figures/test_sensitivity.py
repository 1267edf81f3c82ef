import pytest
from figure_tables import assert_agree, where

import sparsetoken as st
from invented_figures import assert_shown, invented
from sparsetoken.experiments import draw_figure
from sparsetoken.plotting import select


@pytest.mark.statistical
def test_sensitivity(table):
    rows = table(
        "sensitivity",
        readout_rates=[0.5, 10.0],
        bias_rates=[0.0, 4.0],
        positive_rates=[0.2, 0.6],
        positive_points=[0.2, 0.6],
        betas=[0.3, 3.0],
        beta_points=[0.3, 3.0],
        compared_bias_rates=[0.0, 4.0],
        dim=150,
        trials=10,
    )
    keys = ("panel", "quantity", "lr_readout", "lr_bias", "positive_rate", "beta")
    simulated = [r for r in rows if r["panel"] != "rates"]
    assert_agree(simulated, keys, dim=40)
    plane = where(rows, panel="rates", quantity="cosine")
    for row in plane:
        problem = st.SparseTokenProblem(10, 1, 5.0, 0.2)
        learned = st.theory.alignment(
            problem, alpha=2.0, lr_readout=row["lr_readout"], lr_bias=row["lr_bias"]
        )
        assert row["value"] == learned.cosine
        assert learned.anti_aligned == (row["lr_bias"] == 0.0)


def test_sensitivity_has_a_map_and_two_curves_for_each_quantity():
    rows = invented("sensitivity")
    axes = draw_figure("sensitivity", rows).axes
    for start, quantity in ((0, "cosine"), (3, "test_error")):
        here = select(rows, quantity=quantity)
        rates = {(r["lr_bias"], r["lr_readout"]): r["value"] for r in select(here, panel="rates")}
        expected = [rates[key] for key in sorted(rates)]
        assert axes[start].collections[0].get_array().ravel().tolist() == expected
        assert_shown(axes[start + 1], select(here, panel="positives"), "positive_rate")
        assert_shown(axes[start + 2], select(here, panel="beta"), "beta")
