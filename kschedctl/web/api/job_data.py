"""A job as data of the API."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

import msgspec
from msgspec import Meta

from kschedctl.web.jobs import Job, JobState
from kschedctl.web.problems import Problem, problem_of
from kschedctl.web.workers.messages import Progress


class ProgressData(msgspec.Struct, frozen=True, rename="camel"):
    """The progress of a job."""

    work: Annotated[str, Meta(description="The current work.")]
    done: Annotated[int, Meta(description="The number of items that are done.")]
    total: Annotated[int | None, Meta(description="The number of all items; null if unknown.")]


class JobData(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """A background job."""

    id: Annotated[str, Meta(description="The identifier of the job.")]
    question: Annotated[str, Meta(description="The question, such as drain.")]
    state: Annotated[JobState, Meta(description="The state of the job.")]
    created_at: Annotated[datetime, Meta(description="The time of its creation.")]
    progress: Annotated[ProgressData | None, Meta(description="The progress of the current work; null at first.")]
    notices: Annotated[tuple[str, ...], Meta(description="Notes and warnings that are no part of the answer.")]
    answer: Annotated[msgspec.Raw | None, Meta(description="The answer of a job that is done; else null.")]
    problem: Annotated[Problem | None, Meta(description="The problem of a job that failed; else null.")]


class JobList(msgspec.Struct, frozen=True):
    """The jobs that are remembered."""

    items: Annotated[tuple[JobData, ...], Meta(description="The jobs without their answers, the oldest first.")]


def job_data(job: Job, answer: bytes | None = None) -> JobData:
    """Return a job as data.

    Parameters
    ----------
    answer : bytes or None
        Its answer as JSON; ``None`` to leave it out.
    """
    return JobData(
        id=job.id,
        question=job.question,
        state=job.state,
        created_at=job.created_at,
        progress=progress_data(job.progress),
        notices=job.notices,
        answer=msgspec.Raw(answer) if answer is not None else None,
        problem=problem_of(job.error) if job.error is not None else None,
    )


def progress_data(progress: Progress | None) -> ProgressData | None:
    """Return progress as data."""
    return None if progress is None else ProgressData(progress.work, progress.done, progress.total)
