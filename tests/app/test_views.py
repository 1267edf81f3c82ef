"""What the views show is what the library computes, and their scripts compute the same."""

import contextlib
import io
import math
import re
import shlex
from itertools import islice

import numpy as np
import pytest

import sparsetoken as st
from sparsetoken.app.parameters import PRESETS, values_model
from sparsetoken.app.views import VIEWS, attention_map, phase
from sparsetoken.app.words import per_cent
from sparsetoken.cli import main
from sparsetoken.estimate import Estimate

pytestmark = pytest.mark.filterwarnings("ignore::sparsetoken.theory.ConvergenceWarning")

RATES = ("beta", "lr_readout", "lr_bias", "lr_query", "loss")
PROBLEM = ("n_tokens", "n_signal", "signal", "positive_rate")
LAST = 9  # the picture in full
ODD = {"loss": "square", "signal": 4.0, "positive_rate": 0.4}


def check(view, given):
    view = VIEWS[view]
    return values_model("Values", view.names, view.defaults)(**given).model_dump()


def draw(view, given=None, step=0):
    """Return a step of a picture; beyond the last, the last."""
    return list(islice(VIEWS[view].draw(check(view, given or {})), step + 1))[-1]


def curve(content, name, panel=0):
    return next(found for found in content.panels[panel].curves if found.name == name)


def rates(values):
    return {name: values[name] for name in RATES}


def printed(content):
    """Run the script of a view and return the numbers that it prints."""
    shown = io.StringIO()
    with contextlib.redirect_stdout(shown):
        exec(content.python, {})
    found = re.findall(r"nan|-?\b\d+(?:\.\d*)?(?:e[+-]?\d+)?", shown.getvalue())
    return [float(number) for number in found]


@pytest.mark.parametrize("view", [name for name in VIEWS if name != "planner"])
def test_first_and_last_picture(view):
    given = {"x_axis": "n_signal", "y_axis": "signal", "n_tokens": 3} if view == "phase" else {}
    pictures = list(VIEWS[view].draw(check(view, ODD | given)))
    assert [picture.more for picture in pictures] == [True] * (len(pictures) - 1) + [False]
    for content in pictures:
        assert content.sentence[0].isupper()
        assert content.sentence[-1] == "."
        assert "nan" not in content.sentence
        assert len(content.sentence) < 400
        for panel in content.panels:
            for found in panel.curves:
                assert len(found.x) == len(found.y)
                assert np.all(np.isfinite([*found.x, *found.y]))


@pytest.mark.parametrize("query_by", ["split", "alpha0"])
@pytest.mark.parametrize("quantity", ["test_error", "recall"])
def test_learning_curves(quantity, query_by):
    given = ODD | {"quantity": quantity, "query_by": query_by, "fpr": 0.05, "reg": 0.1}
    values = check("learning", given)
    content = draw("learning", given, LAST)
    problem = st.SparseTokenProblem(10, 1, 4.0, 0.4)
    table = content.table
    for model, alpha, shown in zip(table["model"], table["alpha"], table[quantity], strict=True):
        if not (alpha in (0.1, 20.0) or abs(alpha - 4.73) < 0.5):
            continue
        if model == "two-step":
            first = 0.5 * alpha if query_by == "split" else 2.0
            found = st.theory.two_step_risk(
                problem, alpha0=first, alpha1=alpha - first, reg=0.1, n_points=4096, **rates(values)
            )
        elif model == "optimal":
            found = st.theory.optimal(problem, alpha)
        else:
            found = st.theory.risk(problem, model, alpha=alpha, reg=0.1, loss="square")
        expected = found.recall(fpr=0.05) if quantity == "recall" else found.test_error
        assert shown == pytest.approx(expected, rel=1e-4)
    order = {"pooled": 0, "vectorized": 1, "optimal": 2, "two-step": 3}
    rows = sorted(zip(table["model"], table[quantity], strict=True), key=lambda r: order[r[0]])
    assert printed(content) == pytest.approx([value for _, value in rows], abs=2e-5)


