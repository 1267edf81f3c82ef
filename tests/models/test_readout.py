"""What all readouts of fixed features share."""

import numpy as np
import pytest

import sparsetoken as st

PROBLEM = st.SparseTokenProblem(6, 1, 3.0, 0.4)
QUERY = {"cosine": 0.8, "sharpness": 1.5}


@pytest.mark.parametrize("name", ["pooled", "vectorized", "attention"])
def test_the_trained_weights_are_those_of_the_theory(name):
    """Overlap with the signal, length and bias: the test error would forgive a common factor."""
    model, settings = st.models.get(name), {"reg": 0.1} | (QUERY if name == "attention" else {})
    (theory,) = model.theory(PROBLEM, [3.0], settings)
    rows = []
    for seed in range(16):
        trial = model.trial(PROBLEM, 3.0, 80, settings, np.random.default_rng(seed))
        coef, bias = trial.readout
        direction = trial.query.direction if name == "attention" else np.eye(coef.size)[0]
        if name == "vectorized":  # the signal is spread evenly over the tokens
            direction = (np.arange(coef.size) < 6) / np.sqrt(6)
        rows.append((coef @ direction, np.linalg.norm(coef), bias))
    mean, error = np.mean(rows, axis=0), np.std(rows, axis=0, ddof=1) / 4.0
    expected = np.array([theory.risk.readout_overlap, theory.risk.readout_norm, theory.risk.bias])
    assert (np.abs(mean - expected) < 4.0 * error + 4.0 * np.abs(expected) / 80).all()


def test_separable_turns_at_the_capacity():
    model = st.models.get("pooled")
    (limit,) = model.theory(PROBLEM, [None], {})
    for factor, expected in ((0.6, 1.0), (1.6, 0.0)):
        size = factor * float(limit.capacity)
        (theory,) = model.theory(PROBLEM, [size], {})
        assert theory.separable == expected
        drawn = [
            model.trial(PROBLEM, size, 60, {}, np.random.default_rng(s)).separable for s in (0, 1)
        ]
        assert drawn == [expected] * 2


def test_a_curve_agrees_with_single_points_in_any_order():
    for name in ("pooled", "two-step"):
        model, sizes = st.models.get(name), (2.0, 0.5, 8.0)
        along = model.theory(PROBLEM, sizes, {})
        for size, result in zip(sizes, along, strict=True):
            (alone,) = model.theory(PROBLEM, [size], {})
            assert result.test_error == pytest.approx(alone.test_error, rel=1e-4)


def test_one_class_among_the_training_samples_is_an_error():
    rare = st.SparseTokenProblem(10, positive_rate=1e-6)
    trial = st.models.get("pooled").trial(rare, 1.0, 4, {}, np.random.default_rng(0))
    with pytest.raises(st.models.OneClassError, match="only one class"):
        _ = trial.test_error


def test_what_needs_no_samples_is_known_without():
    (result,) = st.models.get("two-step").theory(PROBLEM, [None], {})
    assert result.oracle_error == st.theory.oracle_error(PROBLEM, "attention")
    with pytest.raises(ValueError, match="a value for alpha0"):
        _ = result.cosine
    (result,) = st.models.get("pooled").theory(PROBLEM, [None], {})
    with pytest.raises(ValueError, match="a value for alpha1"):
        _ = result.test_error
