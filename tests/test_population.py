import pickle

import numpy as np
import pytest
from statistical import Z_LIMIT, standard_score

from populations import POPULATIONS, TWO_LENGTHS
from sparsetoken import Population, SparseTokenProblem

SHORT, LONG = SparseTokenProblem(4, 1, 4.0, 0.3), SparseTokenProblem(9, 2, 2.0, 0.6)


def test_kinds_and_shares():
    population = Population([SHORT, LONG, SHORT], [0.2, 0.5, 0.3])
    assert population.kinds == (SHORT, LONG)  # equal kinds are joined
    assert population.shares == pytest.approx((0.5, 0.5))
    assert population == Population([SHORT, LONG])
    assert hash(population) == hash(Population([SHORT, LONG]))
    assert pickle.loads(pickle.dumps(population)) == population
    assert Population([SHORT, LONG], [1.0, 0.0]) == Population([SHORT])
    assert population.lengths == (4, 9)
    assert population.positive_rate == pytest.approx(0.45)
    errors = Population([SHORT], label_errors=(0.1, 0.2))
    assert errors.positive_rate == pytest.approx(0.3 * 0.9 + 0.7 * 0.2)
    doubled = errors.map(lambda k: SparseTokenProblem(2 * k.n_tokens, 1, k.signal, 0.3))
    assert doubled.kinds == (SparseTokenProblem(8, 1, 4.0, 0.3),)
    assert doubled.label_errors == (0.1, 0.2)


@pytest.mark.parametrize("name", POPULATIONS)
def test_groups_are_a_probability(name):
    groups = POPULATIONS[name].groups
    assert sum(group.probability for group in groups) == pytest.approx(1.0)
    assert len({group[:3] for group in groups}) == len(groups)


@pytest.mark.parametrize("name", POPULATIONS)
def test_sample(name):
    population = POPULATIONS[name]
    n, dim = 8000, 3
    X, y, truth = population.sample(n, dim, random_state=0, return_truth=True)
    assert isinstance(X, list) == (len(population.lengths) > 1)
    for group in population.groups:
        chosen = (truth.positive == group.positive) & (y == (group.label > 0))
        index = population.kinds.index(group.kind)
        rows = np.flatnonzero(chosen & (truth.kind == index))
        inside = np.isin(np.arange(n), rows)
        assert abs(standard_score(inside, group.probability)) < Z_LIMIT
        tokens = np.stack([X[row] for row in rows])
        marks = np.stack([truth.positions[row] for row in rows])
        assert tokens.shape[1:] == (group.kind.n_tokens, dim)
        assert (marks.sum(axis=1) == group.positive * group.kind.n_signal).all()
        noise = tokens - group.kind.signal * marks[..., np.newaxis] * truth.direction
        assert abs(noise.mean()) < Z_LIMIT / np.sqrt(noise.size)
        assert abs((noise**2).mean() - 1) < Z_LIMIT * np.sqrt(2 / noise.size)
    again, labels = population.sample(n, dim, random_state=0)
    assert np.array_equal(labels, y)
    assert all(np.array_equal(a, b) for a, b in zip(X, again, strict=True))


def test_one_kind_samples_like_the_problem():
    for one, other in zip(
        SHORT.sample(50, 7, random_state=3), Population([SHORT]).sample(50, 7, random_state=3),
        strict=True,
    ):  # fmt: skip
        assert np.array_equal(one, other)


def test_type_direction_and_seed():
    direction = np.eye(5)[1]
    X, _, truth = TWO_LENGTHS.sample(
        9, 5, random_state=1, direction=direction, dtype=np.float32, return_truth=True
    )
    assert {x.dtype for x in X} == {np.dtype(np.float32)}
    assert np.array_equal(truth.direction, direction)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"kinds": []}, "^kinds must be one or more"),
        ({"kinds": [3]}, "^kinds must be one or more"),
        ({"shares": [0.5]}, "^shares must be 2 numbers, got"),
        ({"shares": [0.5, 0.6]}, "^shares must add up to 1, got"),
        ({"shares": [1.5, -0.5]}, "^shares must be a finite number"),
        ({"label_errors": (0.1,)}, "^label_errors must be two probabilities"),
        ({"label_errors": (0.1, 2.0)}, "^label_errors must be a finite number"),
    ],
)
def test_bad_arguments_are_named(arguments, message):
    with pytest.raises(ValueError, match=message):
        Population(**{"kinds": [SHORT, LONG], **arguments})


