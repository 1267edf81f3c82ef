"""Pictures: a step goes on where the one before stopped, first ones come first, newer ones win."""

import asyncio
import json

import pytest

from app import tasks
from app.tasks import until
from app.views.drawing import check
from sparsetoken.app.pictures import Pictures, draw
from sparsetoken.app.processes import OvertakenError, RefusedError

pytestmark = pytest.mark.system


def test_a_step_goes_on_where_the_one_before_stopped():
    values = check("alignment", {"loss": "square"})
    third = draw("alignment", values, 2)  # draws those before it too
    first, again = draw("alignment", values, 0), draw("alignment", values, 2)
    assert len(json.loads(first)["table"]["alpha0"]) < len(json.loads(third)["table"]["alpha0"])
    assert again == third
    assert draw("alignment", values, 3) == b""  # the one before was the last
    assert draw("alignment", values, 2) == third


def test_refusals_speak_as_the_page_does():
    values = check("attention-map", {"n_tokens": 3, "n_signal": 4})
    with pytest.raises(RefusedError, match=r"^Signal tokens must be an integer in \[1, 3\], got 4"):
        draw("attention-map", values, 0)


def test_first_pictures_do_not_wait_for_refinements_and_newer_ones_win(tmp_path):
    async def play():
        pictures = Pictures()
        values = check("attention-map", {})
        try:
            paths = tmp_path / "begun", tmp_path / "gate"
            slow = asyncio.create_task(pictures._refining.run(lambda: True, tasks.hold, *paths))
            await until(paths[0])
            asked = "one", 2, "attention-map", values
            assert json.loads(await pictures.draw(*asked, 0))["panels"]
            with pytest.raises(OvertakenError):
                await pictures.draw("one", 1, "attention-map", values, 0)
            assert await pictures.draw("two", 1, "attention-map", values, 0)
            assert not slow.done()
            paths[1].touch()
            assert await slow == b"held"
        finally:
            pictures.close()

    asyncio.run(play())
