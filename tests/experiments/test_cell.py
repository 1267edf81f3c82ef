import math

import pytest

import sparsetoken as st
from populations import LABEL_ERRORS, STRENGTHS, TWO_LENGTHS
from sparsetoken.experiments import compute, make_cell

VALUES = {"alpha": 2.0, "dim": 60, "trials": 4}


def test_key_and_seed_depend_on_meaning_not_on_spelling():
    cell = make_cell("simulation", ["test_error"], VALUES)
    reordered = dict(reversed(VALUES.items())) | {"alpha": 2, "reg": 0.01}
    assert make_cell("simulation", ["test_error"], reordered) == cell
    other = make_cell("simulation", ["test_error"], VALUES | {"alpha": 2.5})
    assert other.key != cell.key
    assert other.seed != cell.seed


def test_keys_stay_what_they_were():
    """Results of stores of an earlier version are found again, and draws are the same."""
    cells = [
        make_cell("simulation", "test_error", VALUES),
        make_cell("simulation", "train_loss", VALUES | {"model": "training", "batches": "reused"}),
    ]
    assert [cell.key[:16] for cell in cells] == ["11ede229847357ea", "979e85aacf8e33bb"]


@pytest.mark.parametrize("population", [TWO_LENGTHS, LABEL_ERRORS, STRENGTHS])
def test_a_population_is_built_once(population):
    cell = make_cell("theory", ["test_error"], {"kinds": population, "alpha": 2.0})
    for kind, expected in zip(cell.problem, population, strict=True):
        assert kind[0] == expected[0]
        assert kind[1] == pytest.approx(expected[1], rel=1e-12)
    assert cell.problem.label_errors == population.label_errors
    assert cell.problem is cell.problem


def test_values_that_the_model_does_not_take_are_dropped():
    theory = make_cell("theory", ["test_error"], VALUES)
    assert not {"dim", "trials", "random_state", "fpr"} & theory.values.keys()
    pooled = make_cell("simulation", ["test_error"], VALUES | {"model": "pooled", "lr_query": 3.0})
    assert pooled == make_cell("simulation", ["test_error"], VALUES | {"model": "pooled"})
    recall = make_cell("theory", ["recall"], VALUES)
    assert recall.values["fpr"] == 0.01


def test_quantities_that_do_not_exist_are_left_out():
    assert make_cell("simulation", ["capacity"], VALUES) is None
    assert make_cell("theory", ["cosine"], VALUES | {"model": "pooled"}) is None
    given = {"model": "attention", "cosine": 0.9, "sharpness": 1.0}
    assert make_cell("theory", ["cosine"], VALUES | given) is None
    both = make_cell("simulation", ["cosine", "capacity", "test_error"], VALUES)
    assert both.quantities == ("test_error", "cosine")


def kind(probability, n_tokens=6, n_signal=1, signal=4.0, **others):
    numbers = {"n_tokens": n_tokens, "n_signal": n_signal, "signal": signal}
    return {"probability": probability} | numbers | others


@pytest.mark.parametrize("source", ["theory", "simulation"])
def test_one_kind_is_the_problem_that_it_is(source):
    alone = VALUES | {"n_tokens": 6, "signal": 4.0, "positive_rate": 0.4}
    expected = make_cell(source, ["test_error", "cosine"], alone)
    for kinds in (
        {"kinds": st.Population([st.SparseTokenProblem(6, 1, 4.0, 0.4)])},
        {"kinds": [kind(1)], "positive_rate": 0.4, "label_errors": [0, 0]},
        {"kinds": [kind(1, positive_rate=0.4)]},
        {"kinds": [kind(0.5), kind(0.5)], "positive_rate": 0.4},
    ):
        assert make_cell(source, ["test_error", "cosine"], VALUES | kinds) == expected


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"kinds": [kind(0.5)]}, "add up to 1"),
        (
            {"kinds": [kind(0.5), kind(0.5, 4, 5)]},
            r"n_signal must be an integer in \[1, 4\], got 5",
        ),
        ({"kinds": [kind(1, 10.5)]}, "n_tokens must be an integer"),
        ({"kinds": "1,10,1,5"}, "kinds must be tables with probability, n_tokens"),
        ({"kinds": [(1, 10, 1, 5)]}, "kinds must be tables with probability, n_tokens"),
        ({"kinds": [{"probability": 1, "n_tokens": 3}]}, "a kind needs signal"),
        ({"kinds": [{"probabilty": 1}]}, "did you mean 'probability'"),
        ({"kinds": [kind(1)], "n_tokens": 3}, "n_tokens does not go with kinds"),
        (
            {"kinds": [kind(1, positive_rate=0.5)], "positive_rate": 0.2},
            "positive_rate does not go",
        ),
        ({"kinds": STRENGTHS, "positive_rate": 0.2}, "positive_rate does not go with kinds"),
        ({"kinds": STRENGTHS, "label_errors": [0, 0]}, "label_errors must be left out"),
        ({"label_errors": 0.1}, "label_errors must be two probabilities"),
        ({"label_errors": [2, 0]}, r"label_errors must be a finite number in \[0, 1\]"),
    ],
)
def test_wrong_populations_are_refused(wrong, message):
    with pytest.raises(ValueError, match=message):
        make_cell("theory", ["test_error"], {"alpha": 2.0} | wrong)


