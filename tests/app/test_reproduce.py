"""The scripts and command lines that the views offer give the numbers that the views show."""

import contextlib
import csv
import io
import json
import re
import shlex

import numpy as np
import pytest

from sparsetoken.app.content import Drawing
from sparsetoken.app.parameters import check_values
from sparsetoken.app.views import VIEWS
from sparsetoken.cli import main
from sparsetoken.experiments import load_sweep, make_cell

pytestmark = pytest.mark.filterwarnings("ignore::sparsetoken.theory.ConvergenceWarning")

SQUARE = {"loss": "square", "signal": 4.0, "positive_rate": 0.4}


def draw(view, given):
    view = VIEWS[view]
    return view.draw(check_values(given, view.names), Drawing(1))


def printed(script):
    """Run a script and return the numbers that it prints."""
    shown = io.StringIO()
    with contextlib.redirect_stdout(shown):
        exec(script, {})
    found = re.findall(r"nan|-?\b\d+(?:\.\d*)?(?:e[+-]?\d+)?", shown.getvalue())
    return [float(number) for number in found]


@pytest.mark.parametrize("query_by", ["split", "alpha0"])
@pytest.mark.parametrize("quantity", ["test_error", "auc"])
def test_learning_script(quantity, query_by):
    content = draw("learning", SQUARE | {"quantity": quantity, "query_by": query_by})
    order = {"pooled": 0, "vectorized": 1, "two-step": 2}
    rows = sorted(content.rows, key=lambda row: order[row["model"]])
    assert printed(content.python) == pytest.approx([row["value"] for row in rows], abs=2e-5)


def test_alignment_script():
    content = draw("alignment", SQUARE)
    cosines = [row["value"] for row in content.rows if row["quantity"] == "cosine"][:49]
    assert printed(content.python)[-49:] == pytest.approx(cosines, abs=2e-5)


@pytest.mark.parametrize("axes", [("signal", "alpha"), ("n_tokens", "n_signal")])
def test_phase_script(axes):
    x, y = axes
    view, given = VIEWS["phase"], SQUARE | {"x_axis": x, "y_axis": y}
    content = view.draw(check_values(given, view.names), Drawing(0))
    errors = {(row["model"], row[x], row[y]): row["value"] for row in content.rows}
    heat = content.figure["data"][0]
    ratios = [
        errors["pooled", across, up] / errors["two-step", across, up]
        if ("pooled", across, up) in errors
        else np.nan
        for up in heat["y"][::4]
        for across in heat["x"][::4]
    ]
    assert printed(content.python) == pytest.approx(ratios, abs=6e-4, rel=1e-3, nan_ok=True)


def test_capacity_script():
    content = draw("capacity", SQUARE)
    facts = [float(value) for _, value in content.facts]
    assert printed(content.python)[::2] == pytest.approx(facts, rel=5e-3)  # and error bars


def test_attention_map_script():
    content = draw("attention-map", SQUARE | {"n_tokens": 6, "n_signal": 2, "seed": 4})
    weights = [row["value"] for row in content.rows if row["stage"] == "after"]
    assert printed(content.python) == pytest.approx(weights, abs=1e-4)


PLAN = {"plan_model": "pooled", "target": 0.25, "plan_dim": 50}


def planned():
    view = VIEWS["planner"]
    values = check_values(PLAN, view.names)
    known = {task.key: task.function(task.argument) for task in view.tasks(values)}
    return view.draw(values, Drawing(known=known.get))


def test_planner_script_and_command(capsys):
    content = planned()
    n_samples = int(dict(content.facts)["samples"])
    assert n_samples in printed(content.python)
    capsys.readouterr()
    with pytest.raises(SystemExit):
        main([*shlex.split(content.command)[1:], "--json"])
    assert json.loads(capsys.readouterr().out)["n_samples"] == n_samples


def test_attention_map_command(capsys):
    content = draw("attention-map", SQUARE)
    with pytest.raises(SystemExit):
        main([*shlex.split(content.command)[1:], "--json"])
    said = json.loads(capsys.readouterr().out)
    drawn = float(dict(content.facts)["cosine of query and signal"])
    cosine = said["cosine"] if isinstance(said, dict) else said[0]
    value = cosine["value"] if isinstance(cosine, dict) else cosine
    assert value == pytest.approx(drawn, abs=0.1)  # the theory of what is drawn


def run_sweep(command, folder, monkeypatch):
    """Do what the lines do, in this process, and return the table that they leave."""
    head, _, rest = command.partition("\n")
    assert head == "cat > sweep.toml <<'END'"
    text, _, lines = rest.partition("\nEND\n")
    (folder / "sweep.toml").write_text(text + "\n")
    monkeypatch.chdir(folder)
    for line in lines.splitlines():
        words = shlex.split(line)
        assert words[:2] == ["sparsetoken", "sweep"]
        alone = ["--workers", "1"] if words[2] == "run" else []
        with pytest.raises(SystemExit) as ended:
            main(words[1:] + alone)
        assert not ended.value.code
    with (folder / "sweep.csv").open() as table:
        return list(csv.DictReader(table))


@pytest.mark.parametrize(
    ("view", "given", "names"),
    [
        ("learning", SQUARE, ("model", "alpha")),
        (
            "learning",
            SQUARE | {"query_by": "alpha0", "quantity": "train_loss"},
            ("model", "alpha1"),
        ),
        ("alignment", SQUARE, ("alpha0", "quantity")),
        ("capacity", SQUARE | {"capacity_axis": "n_signal"}, ("model", "n_signal")),
    ],
    ids=lambda part: part if isinstance(part, str) else None,
)
def test_sweep_commands(view, given, names, tmp_path, monkeypatch):
    content = draw(view, given)
    table = run_sweep(content.command, tmp_path, monkeypatch)
    shown = {}
    for row in content.rows:
        shown.setdefault(tuple(str(row.get(name, "")) for name in names), row["value"])
    found = {tuple(row.get(name) or "" for name in names): float(row["value"]) for row in table}
    if "alpha1" in names:  # of the linear models the table has alpha, the same for all here
        found = {key: value for key, value in found.items() if key[0] == "two-step"}
        shown = {key: shown[key] for key in shown if key[0] == "two-step"}
    assert set(found) <= set(shown)
    assert len(found) > 10
    tolerance = 0.02 if view == "capacity" else 1e-4  # of Monte Carlo points, of a warm start
    for key, value in found.items():
        assert value == pytest.approx(shown[key], rel=tolerance), key


@pytest.mark.parametrize(
    "axes", [("signal", "alpha"), ("n_tokens", "n_signal"), ("n_signal", "reg")], ids=str
)
def test_phase_command_asks_for_the_cells_of_the_map(axes, tmp_path):
    view = VIEWS["phase"]
    values = check_values(SQUARE | {"x_axis": axes[0], "y_axis": axes[1]}, view.names)
    content = view.draw(values, Drawing(0))
    path = tmp_path / "sweep.toml"
    path.write_text(content.command.partition("\n")[2].partition("\nEND\n")[0])
    keys = {cell.key for cell in load_sweep(path).cells()}
    names = {*view.names, "model", "n_points"}
    for row in content.rows:
        chosen = {name: value for name, value in row.items() if name in names}
        assert make_cell("theory", "test_error", chosen).key in keys
