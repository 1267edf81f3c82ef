"""Trees on statistics of the tokens."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.ensemble import ExtraTreesClassifier

import sparsetoken as st
from sparsetoken.estimators.folds import Fold
from sparsetoken.estimators.members import TrainingSamples
from sparsetoken.estimators.trees import Trees
from sparsetoken.sequences.data import MemoryData
from sparsetoken.sequences.passes import token_fractions, token_statistics


def test_trees_are_those_of_scikit_learn():
    """Of tokens, and of summaries; a class is what it is, whatever the order of the samples."""
    rng = np.random.default_rng(0)
    index = np.arange(90) % 3
    parts = [rng.standard_normal((length, 3)) for length in rng.integers(3, 6, 90)]
    data = MemoryData(st.Sequences.from_list(parts))
    fold = Fold(np.arange(60), np.arange(60, 90))
    training = TrainingSamples(data, index, np.full(90, 1 / 90), [fold], np.arange(90), seed=7)
    member = Trees(500)
    scores = member.fit(training)
    rows = [
        np.column_stack([data.lengths, data.per_sample(token_statistics, member.unit)]),
        np.column_stack([data.lengths, data.per_sample(token_fractions, member.levels)]),
    ]
    assert np.frexp(member.unit)[0] == pytest.approx(np.full(3, 0.5))  # powers of two
    rng = np.random.default_rng(7)
    for k, part in enumerate(rows):
        seed = int(rng.integers(2**31))
        trees = ExtraTreesClassifier(250, max_features=3, random_state=seed)
        chances = trees.fit(part[:60], index[:60]).predict_proba(part[60:])
        expected = np.log(chances + 0.02)
        assert scores[k, 60:] == pytest.approx(expected, abs=1e-5)
        assert np.isnan(scores[k, :60]).all()
        assert member.scores(data)[60:, k] == pytest.approx(expected, abs=1e-5)
    for name, number, message in (
        ("left", 0, "a tree's node must come before its children"),
        ("feature", 25, "a feature that does not exist"),
        ("roots", -1, "a node that does not exist"),
    ):
        damaged = getattr(member.forests[0], name).copy()
        damaged[0] = number
        with pytest.raises(ValueError, match=message):
            replace(member, forests=[member.forests[0]._replace(**{name: damaged})])
    endless = np.full_like(member.forests[0].value, np.inf)
    with pytest.raises(ValueError, match="not finite"):
        replace(member, forests=[member.forests[0]._replace(value=endless)])


def test_statistics():
    X = np.random.default_rng(0).standard_normal((3, 12, 10))
    parts = [X[0, :3], X[1, :1], X[2]]
    found = token_statistics(st.Sequences.from_list(parts), np.full(10, 0.5))
    wanted = [
        np.concatenate([p.mean(axis=0), p.max(axis=0), p.min(axis=0), p.std(axis=0)]) for p in parts
    ]
    assert found == pytest.approx(0.5 * np.array(wanted), abs=1e-5)


def test_levels_keep_off_the_values_of_round_features():
    """Half zeros and half ones have a deviation above their mean just at one: rounding decides."""
    values = np.arange(240).reshape(40, 6, 1) % 2
    data = MemoryData(st.Sequences.from_list(list(np.concatenate([values, 2.0 * values - 1.0], 2))))
    training = TrainingSamples(data, np.arange(40) % 2, np.full(40, 1 / 40), [], np.arange(40), 0)
    member = Trees(10)
    member.fit(training)
    tokens = data.sequences.tokens
    assert np.abs(tokens - member.levels[:, np.newaxis]).min() > 1e-3