def test_values_that_say_nothing_change_no_key():
    cell = make_cell("simulation", ["test_error"], VALUES)
    assert make_cell("simulation", ["test_error"], VALUES | {"center": False}) == cell
    centered = make_cell("simulation", ["test_error"], VALUES | {"center": 1})
    assert centered.key != cell.key


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"alpah": 2.0}, "unknown value 'alpah'; did you mean 'alpha'"),
        ({"alpha": -1.0}, r"alpha must be a number in \(0, inf\], got -1.0"),
        ({"n_signal": 20, "alpha": 1.0}, r"n_signal must be an integer in \[1, 10\], got 20"),
        ({"alpha": 1.0, "alpha0": 2.0}, "either alpha"),
        ({"alpha0": 2.0}, "alpha1"),
        ({"alpha": math.inf}, "alpha must be finite in a simulation"),
        ({"alpha": 1.0, "sharpness": 0.5}, "sharpness needs a value for cosine"),
        ({"alpha": 1.0, "split": 1.0}, "split must be below 1"),
        ({"alpha": 1.0, "model": "atention"}, "model must be one of"),
        ({"alpha": 1.0, "model": "nowhere:Pooling"}, "model must be importable|pooling must be"),
        ({"alpha": 1.0, "loss": "nonsense"}, "loss must be one of"),
        ({"alpha": 1.0, "dim": 1}, "dim must be at least 2"),
        ({"alpha": 1.0, "trials": 1}, "trials must be an integer >= 2"),
    ],
)
def test_bad_values_are_named(values, message):
    with pytest.raises(ValueError, match=message):
        make_cell("simulation", ["test_error"], values)


CUSTOM = """
import numpy as np
from sparsetoken.losses import Loss
from sparsetoken.pooling import Pooling

class Huber(Loss):
    def __init__(self, width=1.0):
        self.width = width
    def value(self, z, y):
        gap = np.maximum(0.0, 1.0 - y * np.asarray(z, dtype=float))
        return np.where(gap < self.width, gap**2 / 2, self.width * (gap - self.width / 2))
    def derivative(self, z, y):
        gap = np.maximum(0.0, 1.0 - y * np.asarray(z, dtype=float))
        return -y * np.minimum(gap, self.width)
    def second_derivative(self, z, y):
        gap = 1.0 - y * np.asarray(z, dtype=float)
        return np.where((gap > 0) & (gap < self.width), 1.0, 0.0)

wide = Huber(3.0)

class Squared(Pooling):
    def weigh(self, scores, segments):
        return scores**2 / segments.spread(segments.lengths)
"""


def test_losses_and_poolings_by_import_path(tmp_path, monkeypatch):
    (tmp_path / "my_own_parts.py").write_text(CUSTOM)
    monkeypatch.syspath_prepend(tmp_path)
    import my_own_parts

    values = {"alpha": 3.0, "dim": 100, "trials": 8, "reg": 0.1, "n_tokens": 5}
    for changed in (
        {"loss": "my_own_parts:Huber", "model": "pooled"},
        {"model": "my_own_parts:Squared", "cosine": 0.9, "sharpness": 1.0, "n_points": 2048},
    ):
        cells = [
            make_cell(source, ["test_error", "train_loss"], values | changed)
            for source in ("theory", "simulation")
        ]
        theory, simulation = (compute(cell) for cell in cells)
        for quantity, value in simulation.items():
            allowed = 4.0 * value.uncertainty + 4.0 * theory[quantity] / values["dim"]
            assert abs(value - theory[quantity]) < allowed, (changed, quantity)
    keys = [
        make_cell("theory", "test_error", values | {"model": "pooled", "loss": f"my_own_parts:{n}"})
        for n in ("Huber", "wide")
    ]
    assert keys[0].key != keys[1].key
    before = keys[1].key
    my_own_parts.wide.width = 2.0
    assert make_cell("theory", "test_error", keys[1].values).key != before