def test_learning_says_where_a_curve_crosses_the_target():
    content = draw("learning", {"loss": "square", "signal": 10.0, "error": 0.1}, LAST)
    said = float(content.sentence.split("pooling needs ")[1].split()[0])
    problem = st.SparseTokenProblem(10, 1, 10.0)
    found = st.theory.risk(problem, "pooled", alpha=said, reg=0.01, loss="square")
    assert found.test_error == pytest.approx(0.1, rel=0.01)
    content = draw("learning", {"loss": "square", "features": 100}, LAST)
    limit = st.theory.risk(
        st.SparseTokenProblem(10, 1, 5.0), "pooled", alpha=math.inf, reg=0.01, loss="square"
    )
    said = content.sentence.split("pooling cannot get below ")[1]
    assert float(said.split()[0]) == pytest.approx(100 * limit.test_error, abs=0.5)
    alpha, n = re.search(
        r"attention needs (\S+) samples per dimension \(n = (\d+)\)", content.sentence
    ).groups()
    assert int(n) == pytest.approx(100 * float(alpha), rel=0.01)
    floor = curve(content, "Bayes floor").y
    expected = st.theory.oracle_error(st.SparseTokenProblem(10, 1, 5.0), "bayes")
    assert floor == pytest.approx([expected] * 2, rel=2e-3)


@pytest.mark.parametrize("preset", PRESETS)
def test_attention_has_something_to_find_in_every_preset(preset):
    given = {n: v for n, v in PRESETS[preset].items() if n in VIEWS["learning"].names}
    attention, pooled = (
        curve(draw("learning", given), n).y[-1] for n in ("two-step attention", "pooled")
    )
    if given.get("quantity") == "recall":
        assert attention > 0.9 > 0.2 > pooled
    else:
        assert attention < 0.03 < 0.2 < pooled


def test_the_majority_is_drawn_where_classes_are_unequal():
    content = draw("learning", {"loss": "square", "positive_rate": 0.01})
    assert curve(content, "always the larger class").y == [0.01, 0.01]
    assert "Always answering the larger class errs on 1\N{NO-BREAK SPACE}%" in content.sentence
    content = draw("learning", {"loss": "square"})
    assert all(found.name != "always the larger class" for found in content.panels[0].curves)


def test_recall():
    content = draw("recall", ODD | {"fpr": 0.02}, 1)
    problem = st.SparseTokenProblem(10, 1, 4.0, 0.4)
    pooled = st.theory.risk(problem, "pooled", alpha=2.0, reg=0.01, loss="square")
    shown = curve(content, "pooled")
    for i in (0, 20, 40):
        assert shown.y[i] == pytest.approx(pooled.recall(fpr=shown.x[i]), rel=1e-5)
    assert content.facts["recall of pooled"].startswith(f"{pooled.recall(fpr=0.02):.4f} ± ")
    numbers = printed(content)
    facts = [float(text.split()[0]) for text in content.facts.values()]
    assert [numbers[0], numbers[2], numbers[4]] == pytest.approx(facts[:3], abs=2e-3)


def test_training():
    given = {"steps": 4, "signal": 4.0, "batches": "reused"}
    content = draw("training", given, 1)
    values = check("training", given)
    found = st.theory.training(
        st.SparseTokenProblem(10, 1, 4.0),
        steps=4,
        alpha=2.0,
        batches="reused",
        reg=values["reg"],
        n_points=16384,
        **rates(values),
    )
    assert curve(content, "query").y == pytest.approx(found.cosine)
    assert curve(content, "test error", 1).y == pytest.approx(found.test_error)
    assert printed(content) == pytest.approx([*found.cosine, *found.test_error], abs=2e-5)

    *_, last = found.test_error
    assert f"the test error is {per_cent(last)}" in content.sentence
    assert content.sentence.count("%") == (1 if last == min(found.test_error) else 2)
    colors = [line.color for panel in content.panels for line in panel.curves]
    assert len(set(colors)) == len(colors) == 3


@pytest.mark.parametrize(
    ("given", "ending"),
    [({}, ", the lowest so far."), ({"loss": "square"}, "; it was lowest after step 1, at ")],
)
def test_training_says_which_step_was_best(given, ending):
    content = draw("training", given)
    errors = content.table["test_error"]
    assert errors.index(min(errors)) == (0 if given else 9)
    assert ending in content.sentence


@pytest.mark.filterwarnings("ignore::sparsetoken.theory.ConvergenceWarning")
def test_training_that_runs_away_is_drawn_as_far_as_it_goes():
    given = {"loss": "square", "lr_readout": 50.0, "lr_query": 50.0, "steps": 12}
    content = draw("training", given)
    assert curve(content, "query").x == [1, 2] == content.table["step"]
    assert "After 2 steps" in content.sentence
    assert "cannot be followed" in content.sentence
    with pytest.raises(ValueError, match="first step already runs away"):
        draw("training", given | {"batches": "online"})


