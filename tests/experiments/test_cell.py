import math

import numpy as np
import pytest

import sparsetoken as st
from populations import LENGTH_WITH_LABEL, STRENGTHS, TWO_LENGTHS
from sparsetoken.experiments import compute, make_cell

VALUES = {"alpha": 2.0, "dim": 60, "trials": 4}


def test_key_and_seed_depend_on_meaning_not_on_spelling():
    cell = make_cell("simulation", ["test_error"], VALUES)
    reordered = dict(reversed(VALUES.items())) | {"alpha": 2, "reg": 0.01}
    assert make_cell("simulation", ["test_error"], reordered) == cell
    other = make_cell("simulation", ["test_error"], VALUES | {"alpha": 2.5})
    assert other.key != cell.key
    assert other.seed != cell.seed


def test_irrelevant_values_are_dropped():
    theory = make_cell("theory", ["test_error"], VALUES)
    assert not {"dim", "trials", "random_state"} & theory.values.keys()
    pooled = make_cell("simulation", ["test_error"], VALUES | {"model": "pooled", "lr_query": 3.0})
    assert pooled == make_cell("simulation", ["test_error"], VALUES | {"model": "pooled"})
    signal = make_cell("theory", ["required_signal"], {"model": "pooled", "signal": 3.0})
    assert signal == make_cell("theory", ["required_signal"], {"model": "pooled"})


def test_quantities_that_do_not_exist_are_left_out():
    assert make_cell("simulation", ["capacity"], VALUES) is None
    assert make_cell("theory", ["cosine"], VALUES | {"model": "pooled"}) is None
    assert make_cell("theory", ["test_error"], VALUES | {"model": "two-step-reused"}) is None
    assert make_cell("theory", ["auc"], VALUES | {"model": "joint"}) is None
    assert make_cell("simulation", ["limit_error"], VALUES | {"model": "attention"}) is None
    given = {"model": "attention", "cosine": 0.9, "sharpness": 1.0}
    assert make_cell("theory", ["cosine"], VALUES | given) is None
    both = make_cell("simulation", ["cosine", "capacity", "test_error"], VALUES)
    assert both.quantities == ("test_error", "cosine")


def test_samples_are_split_between_query_and_readout():
    cell = make_cell("theory", ["test_error"], VALUES | {"split": 0.25})
    assert (cell.alpha0, cell.alpha1) == (0.5, 1.5)
    assert make_cell("theory", ["test_error"], VALUES | {"model": "pooled"}).alpha1 == 2.0
    reused = make_cell("simulation", ["test_error"], VALUES | {"model": "two-step-reused"})
    assert (reused.alpha0, reused.alpha1) == (2.0, 2.0)


def test_theory_cells_are_the_theory():
    values = {"alpha0": 1.0, "alpha1": 3.0, "reg": 0.1, "n_tokens": 8, "signal": 4.0}
    found = compute(make_cell("theory", ["cosine", "test_error", "auc", "capacity"], values))
    problem = st.SparseTokenProblem(8, 1, 4.0)
    expected = st.theory.two_step_risk(problem, alpha0=1.0, alpha1=3.0, reg=0.1)
    geometry = {"cosine": expected.cosine, "sharpness": expected.sharpness}
    limit = st.theory.capacity(problem, "attention", **geometry)
    for name, known in found.items():
        number = limit if name == "capacity" else getattr(expected, name)
        assert known == number
        assert known.uncertainty == getattr(number, "uncertainty", 0.0)
        assert known.converged
    assert found["test_error"].uncertainty > 0.0


