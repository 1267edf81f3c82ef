"""What every way of training keeps to."""

import subprocess
import sys

import pytest

from sparsetoken.experiments import make_cell
from sparsetoken.experiments.models import find_model
from sparsetoken.experiments.models.base import KNOWN
from sparsetoken.pooling import Elementwise
from sparsetoken.vocabulary import MEASURED, MODELS, PARAMETERS

NAMES = [*KNOWN, "hardmax", "elementwise"]
VALUES = {"alpha": 2.0, "cosine": 0.8, "sharpness": 1.0, "dim": 20, "trials": 2, "n_tokens": 4}


def values_for(name):
    given = {"cosine", "sharpness"} if name in ("two-step", "joint") else set()
    return {n: v for n, v in VALUES.items() if n not in given} | {"model": name}


@pytest.mark.parametrize("name", NAMES)
def test_it_names_quantities_and_parameters_of_the_vocabulary(name):
    assert name in MODELS
    model = find_model({"model": name})
    for source in ("theory", "simulation"):
        assert model.quantities(source) <= MEASURED.keys()
        for quantity in model.quantities(source):
            assert model.parameters(quantity, source) <= PARAMETERS.keys()


# Each way of training is simulated in a process that cannot import the theory.
SIMULATED = """
import sys
sys.modules["sparsetoken.theory"] = None  # an import of it now raises ImportError
from sparsetoken.experiments import compute, make_cell
values, quantities = eval(sys.argv[1]), eval(sys.argv[2])
for one in values:
    cell = make_cell("simulation", quantities, one)
    if cell is not None:
        print(one["model"], *compute(cell))
"""


def test_a_simulation_does_not_use_the_theory():
    values = [values_for(name) for name in NAMES]
    values += [values_for("elementwise") | {"cosine": 0.5}]
    found = subprocess.run(
        [sys.executable, "-c", SIMULATED, repr(values), repr(list(MEASURED))],
        capture_output=True,
        text=True,
    )
    assert found.returncode == 0, found.stderr
    ran = {line.split()[0] for line in found.stdout.splitlines()}
    assert ran == set(NAMES) - {"bayes"}
    assert "test_error" in found.stdout


def test_unknown_models_are_refused():
    with pytest.raises(ValueError, match=r"model must be one of .*'two-step'.*got 'atention'"):
        find_model({"model": "atention"})
    with pytest.raises(ValueError, match="model must be a name or an import path, got 3"):
        find_model({"model": 3})


def test_a_pooling_has_a_given_or_a_learned_query():
    given, learned = (
        find_model({"model": "elementwise", "cosine": 0.5}),
        find_model({"model": "elementwise"}),
    )
    assert isinstance(given.pooling, Elementwise)
    assert isinstance(learned.pooling, Elementwise)
    assert "cosine" in given.parameters("test_error", "theory")
    assert "lr_query" in learned.parameters("test_error", "theory")
    shared = make_cell("theory", "cosine", {"model": "elementwise", "alpha0": 2.0})
    assert shared == make_cell("theory", "cosine", {"alpha0": 2.0})  # the pooling comes later