def test_populations():
    given = ODD | {"signal_spread": 0.25, "length_spread": 0.4}
    content = draw("learning", given, LAST)
    shown = set(content.table["model"])
    assert shown == {"two-step", "pooled", "optimal"}  # one length for vectorized
    kinds = [
        st.SparseTokenProblem(n_tokens, 1, signal, 0.4) for signal in (3, 5) for n_tokens in (6, 14)
    ]
    found = st.theory.risk(st.Population(kinds), "pooled", alpha=20.0, reg=0.01, loss="square")
    errors = dict.fromkeys(shown, ())
    for model, error in zip(content.table["model"], content.table["test_error"], strict=True):
        errors[model] += (error,)
    assert errors["pooled"][-1] == pytest.approx(found.test_error, rel=1e-5)
    assert printed(content)[:25] == pytest.approx(errors["pooled"], abs=2e-5)
    floor = st.theory.oracle_error(st.Population(kinds), "bayes", n_points=4096)
    assert curve(content, "Bayes floor").y == pytest.approx([floor] * 2, rel=1e-2)


def test_alignment():
    given = {"alpha0": 4.0, "positive_rate": 0.2}
    content = draw("alignment", given, LAST)
    values = check("alignment", given)
    problem = st.SparseTokenProblem(10, 1, 5.0, 0.2)
    shown = curve(content, "cosine")
    for i in (0, 24, 48):
        found = st.theory.alignment(problem, alpha=shown.x[i], **rates(values))
        assert shown.y[i] == pytest.approx(found.cosine, rel=1e-9)
    drawn = content.panels[1].map
    found = st.theory.alignment(
        st.SparseTokenProblem(10, 1, 5.0, drawn.x[3]),
        alpha=4.0,
        **rates(values) | {"lr_bias": drawn.y[5]},
    )
    assert drawn.z[5][3] == pytest.approx(found.cosine, rel=1e-9)
    here = st.theory.alignment(problem, alpha=4.0, **rates(values))
    assert f"a cosine of {here.cosine:.3f}" in content.sentence
    assert content.facts["sharpness, κ"] == f"{here.sharpness:.4g}"
    assert printed(content)[-49:] == pytest.approx(shown.y, abs=2e-5)


