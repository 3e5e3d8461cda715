"""Background jobs: long analyses with progress, which can be cancelled and are remembered for a while."""

import asyncio
import logging
import pickle
import secrets
import zlib
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, Final

from kschedctl.common.errors import KschedctlError
from kschedctl.questions.answer import Answer
from kschedctl.questions.cluster_request import ClusterRequest
from kschedctl.questions.handle import AnalysisHandle
from kschedctl.questions.nodes.analysis import nodes_overview
from kschedctl.questions.nodes.answer import NodesOverview
from kschedctl.questions.nodes.request import NodesRequest
from kschedctl.trials.loaded_cluster import LoadedCluster
from kschedctl.web.errors import BrokenWorkerError, BusyError, NotFoundError
from kschedctl.web.events import Event
from kschedctl.web.questions.question import Asked, Question, answer_of
from kschedctl.web.workers.messages import Progress
from kschedctl.web.workers.pool import Pool

_LOG: Final = logging.getLogger("kschedctl.web")


class JobState(StrEnum):
    """The state of a job."""

    WAITING = "waiting"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"

    @property
    def ended(self) -> bool:
        """True if the state is final."""
        return self in (JobState.DONE, JobState.FAILED, JobState.CANCELLED)


@dataclass(slots=True)
class Job:
    """A job."""

    #: Its identifier, which cannot be guessed.
    id: str
    #: The name of the question, such as ``drain``.
    question: str
    #: The parameters of the question, such as ``node=node-8``.
    about: str
    #: The time of its creation.
    created_at: datetime
    #: The user who began it.
    user: str = ""
    state: JobState = JobState.WAITING
    #: The progress of its current work; ``None`` before the first.
    progress: Progress | None = None
    #: The value that its function returned; ``None`` before the end.
    result: bytes | None = None
    #: Notes and warnings that are no part of the result.
    notices: tuple[str, ...] = ()
    #: The error with which it failed.
    error: KschedctlError | None = None
    running: asyncio.Task[None] | None = field(default=None, repr=False)


