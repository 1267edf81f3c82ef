"""What every model keeps to."""

import subprocess
import sys

import numpy as np
import pytest

import sparsetoken as st
from populations import TWO_LENGTHS
from sparsetoken.models.base import measured
from sparsetoken.vocabulary import MEASURED, PARAMETERS

NAMES = st.models.names()
PROBLEM = st.SparseTokenProblem(4, 1, 4.0)
SETTINGS = {"cosine": 0.8, "sharpness": 1.0, "steps": 2, "n_points": 256, "reg": 0.5}
CALLS = {"recall": {"fpr": 0.1}, "required_signal": {"error": 0.2}}


def model_and_settings(name):
    model = st.models.get(name, SETTINGS)
    return model, {n: value for n, value in SETTINGS.items() if n in model.settings}


def numbers(result, names):
    """Return the numbers of a result by name."""
    read = {name: getattr(result, name) for name in names}
    return {n: value(**CALLS[n]) if n in CALLS else value for n, value in read.items()}


def test_names_are_known_without_numerics():
    code = (
        "import sys, sparsetoken as st; [st.models.look(name) for name in st.models.names()]; "
        "print(*{'numpy', 'scipy', 'sklearn', 'numba'} & set(sys.modules))"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout.split() == []


def test_models_look_different():
    looks = [st.models.look(name) for name in NAMES]
    assert len({(look.color, look.marker) for look in looks}) == len(looks)
    assert st.models.look("my:own").label == "my:own"


@pytest.mark.parametrize("name", NAMES)
def test_words_are_those_of_the_vocabulary(name):
    model = st.models.get(name)
    assert set(model.settings) <= PARAMETERS.keys()
    assert model.predicted | model.simulated <= MEASURED.keys()
    with pytest.raises(ValueError, match=f"unknown setting of model '{name}' 'lr_qery'"):
        model.complete({"lr_qery": 1.0})


@pytest.mark.parametrize("name", NAMES)
def test_theory_and_trial_have_the_numbers_they_declare(name):
    model, settings = model_and_settings(name)
    first, second = model.theory(PROBLEM, [20.0, 10.0], settings)
    slow = measured("thresholds")  # tests/models/test_optimal.py
    for result in (first, second):
        for quantity, number in numbers(result, model.predicted - slow).items():
            assert np.isfinite(number), quantity
    if not model.simulated:
        return
    drawn = model.trial(PROBLEM, 4.0, 12, settings, np.random.default_rng(0))
    for quantity, number in numbers(drawn, model.simulated).items():
        assert np.isfinite(number), quantity
    again = model.trial(PROBLEM, 4.0, 12, settings, np.random.default_rng(0))
    assert numbers(again, ["test_error"]) == numbers(drawn, ["test_error"])


# Each model is simulated in a process that cannot import the theory.
SIMULATED = """
import sys
sys.modules["sparsetoken.theory"] = None  # an import of it now raises ImportError
import numpy as np, sparsetoken as st
settings = {"cosine": 0.8, "sharpness": 1.0, "steps": 2}
for name in st.models.names():
    model = st.models.get(name, settings)
    if model.simulated:
        taken = {n: value for n, value in settings.items() if n in model.settings}
        problem, rng = st.SparseTokenProblem(4, 1, 4.0), np.random.default_rng(0)
        result = model.trial(problem, 4.0, 12, taken, rng)
        print(name, *[getattr(result, quantity) for quantity in sorted(model.simulated)])
"""


def test_a_simulation_does_not_use_the_theory():
    shown = subprocess.run(
        [sys.executable, "-c", SIMULATED], capture_output=True, text=True, check=False
    )
    assert shown.returncode == 0, shown.stderr
    assert {line.split()[0] for line in shown.stdout.splitlines()} == set(NAMES) - {"bayes"}


def test_unknown_models_are_refused():
    with pytest.raises(ValueError, match=r"model must be one of .*'two-step'.*got 'atention'"):
        st.models.get("atention")
    with pytest.raises(ValueError, match="model must be a name or an import path, got 3"):
        st.models.get(3)


def test_a_pooling_has_a_given_or_a_learned_query():
    given, learned = st.models.get("elementwise", {"cosine": 0.5}), st.models.get("elementwise")
    assert given.name == learned.name == "elementwise"
    assert "cosine" in given.settings
    assert "lr_query" in learned.settings


@pytest.mark.parametrize("name", ["pooled", "vectorized", "two-step", "optimal"])
def test_the_planner_has_a_classifier_and_what_to_search(name):
    model = st.models.get(name)
    X, y = PROBLEM.sample(60, 5, random_state=0)
    assert model.classifier({}).fit(X, y).score(X, y) > 0.6
    space = model.search_space(PROBLEM)
    assert set(space) <= {*model.settings, "sharpness"}
    for choices in space.values():
        assert all(choices.low <= start <= choices.high for start in choices.starts)
    for without in ("training", "hardmax"):  # the classifiers attend by softmax
        with pytest.raises(ValueError, match=f"'{without}' is theory and simulation"):
            st.models.get(without).classifier({})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"size": None}, "a value for alpha1 .or alpha. is needed"),
        ({"size": (1.0, 2.0)}, "samples per dimension must be a finite number"),
        ({"size": -1.0}, "samples per dimension must be"),
        ({"size": np.inf}, "samples per dimension must be a finite number"),
        ({"size": "2"}, "samples per dimension must be"),
        ({"dim": 0}, "dim must be an integer >= 1"),
        ({"problem": 3}, "problem must be a SparseTokenProblem"),
        ({"settings": {"reg": -1.0}}, "reg must be"),
    ],
)
def test_arguments_of_a_trial_are_checked(change, message):
    arguments = {"problem": PROBLEM, "size": 2.0, "dim": 12, "settings": {}} | change
    with pytest.raises(ValueError, match=message):
        _ = st.models.get("pooled").trial(**arguments, rng=np.random.default_rng(0)).test_error


def test_arguments_of_the_theory_are_checked():
    pooled, two_lengths = st.models.get("pooled"), st.Population([PROBLEM, *TWO_LENGTHS.kinds])
    with pytest.raises(ValueError, match="sizes must be a list"):
        pooled.theory(PROBLEM, 2.0, {})
    with pytest.raises(ValueError, match="samples per dimension must be"):
        pooled.theory(PROBLEM, [np.nan], {})
    with pytest.raises(ValueError, match="problem must be"):
        pooled.theory(None, [2.0], {})
    for arguments in ("theory", [2.0], {}), ("trial", 2.0, 12, {}, np.random.default_rng(0)):
        with pytest.raises(ValueError, match="one length"):
            getattr(st.models.get("vectorized"), arguments[0])(two_lengths, *arguments[1:])
    with pytest.raises(ValueError, match="needs a value for cosine"):
        st.models.get("attention").trial(PROBLEM, 2.0, 12, {}, np.random.default_rng(0))


def test_a_model_says_what_it_lacks_and_what_it_has():
    rng, words = np.random.default_rng(0), "'bayes' has no trial; its theory has oracle_error, req"
    with pytest.raises(ValueError, match=words):
        st.models.get("bayes").trial(PROBLEM, 2.0, dim=60, settings={}, rng=rng)

    class Drawn(st.models.Model):
        name, simulated = "drawn", frozenset({"auc"})

    st.models.Model.known.pop("drawn")  # other tests list what is known
    with pytest.raises(ValueError, match="'drawn' has no theory; a trial has auc"):
        Drawn().theory(PROBLEM, [2.0], {})