@pytest.mark.parametrize("axis", ["signal", "n_tokens"])
def test_capacity(axis):
    content = draw("capacity", {"capacity_axis": axis})
    table = content.table
    rows = list(zip(table["model"], table[axis], table["capacity"], strict=True))
    for model, x, shown in rows[len(rows) // 3 :: 2]:
        problem = st.SparseTokenProblem(**{"n_tokens": 10, "signal": 5.0} | {axis: x})
        if shown is not None:
            assert shown == pytest.approx(float(st.theory.capacity(problem, model)), rel=1e-6)
    facts = [float(value) for value in draw("capacity", {"capacity_axis": axis}, 1).facts.values()]
    assert printed(content)[::2] == pytest.approx(facts, rel=5e-3)  # and error bars


@pytest.mark.parametrize("axes", [("signal", "alpha"), ("n_tokens", "positive_rate")])
def test_phase_diagram(axes):
    x, y = axes
    content = draw("phase", ODD | {"x_axis": x, "y_axis": y})
    values = check("phase", ODD)
    table, drawn = content.table, content.panels[0].map
    for i in range(0, len(table[x]), 3):
        case = values | {x: table[x][i], y: table[y][i]}
        problem = st.SparseTokenProblem(**{name: case[name] for name in PROBLEM})
        half = 0.5 * case["alpha"]
        attention = st.theory.two_step_risk(
            problem, alpha0=half, alpha1=half, reg=0.01, n_points=256, **rates(values)
        )
        pooled = st.theory.risk(problem, "pooled", alpha=case["alpha"], reg=0.01, loss="square")
        assert table["two-step"][i] == pytest.approx(attention.test_error, rel=1e-4)
        assert table["pooled"][i] == pytest.approx(pooled.test_error, rel=1e-4)
        shown = drawn.z[drawn.y.index(table[y][i])][drawn.x.index(table[x][i])]
        gained = phase.gain((attention.test_error, pooled.test_error))
        assert abs(shown) * shown == pytest.approx(gained / 2, abs=1e-3)


def test_no_edge_runs_through_noise():
    flat = {"signal": 0.0, "x_axis": "reg", "loss": "square"}
    drawn = draw("phase", flat).panels[0].map
    low, high = drawn.edges
    assert low < np.min(drawn.z) <= np.max(drawn.z) < high == -low
    attention, pooled, worse = (Estimate(error, 0.01) for error in (0.10, 0.12, 0.2))
    assert phase.gain((attention, pooled)) == 0.0
    assert math.log10(1.05) < phase.gain((attention, worse)) < math.log10(2.0)


def test_the_phase_diagram_has_a_line_for_the_best_learner():
    given = {"loss": "square", "x_axis": "n_tokens", "y_axis": "alpha", "signal": 3.0}
    values = check("phase", given | {"error": 0.2})
    (line,) = phase._best_possible(values)
    assert line.name == "best possible: 20\N{NO-BREAK SPACE}% error"
    for length, alpha in zip(line.x, line.y, strict=True):
        best = st.theory.optimal(st.SparseTokenProblem(int(length), 1, 3.0), alpha)
        assert best.test_error == pytest.approx(0.2, rel=1e-3)
    (turned,) = phase._best_possible(values | {"x_axis": "alpha", "y_axis": "n_tokens"})
    assert (turned.x, turned.y) == (line.y, line.x)
    assert phase._best_possible(values | {"y_axis": "signal"}) == []
    assert phase._best_possible(values | {"n_signal": 2}) == []


def test_phase_needs_two_axes():
    with pytest.raises(ValueError, match="axes must differ"):
        draw("phase", {"x_axis": "reg", "y_axis": "reg"})


def test_the_phase_diagram_sums_up_when_its_map_is_there():
    given = ODD | {"x_axis": "signal", "y_axis": "reg", "n_tokens": 4}
    *coarse, full = VIEWS["phase"].draw(check("phase", given))
    assert coarse
    for content in coarse:
        assert content.sentence.startswith("At the cross attention's error is")
        assert content.sentence.endswith("the map is being drawn.")
    table = full.table
    gains = [
        math.log10((pooled + 1e-4) / (attention + 1e-4))
        for attention, pooled in zip(table["two-step"], table["pooled"], strict=True)
    ]
    numbers = re.findall(r"(\d[\d.]*)\N{NO-BREAK SPACE}%", full.sentence)
    for said, side in zip(numbers, (1, -1), strict=False):
        won = 100 * np.mean([side * gained > math.log10(1.05) for gained in gains])
        assert float(said) == pytest.approx(won, abs=2.0)  # but for what may be numerical error


def test_colors_of_the_phase_diagram_show_who_wins_by_little():
    assert phase.shade(math.log10(100)) == pytest.approx(1.0)
    assert phase.shade(math.log10(0.01)) == pytest.approx(-1.0)
    assert phase.shade(math.log10(0.9)) < -0.15


def test_attention_map():
    given = {"n_tokens": 12, "n_signal": 3, "signal": 4.0, "random_state": 5}
    content = draw("attention-map", given)
    drawn, _ = attention_map.draw_sequences(check("attention-map", given))
    assert content.table["weight"] == pytest.approx(drawn.weights.ravel())
    assert drawn.weights.sum(axis=2).ravel() == pytest.approx([1.0, 1.0])
    assert sum(content.table["carries_signal"]) == 3
    shown = sum(curve(content, "signal tokens").y)
    assert content.facts["weight on signal tokens"] == f"{shown:.4f}"
    assert [found.name for found in content.panels[1].curves] == ["noise tokens"]
    left, right = content.panels
    assert left.y.ends == right.y.ends  # bars can be compared
    assert max(content.table["weight"]) < left.y.ends[1] < 1.1 * max(content.table["weight"])
    assert printed(content) == pytest.approx(content.table["weight"], abs=1e-4)


def commanded(content, capsys):
    """Run the command of a view and return the numbers that it prints."""
    with pytest.raises(SystemExit) as ended:
        main([*shlex.split(content.command)[1:], "--json"])
    assert not ended.value.code
    return [float(value) for value in re.findall(r'"value": ([-\d.e]+)', capsys.readouterr().out)]


SPREAD = {"signal_spread": 0.5, "length_spread": 0.5}


@pytest.mark.parametrize("spread", [{}, SPREAD], ids=["one kind", "four kinds"])
@pytest.mark.parametrize("view", ["alignment", "attention-map", "phase"])
def test_commands_run(view, spread, capsys):
    spread = {name: value for name, value in spread.items() if name in VIEWS[view].names}
    content = draw(view, ODD | spread)
    numbers = commanded(content, capsys)
    if view == "alignment":
        shown = [content.facts["cosine between query and signal, γ"], content.facts["sharpness, κ"]]
        assert numbers == pytest.approx([float(text) for text in shown], rel=1e-3)


@pytest.mark.parametrize(
    "given",
    [
        SPREAD,
        {"query_by": "alpha0", "alpha0": 1.5},
        {"quantity": "recall", "fpr": 0.05, "signal_spread": 0.5},
    ],
    ids=str,
)
def test_the_command_of_learning_curves_gives_the_end_of_the_curve(given, capsys):
    content = draw("learning", ODD | given | {"alpha_max": 3.0}, LAST)
    (value,) = commanded(content, capsys)
    assert value == pytest.approx(curve(content, "two-step attention").y[-1], rel=3e-3)


@pytest.mark.parametrize("quantity", ["test_error", "recall"])
def test_simulated_points_are_of_the_population_of_the_curves(quantity):
    given = {
        "loss": "square",
        "reg": 0.1,
        "signal": 5.0,
        "signal_spread": 0.6,
        "quantity": quantity,
    }
    given |= {"dim": 60, "trials": 16, "alpha_max": 4.0, "fpr": 0.05, "n_tokens": 4}
    *_, last = worked("learning", given)
    assert last.done == last.total
    points = curve(last.content, "pooled, simulated")
    drawn = curve(draw("learning", given, LAST), "pooled")
    assert points.x[-1] == drawn.x[-1] == 4.0
    gap = abs(points.y[-1] - drawn.y[-1])
    assert gap < 4 * points.error[-1] + 0.01  # the theory is for many dimensions
    plain = st.SparseTokenProblem(4, 1, 5.0)
    alone = st.theory.risk(plain, "pooled", alpha=4.0, reg=0.1, loss="square")
    expected = alone.recall(fpr=0.05) if quantity == "recall" else alone.test_error
    assert abs(points.y[-1] - expected) > 8 * points.error[-1] + 0.01  # it would see that


def test_a_simulation_without_enough_of_the_rarer_class_says_so():
    given = {"positive_rate": 0.01, "dim": 20, "alpha_max": 20.0}
    with pytest.raises(ValueError, match="4 sequences of the rarer class are too few to simulate"):
        worked("learning", given)


PLAN = {"plan_model": "pooled", "error": 0.25, "features": 50}


def worked(view, given):
    """Return the progress of a view's work."""
    steps = []
    VIEWS[view].work(check(view, given), steps.append)
    return steps


def test_planner(capsys):
    steps = worked("planner", PLAN)
    assert steps[-1].done == steps[-1].total
    content = steps[-1].content
    plan = st.plan(
        dim=50, n_tokens=10, n_signal=1, signal=5.0, positive_rate=0.5, error=0.25, model="pooled"
    )
    assert f"needs {plan.n_samples} labelled sequences" in content.sentence
    assert content.facts["samples"] == str(plan.n_samples)
    assert curve(content, "the plan").x == [plan.n_samples]
    drawn = {found.model for found in content.panels[0].curves if found.look == "line"}
    assert drawn == {"pooled", "two-step", "vectorized", "optimal"}
    assert f"no learner does with fewer than {plan.least_samples}" in content.sentence
    with pytest.raises(SystemExit):
        main([*shlex.split(content.command)[1:], "--json"])
    assert f'"n_samples": {plan.n_samples}' in capsys.readouterr().out
    assert plan.n_samples in printed(content)


def test_a_plan_from_a_pasted_curve():
    text = "n_samples,error\n50,0.31\n100,0.24\n200,0.17\n400,0.13\n"
    given = {"curve": text, "test_samples": 1000, "error": 0.1}
    content = worked("planner", given)[-1].content
    plan = st.plan.from_curve([50, 100, 200, 400], [0.31, 0.24, 0.17, 0.13], n_test=1000, error=0.1)
    assert plan.answer.rstrip(".") in content.sentence
    assert curve(content, "measured ± s.e.").y == [0.31, 0.24, 0.17, 0.13]
    assert curve(content, "expected error, 80 %").y == list(plan.curve.median)
    assert float(plan.n_samples) in printed(content)
    wrong = worked("planner", {"curve": "n_samples,error\n50,many\n"})[-1].content
    assert "numbers" in wrong.sentence
    assert wrong.panels == []


def test_an_impossible_plan_says_why():
    content = worked("planner", PLAN | {"error": 0.001})[-1].content
    assert "0.001" in content.sentence
    assert content.panels == []
    assert draw("planner", PLAN).sentence == "Planning …"