class Jobs:
    """The jobs of the server.

    Args:
        pool: The processes that run them.
        most_bytes: The size of the results that are remembered, in bytes; that of the last job is remembered at any
            size.
        changed: Receives each job whose state or progress has changed.
    """

    def __init__(self, pool: Pool, most: int, most_bytes: int, changed: Callable[[Job], None]) -> None:
        self._pool = pool
        self._most = most
        self._most_bytes = most_bytes
        self._changed = changed
        self._jobs: dict[str, Job] = {}

    @property
    def all(self) -> tuple[Job, ...]:
        """The jobs that are remembered, the oldest first."""
        return tuple(self._jobs.values())

    @property
    def counts(self) -> Mapping[JobState, int]:
        return {state: sum(job.state is state for job in self._jobs.values()) for state in JobState}

    def begin(
        self, question: str, function: Callable[..., Any], *arguments: Any, about: str = "", user: str = ""
    ) -> Job:
        """Begin a job that calls a function as ``Pool.run`` does, which returns bytes.

        `Job` documents ``question``, ``about`` and ``user``.

        Raises BusyError if as many jobs as are remembered have not ended, or as many of this user as places are
            left.
        """
        unfinished = Counter(job.user for job in self._jobs.values() if not job.state.ended)
        left = self._most - unfinished.total()
        if not left:
            raise BusyError("too many jobs have not ended")
        if unfinished[user] >= left and unfinished[user]:
            raise BusyError(f"{unfinished[user]} of your jobs have not ended; the places left are for other users")
        if len(self._jobs) >= self._most:
            # One user does not displace the answers of others.
            remembered = Counter(job.user for job in self._jobs.values())
            del self._jobs[max((job for job in self.all if job.state.ended), key=lambda job: remembered[job.user]).id]
        job = Job(secrets.token_urlsafe(12), question, about, datetime.now(UTC), user)
        self._jobs[job.id] = job
        job.running = asyncio.get_running_loop().create_task(self._run(job, function, arguments))
        self._changed(job)
        return job

    def find(self, id_: str) -> Job:
        """Return a job.

        Raises NotFoundError if there is no such job, or it was forgotten.
        """
        job = self._jobs.get(id_)
        if job is None:
            raise NotFoundError("there is no such job", hint="the oldest jobs are forgotten: start it again")
        return job

    async def cancel(self, id_: str) -> Job:
        """Cancel a job that has not ended, and return it; errors are those of ``find``."""
        job = self.find(id_)
        if job.running is not None and not job.state.ended:
            job.running.cancel()
            await asyncio.wait([job.running])
            if not job.state.ended:
                # It was cancelled before its first step.
                job.state = JobState.CANCELLED
                self._changed(job)
        return job

    def close(self) -> None:
        """Cancel all jobs."""
        for job in self._jobs.values():
            if job.running is not None:
                job.running.cancel()

    async def _run(self, job: Job, function: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
        def started() -> None:
            job.state = JobState.RUNNING
            self._changed(job)

        def progressed(progress: Progress) -> None:
            if not job.state.ended:
                job.progress = progress
                self._changed(job)

        try:
            reply = await self._pool.run(function, *arguments, progressed=progressed, started=started, user=job.user)
            job.state, job.result, job.notices = JobState.DONE, reply.value, reply.notices
            self._forget(job)
        except asyncio.CancelledError:
            job.state = JobState.CANCELLED
        except KschedctlError as error:
            job.state, job.error = JobState.FAILED, error
        except Exception:
            _LOG.exception("job %s failed", job.id)
            job.state, job.error = JobState.FAILED, BrokenWorkerError()
        finally:
            self._changed(job)

    def _forget(self, latest: Job) -> None:
        """Forget the oldest jobs with results that exceed the size that is remembered, but not the latest one."""
        excess = sum(len(job.result or b"") for job in self._jobs.values()) - self._most_bytes
        for job in self.all:
            if excess > 0 and job.result is not None and job is not latest:
                excess -= len(job.result)
                del self._jobs[job.id]


def job_event(job: Job) -> Event:
    """Return the event about the state of a job."""
    progress = job.progress
    data = {
        "id": job.id,
        "question": job.question,
        "state": job.state.value,
        "work": progress.work if progress is not None else "",
        "done": progress.done if progress is not None else 0,
        "total": progress.total if progress is not None else None,
    }
    return Event("job", data, is_last=job.state.ended)


# Questions that take long, as background jobs.


def begin_job(
    jobs: Jobs,
    question: Question,
    values: Sequence[tuple[str, str]],
    body: bytes,
    compare: tuple[ClusterRequest, ...],
    user: str,
) -> Job:
    """Begin a job that answers a question; its result is for `read_answer`.

    Raises InputError if there is no such parameter, or a value cannot be read.
    Raises BusyError if too many jobs have not ended.
    """
    asked = question.asked({}, values, body, compare)
    about = ", ".join(f"{name}={value}" for name, value in values)
    return jobs.begin(question.path.strip("/"), _answer, question.run, asked, about=about, user=user)


def _answer(cluster: LoadedCluster, run: Any, asked: Asked[Any], handle: AnalysisHandle) -> bytes:
    answer = answer_of(run, cluster, asked, handle)
    # The map on the page shows the nodes that the answer is about: with the what-ifs, and as they were.
    changed = asked.over(cluster, handle)
    overview = nodes_overview(changed, NodesRequest(), handle) if len(changed.nodes) else None
    return zlib.compress(pickle.dumps((answer, overview)), level=1)


def read_answer(result: bytes) -> tuple[Answer, NodesOverview | None]:
    """Return the answer in the result of a job, and the nodes of its cluster.

    The server's own process only passes results on to workers.
    """
    answer: tuple[Answer, NodesOverview | None] = pickle.loads(zlib.decompress(result))
    return answer


def job_json(cluster: LoadedCluster, result: bytes, handle: AnalysisHandle) -> bytes:
    """Return the answer in the result of a job as JSON, with the fields of ``-o json``."""
    return read_answer(result)[0].json_bytes()
