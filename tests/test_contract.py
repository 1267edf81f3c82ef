"""The public contract runs; parameters go by keyword; what fit learns is documented."""

import inspect
import re
import runpy
from pathlib import Path

import pytest

import sparsetoken as st
from sparsetoken.estimators.storage import CLASSIFIERS

X, Y = st.SparseTokenProblem(n_tokens=5, signal=4.0).sample(40, 4, random_state=0)
QUICK = {"cv": 2, "refine_steps": 3, "n_trees": 5}


@pytest.mark.filterwarnings("ignore::sparsetoken.inspection.estimation.PilotWarning")
def test_the_contract_runs(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    runpy.run_path(str(Path(__file__).with_name("contract.py")))


def classifiers():
    return list(CLASSIFIERS)


def test_parameters_after_the_first_two_go_by_keyword():
    for classifier in classifiers():
        kinds = [p.kind for p in inspect.signature(classifier).parameters.values()]
        assert kinds[:2] == [inspect.Parameter.POSITIONAL_OR_KEYWORD] * 2
        assert set(kinds[2:]) <= {inspect.Parameter.KEYWORD_ONLY}, classifier
    with pytest.raises(TypeError):
        st.TwoStepAttentionClassifier(0.5, 1.0, 1.0, 1.0, 20.0, 1e-2)


def test_learned_attributes_are_documented_or_private():
    for classifier in classifiers():
        quick = {name: QUICK[name] for name in QUICK.keys() & classifier().get_params().keys()}
        fitted = classifier(**quick).fit(X, Y)
        learned = {name for name in vars(fitted) if re.fullmatch(r"[^_].*_", name)}
        public = {
            name
            for name, value in inspect.getmembers(classifier, lambda v: isinstance(v, property))
            if re.fullmatch(r"[^_].*_", name)
        }
        documented = set(re.findall(r"\w+_\b", inspect.getdoc(classifier)))
        assert learned | public <= documented, classifier.__name__
