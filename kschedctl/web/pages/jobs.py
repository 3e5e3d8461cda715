"""The background jobs: their list, and a page per job with its progress and its answer."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from litestar import MediaType, Response, Router, get, post
from litestar.di import NamedDependency
from litestar.params import FromPath
from litestar.response import Redirect

from kschedctl.common.errors import InputError, KschedctlError
from kschedctl.questions.diff.answer import Diff
from kschedctl.questions.diff.document import DiffView
from kschedctl.questions.documents import document
from kschedctl.questions.face import SchedulingCluster
from kschedctl.questions.frame import View
from kschedctl.questions.handle import AnalysisHandle
from kschedctl.web.access import user_of
from kschedctl.web.jobs import Job
from kschedctl.web.pages.handler import AnyRequest
from kschedctl.web.pages.links import Links
from kschedctl.web.pages.sheet import error_blocks, framed, laid_out
from kschedctl.web.pages.visit import Visit, path_of
from kschedctl.web.parameters import form_values
from kschedctl.web.question_jobs import begin_job, read_answer
from kschedctl.web.questions.registry import BY_NAME
from kschedctl.web.served import Served

#: The fields of forms that are no parameters of the question.
_QUESTION: Final = "question"
_MANIFEST: Final = "manifest"


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownJob:
    """A job as its page shows it.

    Attributes
    ----------
    id, title : str
        The identifier of the job, and its question with its parameters.
    state : str
        Its state.
    ended : bool
        True if the state is final.
    created_at : datetime
        The time of its creation.
    work : str
        Its current work; empty if unknown.
    done : int
        The number of items that are done.
    total : int or None
        The number of all items; ``None`` if unknown.
    notices : tuple of str
        Notes and warnings that are no part of the answer.
    error : KschedctlError or None
        The error with which it failed.
    result : bytes or None
        The answer of a job that is done, for `read_answer`.
    """

    id: str
    title: str
    state: str
    ended: bool
    created_at: datetime
    work: str
    done: int
    total: int | None
    notices: tuple[str, ...]
    error: KschedctlError | None
    result: bytes | None

    @classmethod
    def of(cls, job: Job) -> ShownJob:
        """Return a job as its page shows it."""
        progress = job.progress
        return cls(
            id=job.id,
            title=f"{job.question}: {job.about}" if job.about else job.question,
            state=job.state.value,
            ended=job.state.ended,
            created_at=job.created_at,
            work=progress.work if progress is not None else "",
            done=progress.done if progress is not None else 0,
            total=progress.total if progress is not None else None,
            notices=job.notices,
            error=job.error,
            result=job.result,
        )


def job_page(cluster: SchedulingCluster, visit: Visit, job: ShownJob, handle: AnalysisHandle) -> str:
    """Return the page of a job that has an answer."""
    # The what-ifs are those of the job: they are in the links, and need not fit the cluster of now.
    links = Links(visit, cluster.cluster)
    assert job.result is not None
    answer, overview = read_answer(job.result)
    view = View(wide=True, drawn=True, overview=overview)
    if isinstance(answer, Diff):
        # No page is about a pod of the other side.
        view = DiffView(wide=True, drawn=True, details=True, other={"snapshot": answer.after.snapshot.paths})
    parts = (laid_out(document(answer, view), links),)
    return framed("job.html.j2", visit, links, title=job.title, job=job, parts=parts, notices=job.notices)


@get("/jobs", media_type=MediaType.HTML)
async def list_jobs(request: AnyRequest, served: NamedDependency[Served]) -> str:
    """List the jobs that are remembered, the newest first."""
    jobs = [ShownJob.of(job) for job in reversed(served.jobs.all)]
    return framed("jobs.html.j2", Visit.of(request, served), title="Jobs", jobs=jobs)


@get("/jobs/{id_:str}", media_type=MediaType.HTML)
async def show_job(request: AnyRequest, id_: FromPath[str], served: NamedDependency[Served]) -> Response[Any]:
    """Show a job: its progress, or its answer."""
    job = ShownJob.of(served.jobs.find(id_))
    visit = Visit.of(request, served)
    if job.result is None:
        # While workers are busy, progress is shown nevertheless.
        parts = (laid_out(error_blocks(job.error)),) if job.error is not None else ()
        text = framed("job.html.j2", visit, title=job.title, job=job, parts=parts, notices=job.notices)
    else:
        text = await served.ask(job_page, visit, job)
    return Response(text, media_type=MediaType.HTML)


@post("/jobs", media_type=MediaType.HTML)
async def start_job(request: AnyRequest, served: NamedDependency[Served]) -> Redirect:
    """Start the job of a form, and lead to its page."""
    sent = [(name, value) for name, value in await form_values(request) if value.strip()]
    fields = dict(sent)
    question = BY_NAME.get(fields.get(_QUESTION, ""))
    if question is None or not question.is_job:
        raise InputError("the form names no question that runs as a job", path=_QUESTION)
    values = [(name, value) for name, value in sent if name not in (_QUESTION, _MANIFEST)]
    body = fields.get(_MANIFEST, "").replace("\r\n", "\n").encode()
    user = user_of(request.scope, served.settings)
    job = begin_job(served.jobs, question, values, body, served.settings.compare, user)
    visit = Visit.of(request, served).having(values)
    return Redirect(visit.address(path_of("jobs", job.id)), status_code=303)


@post("/jobs/{id_:str}/cancel", media_type=MediaType.HTML)
async def cancel_job(request: AnyRequest, id_: FromPath[str], served: NamedDependency[Served]) -> Redirect:
    """Cancel a job, and lead back to its page."""
    job = await served.jobs.cancel(id_)
    return Redirect(Visit.of(request, served).address(path_of("jobs", job.id)), status_code=303)


JOBS: Final = Router("/", route_handlers=[list_jobs, show_job, start_job, cancel_job])
