"""Work in the background: one job a visitor, in a process that ends with it."""

import asyncio
import time

import psutil
import pytest

from app import tasks
from sparsetoken.app.jobs import Jobs

pytestmark = pytest.mark.system

NEVER = "no such file"


@pytest.fixture
def jobs():
    found = Jobs()
    yield found
    found.close()


def until(condition):
    deadline = time.monotonic() + 60
    while not (value := condition()):
        assert time.monotonic() < deadline
        time.sleep(0.01)
    return value


def begun(jobs, key):
    """Wait for a job's first progress, and return the process that it runs in."""
    return psutil.Process(int(until(lambda: jobs.status(key).progress).message))


def ended(jobs, key):
    until(lambda: jobs.status(key).state != "running")
    return jobs.status(key)


def test_progress_is_told_once(jobs):
    key = jobs.start("one", tasks.count, 3).key
    status = ended(jobs, key)
    assert (status.state, status.step, status.progress.done) == ("done", 3, 3)
    assert jobs.status(key, seen=3).progress is None
    assert jobs.status(key, seen=2).progress is not None
    assert jobs.status("no such job").state == "cancelled"


def test_cancelling_kills_the_process_and_the_next_job_runs(jobs):
    key = jobs.start("one", tasks.work_until, NEVER).key
    process = begun(jobs, key)
    jobs.cancel("no such job")
    assert jobs.status(key).state == "running"
    jobs.cancel(key)
    assert jobs.status(key).state == "cancelled"
    process.wait(timeout=60)
    assert ended(jobs, jobs.start("one", tasks.count, 1).key).state == "done"


def test_a_visitor_has_one_job_beside_those_of_others(jobs, tmp_path):
    released = []
    first = jobs.start("one", tasks.work_until, NEVER, release=lambda: released.append("first")).key
    process = begun(jobs, first)
    other = jobs.start("two", tasks.work_until, tmp_path / "gate").key
    second = jobs.start("one", tasks.count, 1).key
    assert jobs.status(first).state == "cancelled"
    assert released == ["first"]
    process.wait(timeout=60)
    begun(jobs, other)
    (tmp_path / "gate").touch()
    assert ended(jobs, other).state == ended(jobs, second).state == "done"


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("value", "Sequence length must be 1."),
        ("other", "RuntimeError: sequence length must be 1."),
        ("die", "The process that computed this has died."),
    ],
)
def test_failures_are_sentences_and_release_what_they_used(jobs, kind, words):
    released = []
    status = ended(
        jobs, jobs.start("one", tasks.fail, kind, release=lambda: released.append(1)).key
    )
    assert (status.state, status.message) == ("failed", words)
    assert released


def test_a_job_that_nobody_asks_about_is_ended_and_one_that_dies_is_noticed():
    jobs, released = Jobs(patience=1.0), []

    async def look_after():
        watching = asyncio.create_task(jobs.look_after())
        while len(released) < 2:
            await asyncio.sleep(0.01)
        watching.cancel()

    try:
        key = jobs.start("one", tasks.work_until, NEVER, release=lambda: released.append(1)).key
        process = begun(jobs, key)
        jobs.start("two", tasks.fail, "die", release=lambda: released.append(2))
        asyncio.run(asyncio.wait_for(look_after(), 60))
        assert released == [2, 1]
        process.wait(timeout=60)
    finally:
        jobs.close()


def test_close_leaves_no_process():
    jobs, released = Jobs(), []
    key = jobs.start("one", tasks.work_until, NEVER, release=lambda: released.append(1)).key
    process = begun(jobs, key)
    jobs.close()
    process.wait(timeout=60)
    assert released
