import re

import pytest

from sparsetoken.experiments import Grid, Sweep, load_sweep

TEXT = """
quantities = ["test_error", "cosine"]
sources = ["theory"]

[fixed]
reg = 0.1

[axes]
model = ["pooled", "two-step"]
alpha = {start = 0.5, stop = 8, count = 5, spacing = "log"}
"""


def test_toml_and_python_are_the_same(tmp_path):
    path = tmp_path / "sweep.toml"
    path.write_text(TEXT)
    alphas = [0.5, 1.0, 2.0, 4.0, 8.0]
    axes = {"model": ["pooled", "two-step"], "alpha": alphas}
    grid = Grid(["test_error", "cosine"], axes, {"reg": 0.1}, ["theory"])
    found = load_sweep(path).cells()
    assert [cell.values["alpha"] for cell in found] == pytest.approx(alphas * 2)
    assert [c.quantities for c in found] == [c.quantities for c in Sweep([grid]).cells()]


def test_several_grids_share_the_top(tmp_path):
    path = tmp_path / "sweep.toml"
    path.write_text(
        """
        quantities = ["cosine"]
        [fixed]
        dim = 50
        trials = 2
        [[grid]]
        sources = ["theory"]
        axes = {alpha0 = [1, 2, 3]}
        [[grid]]
        sources = ["simulation"]
        axes = {alpha0 = [1], n_tokens = {start = 4, stop = 8, count = 2}}
        """
    )
    cells = load_sweep(path).cells()
    assert [cell.source for cell in cells] == ["theory"] * 3 + ["simulation"] * 2
    assert [cell.values["n_tokens"] for cell in cells] == [10] * 3 + [4, 8]
    assert cells[-1].values["dim"] == 50


def test_equal_cells_are_computed_once():
    axes = {"model": ["pooled"], "alpha": [1.0], "lr_query": [1.0, 2.0], "dim": [10, 20]}
    assert len(Sweep([Grid(["test_error"], axes)]).cells()) == 1 + 2


def test_there_is_theory_alone_on_lines():
    axes, lines = {"signal": [3.0], "alpha0": [1.0]}, {"alpha0": [1.0, 2.0]}
    cells = Sweep([Grid(["cosine"], axes, {"dim": 20, "trials": 2}, lines=lines)]).cells()
    found = [(cell.source, cell.values["alpha0"]) for cell in cells]
    assert found == [("theory", 1.0), ("theory", 2.0), ("simulation", 1.0)]


def test_grids_are_told_apart_by_their_columns():
    axes, fixed = {"alpha0": [1.0, 2.0]}, {"signal": 4.0}
    grids = [
        Grid(["cosine"], axes, fixed, ["theory"], columns={"panel": name})
        for name in ("a", "a", "b")
    ]
    sweep = Sweep(grids)
    assert len(sweep.cells()) == 2
    assert [dict(columns)["panel"] for _, columns in sweep.parts] == ["a", "a", "b", "b"]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("[fixed]", "[fixxed]", "unknown entry 'fixxed'; did you mean 'fixed'"),
        ("reg = 0.1", "regg = 0.1", "unknown value 'regg'; did you mean 'reg'"),
        ("reg = 0.1", "theta = 0.1", "unknown value 'theta'; did you mean 'signal', θ?"),
        ("reg = 0.1", "lambda = 0.1", "unknown value 'lambda'; did you mean 'reg', λ?"),
        ("alpha = {", "L = {", "unknown axis 'L'; did you mean 'n_tokens', L?"),
        ("alpha = {", "alhpa = {", "unknown axis 'alhpa'; did you mean 'alpha'"),
        ('"cosine"', '"cosin"', "unknown quantity 'cosin'; did you mean 'cosine'"),
        ('["theory"]', '["theorie"]', "source must be one of 'theory', 'simulation'"),
        ("start = 0.5", "begin = 0.5", "unknown entry of axis 'alpha' 'begin'"),
        ("start = 0.5", "start = -0.5", "log spacing must start and stop above 0"),
        ("count = 5", "count = 0", "count of axis 'alpha' must be an integer >= 1"),
        ('["pooled", "two-step"]', '["pool"]', "model must be one of"),
        ('["pooled", "two-step"]', '"pooled"', "axis 'model' must be a list of values"),
        ("reg = 0.1", "alpha = 2", "alpha is both fixed and an axis"),
        ('"log"', '"log', "is not TOML"),
    ],
)
def test_mistakes_name_the_file_and_the_nearest_name(tmp_path, old, new, message):
    path = tmp_path / "sweep.toml"
    assert old in TEXT
    path.write_text(TEXT.replace(old, new))
    with pytest.raises(ValueError, match=re.escape(message)) as caught:
        load_sweep(path)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)