@pytest.mark.parametrize(
    "values",
    [
        {"model": "pooled", "alpha": 3.0, "reg": 0.1},
        {"model": "vectorized", "alpha": 2.0, "reg": 0.1},
        {"model": "vectorized", "alpha": 6.0, "reg": 0.1, "n_tokens": 4, "n_signal": 2, "dim": 80},
        {"model": "two-step", "alpha": 6.0, "reg": 0.1},
        {"model": "elementwise", "alpha": 6.0, "reg": 0.1},
        {"model": "attention", "alpha": 2.0, "cosine": 0.8, "sharpness": 1.5, "reg": 0.1},
        {"model": "hardmax", "alpha": 2.0, "cosine": 0.9, "reg": 0.1},
        {"model": "elementwise", "alpha": 2.0, "cosine": 0.9, "sharpness": 1.0, "reg": 1e-3},
        {"model": "pooled", "alpha": 3.0, "reg": 0.1, "test_n_tokens": 20},
        {"model": "two-step", "alpha": 4.0, "reg": 0.1, "test_n_tokens": 20, "test_signal": 6.0},
        {"model": "pooled", "alpha": 3.0, "reg": 0.1, "label_errors": "0.1,0.05"},
        {"model": "pooled", "alpha": 3.0, "reg": 0.1, "test_n_tokens": 12, "n_windows": 2},
        {
            "model": "attention",
            "alpha": 2.0,
            "cosine": 0.8,
            "sharpness": 1.5,
            "reg": 0.1,
            "test_n_tokens": 12,
            "n_windows": 2,
            "trials": 8,
        },
    ],
    ids=lambda values: "-".join(f"{v}" for v in values.values()),
)
def test_simulation_agrees_with_theory(values):
    check({"n_tokens": 6, "signal": 3.0, "positive_rate": 0.4} | values)


@pytest.mark.parametrize(
    "values",
    [
        {"model": "pooled", "alpha": 3.0, "reg": 0.1, "kinds": LENGTH_WITH_LABEL},
        {"model": "vectorized", "alpha": 3.0, "reg": 0.1, "kinds": STRENGTHS},
        {"model": "two-step", "alpha": 6.0, "reg": 0.1, "kinds": TWO_LENGTHS},
        {
            "model": "two-step", "alpha": 6.0, "reg": 0.1, "kinds": "0.6,4,1,4; 0.4,14,2,3",
            "label_errors": [0.1, 0.05], "positive_rate": 0.3, "test_label_errors": "0,0",
        },
        {"model": "pooled", "alpha": 3.0, "reg": 0.1, "test_kinds": TWO_LENGTHS},
    ],
    ids=["pooled", "vectorized", "two lengths", "tested on true labels", "tested on a population"],
)  # fmt: skip
def test_simulation_of_populations_agrees_with_theory(values):
    check(values)


def check(values):
    values = {"dim": 150, "trials": 16} | values
    quantities = ["test_error", "test_loss", "auc", "recall", "train_loss", "train_error"]
    quantities += ["false_positives", "trained_bias", "trained_along_query", "trained_along_rest"]
    quantities += ["trained_overlap", "trained_spread", "trained_norm"]
    quantities += ["cosine", "sharpness", "bias"]
    theory = compute(make_cell("theory", quantities, values))
    simulation = compute(make_cell("simulation", quantities, values))
    assert theory.keys() == simulation.keys()
    for quantity, value in simulation.items():
        known = theory[quantity]
        # Finite dimensions move the mean by about 1/dim of the value.
        bar = math.hypot(value.uncertainty, known.uncertainty)
        allowed = 4.0 * bar + 3.0 * abs(known) / values["dim"] + 1e-6
        assert abs(value - known) < allowed, quantity


@pytest.mark.parametrize("source", ["theory", "simulation"])
def test_one_kind_is_the_problem_that_it_is(source):
    alone = VALUES | {"n_tokens": 6, "signal": 4.0, "positive_rate": 0.4}
    expected = make_cell(source, ["test_error", "cosine"], alone)
    for kinds in (
        {"kinds": st.Population([st.SparseTokenProblem(6, 1, 4.0, 0.4)])},
        {"kinds": "1,6,1,4", "positive_rate": 0.4, "label_errors": [0, 0]},
        {"kinds": [{"share": 1, "n_tokens": 6, "signal": 4.0, "positive_rate": 0.4}]},
        {"kinds": [(0.5, 6, 1, 4.0), (0.5, 6, 1, 4.0)], "positive_rate": 0.4},
    ):
        assert make_cell(source, ["test_error", "cosine"], VALUES | kinds) == expected