@pytest.mark.parametrize("name", ["two lengths", "strengths"])
def test_tables_and_back(name):
    population = POPULATIONS[name]
    again = Population.from_tables(population.to_tables(), population.label_errors)
    assert again.kinds == population.kinds
    assert again.shares == pytest.approx(population.shares, rel=1e-15)
    assert again.label_errors == population.label_errors
    assert Population.from_tables(SHORT.to_tables()).plain() == SHORT


def test_what_a_table_leaves_out_has_a_default():
    kind = {"probability": 1, "n_tokens": 6, "signal": 4.0}
    found = Population.from_tables([kind], positive_rate=0.3)
    assert found.kinds == (SparseTokenProblem(6, 1, 4.0, 0.3),)
    with pytest.raises(ValueError, match="a kind needs n_tokens"):
        Population.from_tables([{"probability": 1}])
    with pytest.raises(ValueError, match="kinds must be tables"):
        Population.from_tables([3])


def test_tables_do_not_lose_runs_and_kinds():
    population = Population(
        [
            SparseTokenProblem(9, 3, 2.0, contiguous=True, n_kinds=2),
            SparseTokenProblem(5, n_kinds=2),
        ]
    )
    assert Population.from_tables(population.to_tables()) == population
    assert "n_kinds" not in Population([SparseTokenProblem(9)]).to_tables()[0]


def test_all_have_the_same_kinds_of_signal():
    with pytest.raises(ValueError, match="kinds must have the same n_kinds"):
        Population([SparseTokenProblem(9, n_kinds=2), SparseTokenProblem(5)])
    population = Population([SparseTokenProblem(9, n_kinds=2), SparseTokenProblem(5, n_kinds=2)])
    _, y, truth = population.sample(200, 3, random_state=0, return_truth=True)
    assert set(truth.kinds[y == 1]) == {0, 1}
    assert truth.directions.shape == (population.n_kinds, 3)


@pytest.mark.parametrize("name", POPULATIONS)
def test_what_is_known_of_a_length(name):
    """Chances by Bayes' rule from the groups."""
    population = POPULATIONS[name]
    for length in population.by_length:
        n_tokens = length.kinds[0].n_tokens
        for row, label in enumerate((1.0, -1.0, None)):
            of_length = [
                group
                for group in population.groups
                if group.kind.n_tokens == n_tokens and label in (None, group.label)
            ]
            mass = sum(group.probability for group in of_length)
            assert length.masses[row] == pytest.approx(mass)
            carrying = sum(group.probability for group in of_length if group.positive)
            assert length.priors[row].sum() * mass == pytest.approx(carrying)


def test_another_rate_keeps_the_samples_of_each_label():
    population = Population([SHORT, LONG], [0.4, 0.6], (0.1, 0.2))
    other = population.with_rate(0.25)
    assert other.positive_rate == pytest.approx(0.25)
    ratio = {True: 0.25 / population.positive_rate, False: 0.75 / (1 - population.positive_rate)}
    for group, same in zip(population.groups, other.groups, strict=True):
        assert same.probability == pytest.approx(group.probability * ratio[group.label > 0])
    assert SHORT.with_rate(0.1).positive_rate == 0.1


def test_signals_scaled_and_windows():
    population = Population([SHORT, SparseTokenProblem(4, 2, 1.0)], [0.4, 0.6])
    assert [kind.signal for kind in population.scaled(2.0).kinds] == [8.0, 2.0]
    assert SHORT.scaled(0.5).signal == 2.0
    assert population.windows(2).lengths == (2,)
    assert population.windows(1) is population
