"""Processes: lines as they come, what is aborted stops, and those that die are replaced."""

import asyncio
import json
import time
from contextlib import aclosing

import psutil
import pytest

from app import tasks
from sparsetoken.app import workers
from sparsetoken.app.workers import Workers

pytestmark = pytest.mark.system
NEVER = "no such file"


def with_workers(play):
    """Run a coroutine function with workers, and see that none of them is left."""

    async def run():
        crew = Workers()
        try:
            return await play(crew)
        finally:
            crew.close()

    answer = asyncio.run(run())
    deadline = time.monotonic() + 60
    while any("_work" in " ".join(p.cmdline()) for p in psutil.Process().children()):
        assert time.monotonic() < deadline
    return answer


async def answered(crew, function, *arguments):
    return [json.loads(line) async for line in crew.answer(function, *arguments)]


async def begun(crew, function, *arguments):
    """Return an answer under way, and the process of its first line."""
    answer = crew.answer(function, *arguments)
    line = json.loads(await anext(answer))
    return answer, psutil.Process(int(line["progress"]))


def is_over(process):
    return not process.is_running() or process.status() == psutil.STATUS_ZOMBIE


async def until(condition):
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline
        await asyncio.sleep(0.01)


def test_lines_come_in_order_and_a_process_is_used_again():
    async def play(crew):
        lines = await answered(crew, tasks.count, 3)
        assert [line["sentence"] for line in lines] == ["0", "1", "2"]
        await asyncio.sleep(0)  # it is put back
        (again,) = await answered(crew, tasks.count, 1)
        assert again["progress"] == lines[0]["progress"]

    with_workers(play)


def test_several_are_answered_at_once(tmp_path):
    async def play(crew):
        gate = tmp_path / "gate"
        held = [await begun(crew, tasks.hold, gate) for _ in range(3)]
        assert len({process.pid for _, process in held}) == 3
        gate.touch()
        assert [[line async for line in answer] for answer, _ in held] == [[], [], []]

    with_workers(play)


def test_what_nobody_listens_to_stops(tmp_path):
    async def play(crew):
        answer, process = await begun(crew, tasks.go_on, tmp_path / "ended")
        await answer.aclose()
        await until((tmp_path / "ended").exists)
        await until(lambda: [w.process.pid for w in crew._idle[-1:]] == [process.pid])
        (line,) = await answered(crew, tasks.count, 1)
        assert line["progress"] == str(process.pid)  # it has stopped by itself and is used again

    with_workers(play)


def test_what_does_not_stop_is_ended(monkeypatch):
    monkeypatch.setattr(workers, "_PATIENCE", 0.1)

    async def play(crew):
        answer, process = await begun(crew, tasks.hold, NEVER)
        async with aclosing(answer):
            pass
        await until(lambda: is_over(process))
        assert await answered(crew, tasks.count, 1)

    with_workers(play)


@pytest.mark.parametrize(
    ("kind", "sentence"),
    [
        ("value", "n_tokens must be 1."),
        ("other", "KeyError: 'n_tokens must\\n be 1.'."),
        ("die", "The process that computed this has died."),
    ],
)
def test_failures_are_sentences(kind, sentence):
    async def play(crew):
        assert await answered(crew, tasks.fail, kind) == [{"error": sentence}]
        assert len(await answered(crew, tasks.count, 1)) == 1

    with_workers(play)
