"""Scripts and commands run; views/ compares what they print with what is shown."""

import pytest

from app.views.drawing import ODD, commanded, first
from sparsetoken.app.scripts import script, theory_command

pytestmark = pytest.mark.filterwarnings("ignore::sparsetoken.theory.ConvergenceWarning")


def test_a_script_makes_the_problem_and_fills_in_values():
    values = {"n_tokens": 4, "signal": 3.0, "signal_spread": 0.5, "loss": "square", "beta": 2.0}
    text = script(values, "print(problem, {signal!r}, {training!r}, {size})", size=7)
    assert text.splitlines()[3:] == [
        "problem = st.Population.spread(st.SparseTokenProblem(n_tokens=4, signal=3.0), n_nodes=2, "
        "signal=('normal', 3.0, 1.5))",
        "print(problem, 3.0, {'beta': 2.0, 'loss': 'square'}, 7)",
    ]
    exec(text, {})


def test_a_command_has_the_options_of_the_values():
    values = {"n_tokens": 4, "signal": 3.0, "signal_spread": 0.0, "alpha": 2.0, "reg": 0.1}
    command = theory_command("auc", values, "alpha")
    assert command == "sparsetoken theory auc --n-tokens 4 --signal 3.0 --reg 0.1 --alpha 2.0"
    assert theory_command("auc", values | {"signal_spread": 0.5}, "alpha") == ""


@pytest.mark.system
@pytest.mark.parametrize("view", ["phase", "capacity"])
def test_commands_run(view, capsys):
    assert commanded(first(view, ODD), capsys)
