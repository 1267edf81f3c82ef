"""Pictures: who is overtaken, what is computed once, and what happens to a process that dies."""

import asyncio
import json

import pytest

from app import tasks
from sparsetoken.app.pictures import OvertakenError, Pictures
from sparsetoken.app.processes import RefusedError, Task


def with_pictures(play, **options):
    """Run a coroutine function on one process that draws."""

    async def run():
        pictures = Pictures(tasks.nothing, 1, **options)
        pictures.start()
        try:
            return await play(pictures)
        finally:
            pictures.close()

    return asyncio.run(run())


def counting(log, total=3):
    return Task(f"count {log} {total}", tasks.count, (str(log), total))


def test_steps_go_on_where_they_stopped_and_equal_ones_are_computed_once(tmp_path):
    log = tmp_path / "log"

    async def play(pictures):
        for step in (0, 1, 1, 0, 2):
            answer = json.loads(await pictures.draw("one", 0, counting(log), step))
            assert answer["done"] == step + 1
        both = [pictures.draw(who, 0, counting(log, 4), 0) for who in ("one", "two", "three")]
        assert len(set(await asyncio.gather(*both))) == 1
        with pytest.raises(RefusedError, match="no step 3"):
            await pictures.draw("one", 0, counting(log), 3)

    with_pictures(play)
    assert log.read_text().split() == ["1", "2", "3", "1"]


def test_what_is_overtaken_costs_nothing(tmp_path):
    log = tmp_path / "log"

    async def play(pictures):
        slow = asyncio.create_task(pictures.draw("other", 0, Task("s", tasks.sleep, (0.5,)), 1))
        await asyncio.sleep(0)
        asked = []
        for sequence in range(1, 6):
            task = counting(tmp_path / f"{sequence}")
            asked.append(asyncio.create_task(pictures.draw("one", sequence, task, 0)))
            await asyncio.sleep(0)
        asked.append(asyncio.create_task(pictures.draw("one", 3, counting(log), 0)))  # late
        done = await asyncio.gather(*asked, return_exceptions=True)
        await slow
        return [isinstance(found, OvertakenError) for found in done]

    assert with_pictures(play) == [True, True, True, True, False, True]
    assert [path.name for path in tmp_path.iterdir()] == ["5"]


def test_first_pictures_go_before_refinements(tmp_path):
    order = []

    async def ask(pictures, who, step):
        await pictures.draw(who, 0, counting(tmp_path / who, 2), step)
        order.append(who)

    async def play(pictures):
        slow = asyncio.create_task(pictures.draw("other", 0, Task("s", tasks.sleep, (0.5,)), 1))
        await asyncio.sleep(0)
        await asyncio.gather(ask(pictures, "refining", 1), ask(pictures, "first", 0), slow)

    with_pictures(play)
    assert order == ["first", "refining"]


def test_errors_are_sentences_and_a_dead_process_is_replaced(tmp_path):
    async def play(pictures):
        for kind, words in (
            ("value", "n_tokens must be 1."),
            ("other", "RuntimeError: n_tokens must be 1."),
            ("die", "The process that computed this has died."),
        ):
            with pytest.raises(RefusedError) as refused:
                await pictures.draw("one", 0, Task(kind, tasks.fail, (kind,)), 0)
            assert str(refused.value) == words
        with pytest.raises(RefusedError, match=r"more than 0\.5 s"):
            await pictures.draw("one", 0, Task("s", tasks.sleep, (600,)), 1)
        assert json.loads(await pictures.draw("one", 0, counting(tmp_path / "x"), 0))["done"] == 1

    with_pictures(play, longest=0.5)
