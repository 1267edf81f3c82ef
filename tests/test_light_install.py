"""What ``pip install sparsetoken`` without extras can do, and what it says to the rest."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

from sparsetoken.experiments import figure_names

PROJECT = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())["project"]
EXTRAS = PROJECT["optional-dependencies"]
MISSING = [
    re.match(r"[\w-]+", entry)[0]
    for extra in ("app", "cli", "data", "distributed", "plot")
    for entry in EXTRAS[extra]
    if not entry.startswith("sparsetoken")
]
BLOCK = f"""
import sys

class Missing:
    @staticmethod
    def find_spec(name, path, target=None):
        if name in {MISSING}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Missing)
import sparsetoken as st
"""
WORK = """
problem = st.SparseTokenProblem(n_tokens=5, signal=5.0)
X, y = problem.sample(60, 5, random_state=0)
clf = st.SparseTokenClassifier(random_state=0).fit(X, y)
clf.predict_proba(X), clf.explain(X[:1]), clf.diagnose(X, y)
st.theory.risk(problem, "pooled", alpha=2.0, reg=1e-2).test_error
st.plan(dim=50, n_tokens=5, signal=6.0, error=0.1, model="pooled").summary()
st.plan.from_curve([50, 100, 200], [0.3, 0.2, 0.15], n_test=500, error=0.1).summary()
st.save(clf, sys.argv[1])
st.load(sys.argv[1])
print("done")
"""
PICTURES = """
plan = st.plan(dim=50, n_tokens=5, signal=6.0, error=0.1, model="pooled")
names = st.experiments.figure_names()
figures = [lambda name=name: st.experiments.figure_rows(name, None) for name in names]
for draw in (lambda: st.plotting.new_figure(1, 1), plan.plot, *figures):
    try:
        draw()
    except ImportError as error:
        print(error)
"""


def without_extras(code, *arguments):
    return subprocess.run(
        [sys.executable, "-c", BLOCK + code, *arguments],
        capture_output=True,
        text=True,
        check=False,
    )


def test_fitting_theory_and_planning_need_no_extra(tmp_path):
    assert {"matplotlib", "typer", "rich"} <= set(MISSING)
    finished = without_extras(WORK, str(tmp_path / "model.npz"))
    assert finished.stdout == "done\n", finished.stderr


def test_pictures_name_their_extra():
    finished = without_extras(PICTURES)
    said = finished.stdout.splitlines()
    assert len(said) == 2 + len(figure_names()), finished.stderr
    assert set(said) == {"a picture needs matplotlib: pip install 'sparsetoken[plot]'"}


def test_the_command_names_its_extra():
    finished = without_extras("from sparsetoken.cli import main; main(['--help'])")
    sentence = "sparsetoken: the command line needs typer: pip install 'sparsetoken[cli]'\n"
    assert (finished.returncode, finished.stdout, finished.stderr) == (1, "", sentence)


def test_every_requirement_is_justified():
    text = (Path(__file__).parents[1] / "CONTRIBUTING.md").read_text()
    names = [re.match(r"[\w-]+", entry)[0] for entry in PROJECT["dependencies"]]
    reasons = re.findall(r"^- `([\w-]+)`: ", text, re.MULTILINE)
    assert sorted(reasons) == sorted(names)
