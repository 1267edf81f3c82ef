"""Scripts and commands run; views/ compares what they print with what is shown."""

import pytest

from app.views.drawing import ODD, SPREAD, commanded, draw
from sparsetoken.app.scripts import script
from sparsetoken.app.views import VIEWS

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


@pytest.mark.system
@pytest.mark.parametrize("spread", [{}, SPREAD], ids=["one kind", "four kinds"])
@pytest.mark.parametrize("view", ["alignment", "attention-map", "phase"])
def test_commands_run(view, spread, capsys):
    spread = {name: value for name, value in spread.items() if name in VIEWS[view].names}
    content = draw(view, ODD | spread)
    numbers = commanded(content, capsys)
    if view == "alignment":
        shown = [content.facts["cosine between query and signal, γ"], content.facts["sharpness, κ"]]
        assert numbers == pytest.approx([float(text) for text in shown], rel=1e-3)