def test_population_cells_are_the_theory():
    values = {"kinds": TWO_LENGTHS, "alpha0": 1.0, "alpha1": 3.0, "reg": 0.1}
    quantities = ["test_error", "recall", "trained_step", "trained_along_query", "capacity"]
    found = compute(make_cell("theory", quantities, values | {"fpr": 0.1}))
    risk = st.theory.two_step_risk(TWO_LENGTHS, alpha0=1.0, alpha1=3.0, reg=0.1)
    geometry = {"cosine": risk.cosine, "sharpness": risk.sharpness}
    assert found["test_error"] == risk.test_error
    assert found["recall"] == risk.recall(fpr=0.1)
    assert found["recall"].uncertainty == risk.recall(fpr=0.1).uncertainty > 0.0
    assert found["trained_step"] == risk.step
    assert found["trained_along_query"] == risk.readout_along_query
    assert found["capacity"] == st.theory.capacity(TWO_LENGTHS, "attention", **geometry)
    oracle = {"kinds": TWO_LENGTHS, "model": "pooled", "error": 0.2}
    found = compute(make_cell("theory", ["oracle_error", "required_signal"], oracle))
    assert found["oracle_error"] == st.theory.oracle_error(TWO_LENGTHS, "pooled")
    expected = st.theory.required_signal(TWO_LENGTHS, "pooled", error=0.2)
    assert found["required_signal"] == expected


def test_false_positives_of_training_are_held_there_only():
    values = {"model": "pooled", "alpha": 3.0, "fpr": 0.02}
    same = compute(make_cell("theory", ["false_positives"], values))["false_positives"]
    assert same == pytest.approx(0.02)
    longer = compute(make_cell("theory", ["false_positives"], values | {"test_n_tokens": 20}))
    assert longer["false_positives"] < 0.02  # the mean of more tokens varies less


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"kinds": "0.5,10,1,5"}, "add up to 1"),
        ({"kinds": "0.5,10,1,5; 0.5,4"}, "a kind must be share,n_tokens,n_signal,signal or"),
        ({"kinds": "0.5,10,1,5; 0.5,4,5,3"}, r"n_signal must be an integer in \[1, 4\], got 5"),
        ({"kinds": "1,10.5,1,5"}, "n_tokens must be an integer"),
        ({"kinds": 3}, "kinds must be a list"),
        ({"kinds": [{"share": 1, "n_tokens": 3}]}, "a kind needs signal"),
        ({"kinds": [{"shar": 1}]}, "did you mean 'share'"),
        ({"kinds": "1,10,1,5", "n_tokens": 3}, "n_tokens does not go with kinds"),
        ({"kinds": "1,10,1,5,0.5", "positive_rate": 0.2}, "positive_rate must be left out"),
        ({"kinds": STRENGTHS, "label_errors": "0,0"}, "label_errors must be left out"),
        ({"kinds": TWO_LENGTHS, "test_n_tokens": 4}, "test_n_tokens does not go with kinds"),
        ({"kinds": TWO_LENGTHS, "model": "vectorized"}, "one length, got lengths 4, 14"),
        ({"label_errors": "0.1"}, "label_errors must be two probabilities"),
        ({"label_errors": [2, 0]}, r"label_errors must be a finite number in \[0, 1\]"),
        ({"n_windows": 3}, "n_windows must divide the number of tokens"),
    ],
)
def test_wrong_populations_are_refused(wrong, message):
    with pytest.raises(ValueError, match=message):
        make_cell("theory", ["test_error"], {"alpha": 2.0} | wrong)


@pytest.mark.parametrize(
    "values",
    [
        {"model": "training", "batches": "fresh", "loss": "square"},
        {"model": "training", "batches": "reused", "beta": 1.5},
        {"model": "training", "batches": "online"},
        {"model": "joint", "reg": 0.2, "n_points": 256, "refine_steps": 300},
        {"model": "attention", "depth": 2, "cosine": 0.8, "sharpness": 1.5},
        {"model": "two-step", "centre": 1, "n_tokens": 40, "lr_query": 100.0},
    ],
    ids=lambda values: "-".join(f"{v}" for v in values.values()),
)
def test_what_is_not_reduced_agrees_with_theory(values):
    rates = {"steps": 3, "lr_query": 2.0, "lr_readout": 0.5, "lr_bias": 0.5}
    common = {"n_tokens": 4, "signal": 4.0, "alpha": 3.0, "reg": 0.1, "dim": 80, "trials": 10}
    quantities = ["test_error", "train_loss", "cosine", "sharpness"]
    theory, simulation = (
        compute(make_cell(source, quantities, common | rates | values))
        for source in ("theory", "simulation")
    )
    assert theory.keys() == simulation.keys()
    for quantity, value in simulation.items():
        allowed = 4.0 * value.uncertainty + 2.0 * abs(theory[quantity]) / common["dim"]
        assert abs(value - theory[quantity]) < allowed + 4.0 * theory[quantity].uncertainty


