"""The handlers of the API: one per question, and those of jobs."""

from __future__ import annotations

from typing import Any, Final

from litestar import MediaType, Request, Response, Router, delete, get
from litestar.di import NamedDependency
from litestar.handlers import HTTPRouteHandler
from litestar.params import FromPath
from litestar.response import Stream

from kschedctl.common.text.json_text import encoded_json
from kschedctl.web.access import user_of
from kschedctl.web.api.job_data import JobList, job_data
from kschedctl.web.api.openapi import openapi_document
from kschedctl.web.events import Event
from kschedctl.web.jobs import job_event
from kschedctl.web.parameters import parameters
from kschedctl.web.question_jobs import begin_job, job_json
from kschedctl.web.questions.question import Question, answered
from kschedctl.web.questions.registry import QUESTIONS
from kschedctl.web.served import Served

_AnyRequest = Request[Any, Any, Any]
_VERSION: Final = "Kschedctl-Cluster-Version"


def _handler(question: Question) -> HTTPRouteHandler:
    async def handle(request: _AnyRequest, served: NamedDependency[Served]) -> Response[bytes]:
        values, body, compare = parameters(request), await request.body(), served.settings.compare
        if question.is_job:
            job = begin_job(served.jobs, question, values, body, compare, user_of(request.scope, served.settings))
            headers = {"Location": f"/api/v1/jobs/{job.id}"}
            return Response(encoded_json(job_data(job)), status_code=202, headers=headers, media_type=MediaType.JSON)
        asked = question.asked(dict(request.path_params), values, body, compare)
        reply = await served.reply(answered, question.run, asked)
        headers = {_VERSION: str(reply.version), **_warnings(reply.notices)}
        return Response(reply.value, headers=headers, media_type=MediaType.JSON)

    path = question.path.replace("}", ":str}")
    return HTTPRouteHandler(path, http_method=question.method, name=question.name, status_code=200)(handle)


def _warnings(notices: tuple[str, ...]) -> dict[str, str]:
    """Return the notices in the header in which an API server returns its warnings."""
    texts = [notice.encode("ascii", "replace").decode().replace("\\", " ").replace('"', "'") for notice in notices[:20]]
    shown = [" ".join("".join(c if c.isprintable() else " " for c in text).split())[:500] for text in texts]
    return {"Warning": ", ".join(f'299 - "{text}"' for text in shown)} if shown else {}


@get("/jobs", media_type=MediaType.JSON)
async def list_jobs(served: NamedDependency[Served]) -> Response[bytes]:
    """List the jobs that are remembered."""
    items = tuple(job_data(job) for job in served.jobs.all)
    return Response(encoded_json(JobList(items)), media_type=MediaType.JSON)


@get("/jobs/{id_:str}", media_type=MediaType.JSON)
async def show_job(id_: FromPath[str], served: NamedDependency[Served]) -> Response[bytes]:
    """Show a job, with its answer if it is done."""
    job = served.jobs.find(id_)
    answer = await served.ask(job_json, job.result) if job.result is not None else None
    return Response(encoded_json(job_data(job, answer)), media_type=MediaType.JSON)


@delete("/jobs/{id_:str}", status_code=200, media_type=MediaType.JSON)
async def cancel_job(id_: FromPath[str], served: NamedDependency[Served]) -> Response[bytes]:
    """Cancel a job that has not ended."""
    job = await served.jobs.cancel(id_)
    return Response(encoded_json(job_data(job)), media_type=MediaType.JSON)


@get("/jobs/{id_:str}/events")
async def job_events(id_: FromPath[str], served: NamedDependency[Served]) -> Stream:
    """Stream the progress of a job as server-sent events, until it ends."""
    job = served.jobs.find(id_)
    return event_stream(served, job_event(job), job=id_)


@get("/events")
async def events(served: NamedDependency[Served]) -> Stream:
    """Stream the changes of the cluster and of all jobs as server-sent events."""
    return event_stream(served, served.cluster_event())


@get("/openapi.json", media_type=MediaType.JSON)
async def openapi() -> Response[bytes]:
    """Return the OpenAPI document."""
    return Response(encoded_json(openapi_document()), media_type=MediaType.JSON)


def event_stream(served: Served, first: Event, *, job: str = "*") -> Stream:
    """Return a stream of events that begins with one."""
    return Stream(served.events.stream(first, job=job), media_type="text/event-stream")


API: Final = Router(
    "/api/v1",
    route_handlers=[*map(_handler, QUESTIONS), list_jobs, show_job, cancel_job, job_events, events, openapi],
)
