"""Work in the background: one job a visitor, equal ones shared, ended when nobody is there."""

import asyncio
import json
import time

import psutil
import pytest

from app import tasks
from sparsetoken.app.jobs import Jobs
from sparsetoken.app.processes import RefusedError, Task


def with_jobs(play, slots=1, **options):
    async def run():
        jobs = Jobs(slots, **options)
        jobs.start()
        try:
            return await play(jobs)
        finally:
            jobs.close()

    return asyncio.run(run())


def sleeping(seconds):
    return Task(f"sleep {seconds}", tasks.sleep, (seconds,))


async def add(jobs, visitor, task):
    return json.loads(await jobs.add(visitor, task))["key"]


def state(jobs, key):
    return json.loads(jobs.status(key))["state"]


async def until(condition):
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline
        await asyncio.sleep(0.02)


async def begun(jobs, key):
    """Wait for a job's first progress, and return the process that it runs in."""
    await until(lambda: jobs.hear("one") or json.loads(jobs.status(key))["progress"])
    return psutil.Process(int(json.loads(jobs.status(key))["progress"]["message"]))


def test_progress_is_told_once_and_equal_jobs_are_one(tmp_path):
    log = tmp_path / "log"
    task = Task("count", tasks.count, (str(log), 3))

    async def play(jobs):
        key = await add(jobs, "one", task)
        assert key == await add(jobs, "two", task)
        await until(lambda: state(jobs, key) == "done")
        status = json.loads(jobs.status(key))
        assert (status["step"], status["progress"]["done"]) == (3, 3)
        assert json.loads(jobs.status(key, seen=3))["progress"] is None
        assert state(jobs, await add(jobs, "three", task)) == "done"

    with_jobs(play)
    assert log.read_text().split() == ["1", "2", "3"]


def test_cancelling_kills_the_process_unless_others_want_it():
    async def play(jobs):
        key = await add(jobs, "one", sleeping(600))
        await add(jobs, "two", sleeping(600))
        process = await begun(jobs, key)
        jobs.cancel(key, "one")
        jobs.cancel(key, "nobody")
        jobs.cancel("no such job", "one")
        assert state(jobs, key) == "running"
        jobs.cancel(key, "two")
        assert state(jobs, key) == "cancelled"
        process.wait(timeout=60)
        assert state(jobs, await add(jobs, "two", sleeping(600))) != "cancelled"
        assert state(jobs, "no such job") == "cancelled"

    with_jobs(play)


def test_a_visitor_has_one_job():
    async def play(jobs):
        first = await add(jobs, "one", sleeping(600))
        other = await add(jobs, "two", sleeping(601))
        second = await add(jobs, "one", sleeping(0.01))
        assert state(jobs, first) == "cancelled"
        await until(lambda: state(jobs, second) == "done")
        assert state(jobs, other) in ("waiting", "running")

    with_jobs(play, slots=2)


def test_too_many_are_refused_and_failures_are_told():
    async def play(jobs):
        running = await add(jobs, "one", sleeping(600))
        await begun(jobs, running)
        await add(jobs, "two", sleeping(601))
        with pytest.raises(RefusedError, match="try again"):
            await jobs.add("three", sleeping(602))
        jobs.leave("two")
        failing = await add(jobs, "one", Task("f", tasks.fail, ("value",)))
        await until(lambda: state(jobs, failing) == "failed")
        assert json.loads(jobs.status(failing))["message"] == "n_tokens must be 1."

    with_jobs(play, most_waiting=1)


def test_a_visitor_who_is_not_heard_has_left():
    left = []

    async def play(jobs):
        key = await add(jobs, "one", sleeping(600))
        jobs.hear("one", lambda: left.append("one"))
        process = await begun(jobs, key)
        for _ in range(15):
            jobs.hear("one")
            await asyncio.sleep(0.1)
        assert state(jobs, key) == "running"
        await until(lambda: left == ["one"])
        assert state(jobs, key) == "cancelled"
        process.wait(timeout=60)

    with_jobs(play, patience=1.0)


def test_close_leaves_no_process():
    async def play(jobs):
        return await begun(jobs, await add(jobs, "one", sleeping(600)))

    with_jobs(play).wait(timeout=60)