def test_values_that_say_nothing_change_no_key():
    cell = make_cell("simulation", ["test_error"], VALUES)
    assert make_cell("simulation", ["test_error"], VALUES | {"centre": 0, "tuned": 0}) == cell
    centred = make_cell("simulation", ["test_error"], VALUES | {"centre": 1})
    assert centred.key != cell.key


def test_tuned_settings_are_those_of_the_theory():
    values = {"model": "training", "batches": "fresh", "alpha": 2.0, "steps": 3, "tuned": 1}
    values |= {"n_tokens": 4, "reg": 0.0}
    found = compute(make_cell("theory", ["test_error"], values))["test_error"]
    best = st.theory.best_training(
        st.SparseTokenProblem(4, 1, 5.0), alpha=2.0, steps=3, batches="fresh"
    )
    assert found == best.test_error
    two = compute(make_cell("theory", ["test_error"], values | {"model": "two-step"}))
    assert two["test_error"] == best.two_step.test_error


def test_a_training_that_runs_away_is_an_error():
    values = {"model": "training", "alpha": 1.0, "loss": "square", "lr_readout": 100.0}
    with pytest.raises(ArithmeticError, match="runs away in step"):
        compute(make_cell("theory", ["test_error"], values | {"n_points": 256}))


def test_separable_turns_at_the_capacity():
    values = {"model": "pooled", "dim": 60, "trials": 8, "signal": 3.0}
    limit = st.theory.capacity(st.SparseTokenProblem(10, 1, 3.0), "pooled")
    found = {}
    for factor in (0.6, 1.6):
        cell_values = values | {"alpha": factor * float(limit)}
        for source in ("theory", "simulation"):
            cell = make_cell(source, ["separable"], cell_values)
            found[source, factor] = float(compute(cell)["separable"])
    assert found == {
        ("theory", 0.6): 1.0,
        ("simulation", 0.6): 1.0,
        ("theory", 1.6): 0.0,
        ("simulation", 1.6): 0.0,
    }


def test_reduced_vectorized_features_have_the_law_of_dense_ones():
    from statistical import assert_same_law

    from sparsetoken.estimators.readout import fit_readout
    from sparsetoken.experiments.vectorized import sample_vectorized
    from sparsetoken.losses import Logistic

    problem, n_samples, dim = st.SparseTokenProblem(3, 1, 3.0), 20, 12
    records = {"reduced": [], "dense": []}
    rng = np.random.default_rng(0)
    for _ in range(400):
        features, y = sample_vectorized(problem, n_samples, dim, rng)
        X, labels = problem.sample(n_samples, dim, random_state=rng, direction=np.eye(1, dim)[0])
        dense = X.transpose(0, 2, 1).reshape(n_samples, -1)  # signal coordinates first
        for name, rows, label in (("reduced", features, y), ("dense", dense, labels)):
            if np.unique(label).size == 2:
                coef, bias = fit_readout(rows, 2.0 * label - 1.0, 0.05, Logistic())
                loss = Logistic.value(rows @ coef + bias, 2.0 * label - 1.0).mean()
                records[name].append((np.linalg.norm(coef), coef[:3].sum(), bias, loss))
    names = ("norm", "overlap", "bias", "loss")
    laws = [dict(zip(names, np.array(r).T, strict=True)) for r in records.values()]
    assert_same_law(*laws)


@pytest.mark.parametrize("n_signal", [1, 2])
def test_vectorized_error_is_that_of_fresh_samples(n_signal):
    from sparsetoken.experiments.vectorized import vectorized_performance

    problem = st.SparseTokenProblem(5, n_signal, 3.0, 0.3)
    coef, bias = np.array([1.0, 0.5, 0.2, 0.8, -0.1, 0.7, 0.3]), -1.0
    rng = np.random.default_rng(0)
    expected = vectorized_performance(problem, coef, bias, rng).test_error
    n_samples = 200_000
    y = problem.sample_labels(n_samples, rng)
    positions = rng.permuted((np.arange(5) < n_signal) & (y[:, None] == 1), axis=1)
    features = rng.standard_normal((n_samples, 7))
    features[:, :5] += 3.0 * positions
    wrong = (features @ coef + bias > 0) != (y == 1)
    assert abs(wrong.mean() - expected) < 4 * math.sqrt(expected / n_samples)


