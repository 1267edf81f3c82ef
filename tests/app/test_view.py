"""What a view is made of."""

from sparsetoken.app.parameters import CONTROLS
from sparsetoken.app.view import View


def test_names_of_groups_stand_for_their_controls():
    names, defaults = ("fpr", "Problem"), {"signal": 3.0}
    view = View("name", "Title", "Why?", names, lambda values, send: None, defaults=defaults)
    assert list(view.controls)[:3] == ["fpr", "n_tokens", "n_signal"]
    assert view.controls["signal"].default == 3.0
    assert view.controls["fpr"] == CONTROLS["fpr"]
