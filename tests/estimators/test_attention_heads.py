"""Heads that collect evidence: their objective, their start, and the rule that they are."""

import numpy as np
import pytest

from sparsetoken.estimators.attention_heads import AttentionHeads
from sparsetoken.estimators.head_objective import HeadObjective, HeadSpec
from sparsetoken.estimators.head_pooling import EvidencePooling
from sparsetoken.estimators.members import TrainingSamples
from sparsetoken.estimators.minimize import minimize_many
from sparsetoken.sequences.data import MemoryData
from sparsetoken.sequences.sequences import as_sequences


def data_and_weights(seed=0):
    rng = np.random.default_rng(seed)
    parts = [rng.standard_normal((length, 5)) * [1, 2, 3, 4, 0] + 1 for length in (2, 3, 5, 4) * 10]
    weights = rng.random(40)
    return MemoryData(as_sequences(parts)), weights / weights.sum(), np.arange(40) % 3 == 0


def objective(data, index, weights, specs=None, columns=None):
    training = TrainingSamples(data, index.astype(int), weights, [], np.arange(len(data)), 0)
    columns = weights[:, np.newaxis] if columns is None else columns
    return HeadObjective(training, specs or [HeadSpec(1.0, 1.0, 1e-3)], columns, False)


def test_the_start_ignores_the_class_prior_and_the_lengths_of_the_classes():
    """Repeating one class changes nothing, nor does it matter that the classes differ in length."""
    data, weights, index = data_and_weights()
    query, sign = objective(data, index, weights).two_step_queries()
    uneven = np.where(index, 5.0 * weights, weights)
    columns = (uneven / uneven.sum())[:, np.newaxis]
    again, _ = objective(data, index, weights, columns=columns).two_step_queries()
    assert again == pytest.approx(query, abs=1e-9)
    assert np.linalg.norm(query) == pytest.approx(1.0)
    assert abs(sign) == pytest.approx(1.0)


def test_long_negatives_do_not_turn_the_start_round():
    """Slopes that sum to zero over samples, not over their tokens, would align it the wrong way."""
    cosines = []
    for seed in range(5):
        rng = np.random.default_rng(seed)
        y = np.arange(400) % 2
        parts = [rng.standard_normal((3 if label else 60, 10)) for label in y]
        for part, label in zip(parts, y, strict=True):
            part[0, 0] += 3.0 * label
        data, weights = MemoryData(as_sequences(parts)), np.full(400, 1 / 400)
        cosines.append(objective(data, y, weights).two_step_queries()[0][0, 0])
    assert np.mean(cosines) > 0.8


def test_gradients_of_heads_in_all_coordinates():
    """Of sharp, soft and turned heads, against differences of the objective."""
    data, weights, index = data_and_weights()
    specs = [HeadSpec(a, s, 0.1) for a in (1.0, -1.0, 10.0) for s in (1.0, 0.3, None)]
    both = objective(data, index, weights, specs)
    points = np.random.default_rng(1).standard_normal((len(specs), 6))
    which = np.arange(len(specs))
    gradients = both(points, which)[1]
    for j in range(6):
        step = np.zeros(6)
        step[j] = 1e-6
        differences = both(points + step, which)[0] - both(points - step, which)[0]
        assert gradients[:, j] == pytest.approx(differences / 2e-6, abs=1e-6)


def test_a_head_is_the_bayes_rule_of_the_model():
    """With w = θξ, a = 1 and b = −θ²/2 the score is the log of the likelihood ratio."""
    signal, tokens = 2.0, np.random.default_rng(0).standard_normal((4, 3))
    u = signal * tokens[:, :1, np.newaxis]
    score = EvidencePooling(np.ones(1), np.ones(1, dtype=int)).pool(u, np.array([0, 4]))[0, 0, 0]
    ratio = np.mean(np.exp(signal * tokens[:, 0] - signal**2 / 2))
    assert score - signal**2 / 2 == pytest.approx(np.log(ratio))


@pytest.mark.parametrize(
    "specs", [[], [HeadSpec(1.0, 1.0, 1e-3, 0)], [HeadSpec(0.0, 1.0, 1e-3)]], ids=str
)
def test_heads_that_compiled_loops_could_not_score_are_refused(specs):
    """From a file that was altered, for instance."""
    with pytest.raises(ValueError, match="head"):
        AttentionHeads(directions=np.ones((1, 1, 1, 3)), intercepts=np.ones((1, 1, 1)), specs=specs)


def test_refinement_reaches_its_minimum():
    """More steps, smaller objective, until the gradient is zero."""
    data, weights, index = data_and_weights()
    one = objective(data, index, weights)
    values = []
    for steps in (1, 10, 500):
        point = minimize_many(one, 0.1 * np.ones((1, 6)), steps, 0.0)
        value, gradient = one(point, np.arange(1))
        values.append(float(value[0]))
    assert values[0] > values[1] > values[2]
    assert np.abs(gradient).max() < 1e-6


def test_heads_that_advance_together_are_those_fitted_alone():
    data, weights, index = data_and_weights()
    half = np.where(np.arange(40) % 2, weights, 0.0)
    columns = np.stack([weights, half / half.sum()], axis=1)
    specs = [HeadSpec(a, s, reg) for a in (1.0, -10.0) for s, reg in ((1.0, 0.1), (0.5, 0.3))]
    both = objective(data, index, weights, specs, columns)
    together = both.minimize(30, 1e-5)
    for f, k in np.ndindex(2, 4):
        one = objective(data, index, weights, [specs[k]], columns[:, [f]])
        for all_heads, alone in zip(together, one.minimize(30, 1e-5), strict=True):
            assert all_heads[f, k] == pytest.approx(alone[0, 0], rel=1e-6, abs=1e-9)
