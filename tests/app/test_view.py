"""What a view is made of: controls and a script."""

import pytest

from sparsetoken.app.parameters import CONTROLS
from sparsetoken.app.view import View


def test_names_of_groups_stand_for_their_controls():
    view = View("name", "Title", "Why?", ("fpr", "Problem"), "pass", lambda values, send: None)
    assert list(view.controls)[:3] == ["fpr", "n_tokens", "n_signal"]
    assert view.controls["fpr"] == CONTROLS["fpr"]
    assert view.check({"n_tokens": 4})["signal"] == 5.0
    assert "signal={signal}" in view.script
    assert "training" not in view.script
    for given, words in (
        ({"reg": 1.0}, "unknown value 'reg'"),
        ({"n_tokens": 0}, "Sequence length"),
    ):
        with pytest.raises(ValueError, match=words):
            view.check(given)
