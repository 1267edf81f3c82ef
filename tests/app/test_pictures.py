"""Pictures: who is overtaken, what goes on where it stopped, and processes that die."""

import asyncio
import json
import time
from pathlib import Path

import psutil
import pytest

from app import tasks
from sparsetoken.app.content import Content
from sparsetoken.app.parameters import values_model
from sparsetoken.app.pictures import OvertakenError, Pictures, Pool, draw
from sparsetoken.app.processes import RefusedError
from sparsetoken.app.views import VIEWS

SLOW = 120.0


def with_pool(play, longest=SLOW):
    """Run a coroutine function on a pool of one process."""

    async def run():
        pool = Pool(1, longest, tasks.nothing)
        try:
            return await play(pool)
        finally:
            pool.close()

    return asyncio.run(run())


def wanted():
    return True


async def until(path):
    """Wait for a file that a process writes, and return what it says."""
    deadline = time.monotonic() + SLOW
    while not Path(path).exists():
        assert time.monotonic() < deadline
        await asyncio.sleep(0.01)
    return Path(path).read_text()


def check(view, given):
    return values_model("Values", VIEWS[view].names, VIEWS[view].defaults)(**given).model_dump()


def test_a_step_is_a_function_of_view_values_and_step():
    values = check("alignment", {"loss": "square"})
    third = draw("alignment", values, 2)  # draws those before it too
    assert [draw("alignment", values, step) for step in (2, 0, 2)] == [
        third,
        Content.model_validate_json(draw("alignment", values, 0)).model_dump_json().encode(),
        third,
    ]
    assert json.loads(third)["more"] is False
    with pytest.raises(RefusedError, match=r"^There is no step 3\.$"):
        draw("alignment", values, 3)
    assert draw("alignment", values, 2) == third  # begun anew


def test_refusals_speak_as_the_page_does():
    values = check("attention-map", {"n_tokens": 3, "n_signal": 4})
    with pytest.raises(RefusedError, match=r"^Signal tokens must be an integer in \[1, 3\], got 4"):
        draw("attention-map", values, 0)


def test_what_is_overtaken_costs_nothing(tmp_path):
    newest = 4

    async def play(pool):
        def ask(number):
            return pool.run(lambda: number == newest, tasks.touch, tmp_path / str(number))

        async def release():  # runs when all others wait
            (tmp_path / "gate").touch()

        slow = pool.run(wanted, tasks.hold, tmp_path / "begun", tmp_path / "gate")
        return await asyncio.gather(slow, *map(ask, range(5)), release(), return_exceptions=True)

    held, *others, _ = with_pool(play)
    assert held == b"held"
    assert [isinstance(other, OvertakenError) for other in others] == [True] * 4 + [False]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["4", "begun", "gate"]


def test_first_pictures_do_not_wait_for_refinements_and_newer_ones_win(tmp_path):
    async def play():
        pictures = Pictures()
        values = check("attention-map", {})
        try:
            paths = tmp_path / "begun", tmp_path / "gate"
            slow = asyncio.create_task(pictures._refining.run(wanted, tasks.hold, *paths))
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


def test_a_killed_process_is_replaced_without_a_word(tmp_path):
    async def play(pool):
        begun, gate = tmp_path / "begun", tmp_path / "gate"
        at_work = asyncio.create_task(pool.run(wanted, tasks.hold, begun, gate))
        psutil.Process(int(await until(begun))).kill()
        begun.unlink()
        idle = psutil.Process(int(await until(begun)))  # it has begun again
        gate.touch()
        assert await at_work == b"held"
        idle.kill()
        assert await pool.run(wanted, tasks.touch, tmp_path / "next") == b"done"
        assert await pool.run(wanted, tasks.die_once, tmp_path / "died") == b"alive"

    with_pool(play)


def test_what_kills_its_process_twice_is_refused(tmp_path):
    async def play(pool):
        with pytest.raises(RefusedError, match=r"^The process that computed this has died\.$"):
            await pool.run(wanted, tasks.die)
        assert await pool.run(wanted, tasks.touch, tmp_path / "next") == b"done"

    with_pool(play)


def test_what_takes_too_long_is_ended(tmp_path):
    async def play(pool):
        with pytest.raises(RefusedError, match=r"^This took more than 0\.5 s and was stopped\.$"):
            await pool.run(wanted, tasks.hold, tmp_path / "begun", tmp_path / "gate")
        process = int((tmp_path / "begun").read_text())
        assert await pool.run(wanted, tasks.touch, tmp_path / "next") == b"done"
        return process

    process = with_pool(play, longest=0.5)
    assert not psutil.pid_exists(process) or psutil.Process(process).status() == "zombie"


def test_whoever_waits_at_the_end_is_overtaken(tmp_path):
    async def play(pool):
        begun = tmp_path / "begun"
        asked = asyncio.create_task(pool.run(wanted, tasks.hold, begun, tmp_path / "gate"))
        await until(begun)
        pool.close()
        with pytest.raises(OvertakenError):
            await asked

    with_pool(play)
