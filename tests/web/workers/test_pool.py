"""The pool of worker processes: limits, time, cancellation, and processes that die."""

import asyncio
import os
import signal
import threading
import time
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from kschedctl.common.errors import InputError
from kschedctl.objects.core import Node
from kschedctl.watch.feed import FeedChanges
from kschedctl.web.errors import BrokenWorkerError, BusyError, TookTooLongError
from kschedctl.web.jobs import Jobs, JobState
from kschedctl.web.workers import pool as pool_module
from kschedctl.web.workers.messages import Progress
from kschedctl.web.workers.pool import Pool
from tests.builders import make_node
from tests.processes import alive
from tests.web.conftest import snapshot
from tests.web.workers import tasks

SOURCE = snapshot()


def run(
    test: Callable[[Pool], Awaitable[None]],
    *,
    size: int = 1,
    waiting: int = 10,
    seconds: float = 300.0,
    for_jobs: bool = False,
) -> None:
    """Run a coroutine with a pool."""

    async def with_pool() -> None:
        pool = Pool(SOURCE, size, waiting=waiting, seconds=seconds, for_jobs=for_jobs)
        try:
            await test(pool)
        finally:
            pool.close()

    asyncio.run(with_pool())


def test_a_task_has_the_cluster_and_its_notices_come_back() -> None:
    async def test(pool: Pool) -> None:
        assert not pool.is_warm
        assert (await pool.run(tasks.size)).value == 15
        reply = await pool.run(tasks.warn)
        assert (reply.value, reply.version, reply.notices) == (1, 1, ("warning: it may rain",))
        assert pool.is_warm

    run(test)


def test_errors_come_back_as_they_were_and_bugs_say_nothing() -> None:
    async def test(pool: Pool) -> None:
        with pytest.raises(InputError) as refused:
            await pool.run(tasks.refuse)
        assert refused.value.lines() == ("the place: a.b: is wrong", "  do this")
        with pytest.raises(BrokenWorkerError) as bug:
            await pool.run(tasks.fail)
        assert "secret" not in str(bug.value)
        with pytest.raises(InputError, match="nested too deeply"):
            await pool.run(tasks.nest)
        # The same process goes on.
        assert (await pool.run(tasks.size)).value == 15

    run(test)


def test_a_process_that_dies_is_replaced() -> None:
    async def test(pool: Pool) -> None:
        before = (await pool.run(tasks.process)).value
        with pytest.raises(BrokenWorkerError, match="killed"):
            await pool.run(tasks.die)
        assert (await pool.run(tasks.process)).value != before

    run(test)


def test_a_process_that_dies_while_idle_costs_no_request() -> None:
    async def test(pool: Pool) -> None:
        for _ in range(3):
            before = (await pool.run(tasks.process)).value
            os.kill(before, signal.SIGKILL)
            while alive(before):
                await asyncio.sleep(0.01)
            assert (await pool.run(tasks.process)).value != before
        assert pool.running == 0

    run(test)


@pytest.mark.parametrize("size", [10, 10_000_000], ids=["a task that is sent", "a task that is sent in part"])
def test_a_task_that_a_dying_process_does_not_receive_is_run_by_another(size: int) -> None:
    async def test(pool: Pool) -> None:
        before = (await pool.run(tasks.process)).value
        # A stopped process looks alive, and takes nothing.
        os.kill(before, signal.SIGSTOP)
        waiting = asyncio.create_task(pool.run(tasks.measure, bytes(size)))
        await asyncio.sleep(0.2)
        os.kill(before, signal.SIGKILL)
        assert (await waiting).value == size

    run(test)


@pytest.mark.parametrize(
    ("for_jobs", "hint"),
    [
        (False, "ask for less, or use a job: they have more time"),
        (True, "ask for less, or start the server with a larger --job-time-limit"),
    ],
    ids=["a request", "a job"],
)
def test_a_task_has_limited_time(monkeypatch: pytest.MonkeyPatch, for_jobs: bool, hint: str) -> None:
    monkeypatch.setattr(pool_module, "_GRACE", 0.2)

    async def test(pool: Pool) -> None:
        await pool.run(tasks.size)
        # The start of a process has more time.
        pool._seconds = 0.5
        with pytest.raises(TookTooLongError) as late:
            await pool.run(tasks.hang)
        assert late.value.lines() == ("there is no answer within 0.5 s", f"  {hint}")
        pool._seconds = 300.0
        assert (await pool.run(tasks.size)).value == 15

    run(test, seconds=300.0, for_jobs=for_jobs)