def test_reuse_and_refinement_differ_from_the_two_steps():
    values = {"alpha": 3.0, "dim": 40, "trials": 6, "reg": 0.1}
    errors = [
        compute(make_cell("simulation", ["test_error"], values | {"model": model}))["test_error"]
        for model in ("two-step", "two-step-reused", "joint")
    ]
    assert all(0.0 < error < 0.25 for error in errors)
    assert len(set(errors)) == 3


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"alpah": 2.0}, "unknown value 'alpah'; did you mean 'alpha'"),
        ({"alpha": -1.0}, r"alpha must be a number in \(0, inf\], got -1.0"),
        ({"n_signal": 20, "alpha": 1.0}, r"n_signal must be an integer in \[1, 10\], got 20"),
        ({"alpha": 1.0, "alpha0": 2.0}, "either alpha"),
        ({"alpha0": 2.0}, "alpha1"),
        ({"alpha": math.inf}, "alpha must be finite in a simulation"),
        ({"alpha": 1.0, "cosine": 0.5}, "'two-step' learns its query"),
        ({"alpha": 1.0, "model": "attention"}, "'attention' needs a value for cosine"),
        ({"alpha": 1.0, "model": "attention", "cosine": 0.5}, "needs a value for sharpness"),
        ({"alpha": 1.0, "model": "elementwise", "cosine": 0.5}, "needs a value for sharpness"),
        ({"alpha": 1.0, "sharpness": 0.5}, "sharpness needs a value for cosine"),
        ({"alpha": 1.0, "split": 1.0}, "split must be below 1"),
        ({"alpha0": 1.0, "alpha1": 1.0, "tuned": 1}, "tuned needs alpha"),
        ({"model": "training", "alpha0": 1.0}, "'training' needs alpha"),
        ({"model": "training", "alpha": 1.0, "batches": "old"}, "batches must be one of"),
        ({"model": "joint", "alpha": 1.0, "test_n_tokens": 5}, "is tested on the problem"),
        ({"alpha": 1.0, "model": "atention"}, "model must be one of"),
        ({"alpha0": 1.0, "alpha1": 1.0, "model": "two-step-reused"}, "needs alpha"),
        ({"alpha": 1.0, "model": "joint", "loss": "square"}, "loss must be 'logistic'"),
        ({"alpha": 1.0, "model": "nowhere:Pooling"}, "model must be importable|pooling must be"),
        ({"alpha": 1.0, "loss": "nonsense"}, "loss must be one of"),
        ({"alpha": 1.0, "dim": 1}, "dim must be at least 2"),
        ({"alpha": 1.0, "trials": 1}, "trials must be an integer >= 2"),
    ],
)
def test_bad_values_are_named(values, message):
    with pytest.raises(ValueError, match=message):
        make_cell("simulation", ["test_error"], values)
    with pytest.raises(ValueError, match="did you mean 'test_error'"):
        make_cell("theory", ["test_eror"], VALUES)


def test_one_class_among_the_training_samples_is_an_error():
    values = {"model": "pooled", "alpha": 1.0, "dim": 4, "trials": 2, "positive_rate": 1e-6}
    with pytest.raises(ValueError, match="only one class"):
        compute(make_cell("simulation", ["test_error"], values))


CUSTOM = """
import numpy as np
from sparsetoken.pooling import Pooling

class Huber:
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

    values = {"alpha": 3.0, "dim": 200, "trials": 16, "reg": 0.1, "n_tokens": 5}
    for changed in (
        {"loss": "my_own_parts:Huber", "model": "pooled"},
        {"model": "my_own_parts:Squared", "cosine": 0.9, "sharpness": 1.0},
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
    again = make_cell("theory", "test_error", keys[1].values)
    assert again.key != before


def test_a_curve_is_solved_from_its_neighbours_and_agrees_with_single_points():
    from sparsetoken.experiments.prediction import curves, predict

    cells = [
        make_cell(source, ["test_error", "train_loss"], {"model": model, "alpha": alpha, "dim": 50})
        for source in ("theory", "simulation")
        for model in ("pooled", "two-step")
        for alpha in np.geomspace(0.5, 8.0, 14)
    ]
    found = curves(cells)
    assert sorted(cell.key for curve in found for cell in curve) == sorted(c.key for c in cells)
    assert [len(curve) for curve in found] == [12, 2] * 2 + [1] * 28
    for curve in found[:4]:
        assert [cell.alpha1 for cell in curve] == sorted((c.alpha1 for c in curve), reverse=True)
        for cell, along in zip(curve, predict(curve), strict=True):
            for quantity, alone in compute(cell).items():
                assert along[quantity] == pytest.approx(alone, rel=1e-4)
