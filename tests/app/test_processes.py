"""Processes: how they refuse, what is overtaken, and those that die or take too long."""

import asyncio

import psutil
import pytest

from app import tasks
from app.tasks import SLOW, until
from sparsetoken.app.processes import OvertakenError, Pool, RefusedError, refusal

pytestmark = pytest.mark.system


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


@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        (ValueError("n_signal must be\n 1."), "Signal tokens must be 1."),
        (ValueError("x.csv holds n_tokens"), "x.csv holds sequence length."),
        (ValueError("the signal is weak"), "The signal is weak."),
        (KeyError("a"), "KeyError: 'a'."),
        (ValueError("a" * 1000), "A" + "a" * 499 + "."),
    ],
    ids=lambda part: str(part)[:20],
)
def test_refusals_are_sentences_in_the_words_of_the_page(error, sentence):
    assert str(refusal(error)) == sentence


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