@pytest.mark.parametrize(("for_jobs", "outcome"), [(False, TookTooLongError), (True, int)], ids=["a request", "a job"])
def test_the_wait_for_a_process_counts_for_requests_and_not_for_jobs(
    monkeypatch: pytest.MonkeyPatch, for_jobs: bool, outcome: type
) -> None:
    monkeypatch.setattr(pool_module, "_GRACE", 0.2)

    async def test(pool: Pool) -> None:
        await pool.run(tasks.size)
        pool._seconds = 0.5
        hanging = asyncio.create_task(pool.run(tasks.hang))
        waiting = asyncio.create_task(pool.run(tasks.size))
        await asyncio.sleep(0.1)
        # A job that waited has its own time for the start of a process.
        pool._seconds = 300.0
        _, ended = await asyncio.gather(hanging, waiting, return_exceptions=True)
        assert type(getattr(ended, "value", ended)) is outcome

    run(test, seconds=300.0, for_jobs=for_jobs)


def test_a_cancelled_task_ends_and_its_process_goes_on() -> None:
    async def test(pool: Pool) -> None:
        before = (await pool.run(tasks.process)).value
        told: list[Progress] = []
        waiting = asyncio.create_task(pool.run(tasks.wait, 600.0, progressed=told.append))
        while not told:
            await asyncio.sleep(0.01)
        assert (told[0].work, told[0].total) == ("waiting", 60_000)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        assert (await pool.run(tasks.process)).value == before

    run(test)


def test_few_tasks_wait_and_further_ones_are_refused() -> None:
    async def test(pool: Pool) -> None:
        await pool.run(tasks.size)
        running = [asyncio.create_task(pool.run(tasks.wait, 600.0)) for _ in range(3)]
        await asyncio.sleep(0.1)
        assert (pool.running, pool.waiting) == (1, 2)
        with pytest.raises(BusyError):
            await pool.run(tasks.size)
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)
        assert (pool.running, pool.waiting) == (1, 0)
        assert (await pool.run(tasks.size)).value == 15

    run(test, waiting=2)


def test_changes_reach_every_process_before_its_next_task() -> None:
    async def test(pool: Pool) -> None:
        assert (await pool.run(tasks.size)).value == 15
        nodes: dict[tuple[str, str], Any] = {("", name): make_node(name) for name in ("new-1", "new-2")}
        pool.changed(FeedChanges(objects={Node: nodes}))
        pool.changed(FeedChanges(objects={Node: {("", "new-2"): None}}))
        assert (await pool.run(tasks.size)).value == 16

    run(test)


async def ended(jobs: Jobs, id_: str) -> JobState:
    while not jobs.find(id_).state.ended:
        await asyncio.sleep(0.01)
    return jobs.find(id_).state


def test_jobs_run_one_after_another_and_tell_each_change() -> None:
    async def test(pool: Pool) -> None:
        told: list[tuple[str, JobState]] = []
        jobs = Jobs(pool, 10, 1000, lambda job: told.append((job.question, job.state)))
        first = jobs.begin("first", tasks.wait, 0.5)
        second = jobs.begin("second", tasks.refuse)
        assert (await ended(jobs, second.id), await ended(jobs, first.id)) == (JobState.FAILED, JobState.DONE)
        assert first.result == b"done"
        assert told[0] == ("first", JobState.WAITING)
        assert ("first", JobState.RUNNING) in told
        assert told[-2:] == [("first", JobState.DONE), ("second", JobState.FAILED)]

    run(test)


def test_a_job_with_a_bug_of_the_server_fails(caplog: pytest.LogCaptureFixture) -> None:
    async def test(pool: Pool) -> None:
        jobs = Jobs(pool, 10, 1000, lambda job: None)
        # A lock cannot be sent to a process.
        job = jobs.begin("bug", tasks.measure, threading.Lock())
        assert job.running is not None
        await asyncio.wait([job.running])
        assert (job.state, type(job.error)) == (JobState.FAILED, BrokenWorkerError)
        assert await ended(jobs, jobs.begin("next", tasks.fill, 1).id) is JobState.DONE

    run(test)
    assert "cannot pickle" in caplog.text


def test_a_job_is_cancelled_while_it_runs_or_waits() -> None:
    async def test(pool: Pool) -> None:
        jobs = Jobs(pool, 10, 1000, lambda job: None)
        running, waiting = jobs.begin("running", tasks.wait, 600.0), jobs.begin("waiting", tasks.fill, 1)
        began = time.monotonic()
        while running.progress is None:
            assert time.monotonic() - began < 300
            await asyncio.sleep(0.01)
        assert (await jobs.cancel(waiting.id)).state is JobState.CANCELLED
        assert (await jobs.cancel(running.id)).state is JobState.CANCELLED
        # To cancel a job once more changes nothing.
        assert (await jobs.cancel(running.id)).state is JobState.CANCELLED
        assert await ended(jobs, jobs.begin("next", tasks.fill, 1).id) is JobState.DONE

    run(test)


