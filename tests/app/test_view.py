"""What a view is made of."""

import pytest

from sparsetoken.app.parameters import CONTROLS
from sparsetoken.app.view import View


def test_names_of_groups_stand_for_their_controls():
    names, defaults = ("fpr", "Problem"), {"signal": 3.0}
    view = View("name", "Title", "Why?", names, lambda values, send: None, defaults=defaults)
    assert list(view.controls)[:3] == ["fpr", "n_tokens", "n_signal"]
    assert view.controls["signal"].default == 3.0
    assert view.controls["fpr"] == CONTROLS["fpr"]
    assert view.check({"n_tokens": 4})["signal"] == 3.0
    for given, words in (
        ({"n_tokens": 3, "n_signal": 4}, "4 signal tokens do not fit into a sequence of 3"),
        ({"reg": 1.0}, "unknown value 'reg'"),
        ({"n_tokens": 0}, "Sequence length"),
    ):
        with pytest.raises(ValueError, match=words):
            view.check(given)
