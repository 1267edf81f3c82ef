"""What a plan by theory says: curve, alternatives, summary, report and data."""

import json

import numpy as np

import sparsetoken as st


def test_curve_and_alternatives(attention):
    curve = attention.curve
    assert curve.quantity == "n_samples"
    assert attention.n_samples in curve.values
    assert np.all(np.diff(curve.errors) < 0)
    assert all(0 < error.uncertainty < 0.01 for error in curve.errors)
    planned = curve.errors[curve.values.index(attention.n_samples)]
    assert planned == attention.error
    assert set(attention.alternatives) == {"pooled", "vectorized", "optimal", "bayes"}
    assert attention.alternatives["bayes"] < attention.alternatives["optimal"] < attention.error
    assert attention.error < attention.alternatives["pooled"]
    assert attention.alternatives["pooled"] < attention.alternatives["vectorized"]
    bayes = st.theory.oracle_error(attention.problem, "bayes")
    assert attention.alternatives["bayes"] == float(bayes)


def test_summary_and_plot(attention, tmp_path):
    text = attention.summary()
    assert text.startswith(
        f"Two-step attention needs at least {attention.n_samples} labelled sequences for a 5 %"
    )
    for word in ("split", "lr_query", "vectorized", "bayes", "±"):
        assert word in text
    figure = attention.plot(tmp_path / "plan.png")
    assert figure.axes[0].lines[0].get_ydata().tolist() == list(attention.curve.errors)
    assert (tmp_path / "plan.png").read_bytes()[:4] == b"\x89PNG"
    assert repr(attention) == f"Plan({attention.answer.rstrip('.')})"


def test_report_says_what_was_asked_assumed_and_answered(attention, pooled):
    text = attention.report(markdown=True)
    places = [text.index(w) for w in ("Answer", "Assumptions", "rests", "Software")]
    assert places == sorted(places)
    assert attention.answer in text
    assert f"dim = {attention.dim}" in text
    assert "high-dimensional theory" in text
    assert "simulated trainings" not in text
    assert "sequences are few" not in text
    report = pooled.report()
    assert "mean over simulated trainings" in report
    assert pooled.caution in report


def test_a_plan_of_few_samples_says_so(attention, pooled):
    assert pooled.n_samples < 60
    assert pooled.caution.startswith(f"{pooled.n_samples} sequences are few")
    assert pooled.caution in pooled.summary()
    assert attention.n_samples > 60
    assert not attention.caution
    assert "Caution" not in attention.summary()


def test_the_basis_is_what_was_computed():
    """Above 3,000 features trainings are not simulated, however few the samples."""
    wide = st.plan(n_samples=50, dim=5000, n_tokens=5, signal=20.0, model="pooled")
    assert "simulated trainings" not in wide.basis
    assert "high-dimensional theory" in wide.basis
    assert wide.caution


def test_a_plan_as_data_is_json(pooled):
    data = json.loads(json.dumps(pooled.to_dict()))
    assert data["n_samples"] == pooled.n_samples
    assert data["curve"]["errors"] == list(pooled.curve.errors)
    assert data["alternatives"]["bayes"] == pooled.alternatives["bayes"]