def test_the_oldest_jobs_are_forgotten_and_running_ones_are_not() -> None:
    async def test(pool: Pool) -> None:
        jobs = Jobs(pool, 3, 1000, lambda job: None)
        kept = jobs.begin("kept", tasks.wait, 600.0)
        done = [jobs.begin("done", tasks.fill, 1, user=user) for user in ("ann", "bob")]
        for job in done:
            await jobs.cancel(job.id)
        jobs.begin("new", tasks.fill, 1, user="ann")
        assert [job.question for job in jobs.all] == ["kept", "done", "new"]
        jobs.begin("newer", tasks.fill, 1, user="bob")
        with pytest.raises(BusyError, match="too many jobs have not ended"):
            jobs.begin("too many", tasks.fill, 1, user="cid")
        assert jobs.find(kept.id) is kept
        jobs.close()

    run(test)


def test_a_job_without_progress_is_running() -> None:
    async def test(pool: Pool) -> None:
        began = asyncio.Event()
        jobs = Jobs(pool, 10, 1000, lambda job: began.set() if job.state is JobState.RUNNING else None)
        running, waiting = jobs.begin("running", tasks.hang), jobs.begin("waiting", tasks.hang)
        await began.wait()
        assert (running.state, running.progress, waiting.state) == (JobState.RUNNING, None, JobState.WAITING)
        jobs.close()

    run(test)


def test_a_user_leaves_as_many_places_to_others_as_the_user_has() -> None:
    async def test(pool: Pool) -> None:
        jobs = Jobs(pool, 8, 1000, lambda job: None)

        for user, places in (("ann", 4), ("bob", 2)):
            for _ in range(places):
                jobs.begin("hang", tasks.hang, user=user)
            with pytest.raises(BusyError, match=f"{places} of your jobs have not ended"):
                jobs.begin("hang", tasks.hang, user=user)
        jobs.begin("hang", tasks.hang, user="cid")
        jobs.begin("hang", tasks.hang, user="dan")
        with pytest.raises(BusyError, match="too many jobs have not ended"):
            jobs.begin("hang", tasks.hang, user="eve")
        jobs.close()

    run(test)


def test_many_jobs_of_a_user_displace_no_answer_of_another() -> None:
    async def test(pool: Pool) -> None:
        jobs = Jobs(pool, 4, 1000, lambda job: None)
        await ended(jobs, jobs.begin("of bob", tasks.fill, 1, user="bob").id)
        for number in range(10):
            await ended(jobs, jobs.begin(f"{number}", tasks.fill, 1, user="ann").id)
        assert [job.question for job in jobs.all] == ["of bob", "7", "8", "9"]

    run(test)


def test_users_get_processes_in_turn() -> None:
    async def test(pool: Pool) -> None:
        ended_in_turn: list[str] = []
        jobs = Jobs(pool, 100, 1000, lambda job: ended_in_turn.append(job.question) if job.state.ended else None)
        running = jobs.begin("running", tasks.hang)
        for user, number in (("ann", 3), ("bob", 2), ("cid", 1)):
            for i in range(number):
                jobs.begin(f"{user} {i}", tasks.fill, 1, user=user)
        cancelled = jobs.begin("cancelled", tasks.fill, 1, user="bob")
        await asyncio.sleep(0)
        await jobs.cancel(cancelled.id)
        await jobs.cancel(running.id)
        while not all(job.state.ended for job in jobs.all):
            await asyncio.sleep(0.01)
        order = ["ann 0", "bob 0", "cid 0", "ann 1", "bob 1", "ann 2"]
        assert ended_in_turn == ["cancelled", "running", *order]

    run(test)


@pytest.mark.parametrize(
    ("sizes", "remembered"),
    [
        ([400, 300, 300], [400, 300, 300]),
        ([400, 300, 301], [300, 301]),
        ([100, 100, 1000], [1000]),
        ([100, 5000], [5000]),
        ([5000, 1], [1]),
    ],
)
def test_the_oldest_results_are_forgotten_beyond_a_size(sizes: list[int], remembered: list[int]) -> None:
    async def test(pool: Pool) -> None:
        jobs = Jobs(pool, 10, 1000, lambda job: None)
        failed = jobs.begin("failed", tasks.refuse)
        for size in sizes:
            assert await ended(jobs, jobs.begin("filled", tasks.fill, size).id) is JobState.DONE
        assert [len(job.result) for job in jobs.all if job.result is not None] == remembered
        assert jobs.find(failed.id) is failed

    run(test)
