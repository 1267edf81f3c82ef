import os
import time

import psutil
import pytest

from sparsetoken.app.content import Task
from sparsetoken.app.jobs import BusyError, Jobs

# Tasks run in other processes, which know the functions of the standard library by name.


def sleeping(seconds, key="sleep"):
    return Task(f"{key} {seconds}", time.sleep, seconds)


def absolute(number):
    return Task(f"abs {number}", abs, number)


@pytest.fixture
def jobs():
    """Two jobs at once, three may wait, and nobody is forgotten during a test."""
    found = Jobs(slots=2, most_waiting=3, patience=60.0)
    yield found
    found.close()


def wait_for(condition, seconds=60.0):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def ended(jobs, key):
    wait_for(lambda: jobs.status(key).state not in ("waiting", "running"))
    return jobs.status(key)


def workers():
    """Processes of jobs that live: children of the fork server."""
    found = psutil.Process().children(recursive=True)
    return [child for child in found if child.ppid() != os.getpid()]


def running(jobs, key):
    wait_for(lambda: jobs.status(key).state == "running" and workers())


def test_results_are_remembered(jobs):
    key = jobs.start("visitor", [absolute(-3), absolute(-4)])
    assert ended(jobs, key) == ("done", 2, 2, "")
    assert jobs.known("abs -3") == 3
    assert jobs.known("abs -4") == 4
    assert jobs.known("abs -5") is None
    again = jobs.start("visitor", [absolute(-3), absolute(-4)])
    assert jobs.status(again) == ("done", 2, 2, "")
    more = jobs.start("visitor", [absolute(-3), absolute(-5)])
    assert jobs.status(more).done >= 1
    assert ended(jobs, more) == ("done", 2, 2, "")


def test_progress(jobs):
    key = jobs.start("visitor", [absolute(-1), sleeping(600)])
    wait_for(lambda: jobs.status(key).done == 1)
    assert jobs.status(key) == ("running", 1, 2, "")


def test_cancelling_kills_the_process(jobs):
    key = jobs.start("visitor", [sleeping(600)])
    running(jobs, key)
    (worker,) = workers()
    jobs.cancel(key)
    assert jobs.status(key).state == "cancelled"
    worker.wait(timeout=60)
    jobs.cancel(key)
    jobs.cancel("no such job")
    assert jobs.status("no such job").state == "cancelled"


def test_a_new_job_replaces_that_of_the_same_visitor(jobs):
    first = jobs.start("visitor", [sleeping(600)])
    other = jobs.start("another", [sleeping(601)])
    second = jobs.start("visitor", [absolute(-7)])
    assert jobs.status(first).state == "cancelled"
    assert ended(jobs, second).state == "done"
    assert jobs.status(other).state in ("waiting", "running")


def test_busy(jobs):
    keys = [jobs.start(f"visitor {i}", [sleeping(600 + i)]) for i in range(2)]
    for key in keys:
        wait_for(lambda key=key: jobs.status(key).state == "running")
    waiting = [jobs.start(f"visitor {i}", [sleeping(600 + i)]) for i in range(2, 5)]
    assert {jobs.status(key).state for key in waiting} == {"waiting"}
    with pytest.raises(BusyError, match="try again"):
        jobs.start("one too many", [sleeping(700)])
    jobs.cancel(keys[0])
    wait_for(lambda: jobs.status(waiting[0]).state == "running")


def test_failing_tasks(jobs):
    key = jobs.start("visitor", [absolute("x" * 1000)])
    status = ended(jobs, key)
    assert status.state == "failed"
    assert status.message.startswith("TypeError: ")
    assert len(status.message) <= 300
    assert jobs.known(absolute("x" * 1000).key) is None
    died = ended(jobs, jobs.start("visitor", [Task("exit", os._exit, 3)]))
    assert (died.state, died.message) == ("failed", "its process died")
    assert ended(jobs, jobs.start("visitor", [absolute(-8)])).state == "done"


def test_the_time_limit():
    jobs = Jobs(longest=0.5)
    try:
        status = ended(jobs, jobs.start("visitor", [sleeping(600)]))
        assert (status.state, status.message) == ("failed", "stopped after 0.5 s")
    finally:
        jobs.close()


def test_an_unwatched_job_ends():
    jobs = Jobs(patience=1.0)
    try:
        key = jobs.start("visitor", [sleeping(600)])
        running(jobs, key)
        for _ in range(15):  # asking keeps it alive
            time.sleep(0.1)
            assert jobs.status(key).state == "running"
        (worker,) = workers()
        worker.wait(timeout=60)
        assert jobs.status(key).state == "cancelled"
    finally:
        jobs.close()


def test_close_leaves_no_process():
    jobs = Jobs()
    key = jobs.start("visitor", [sleeping(600)])
    running(jobs, key)
    waiting = [jobs.start(f"visitor {i}", [sleeping(600)]) for i in range(3)]
    jobs.close()
    assert workers() == []
    assert {jobs.status(k).state for k in (key, *waiting)} == {"cancelled"}
