"""The handlers of the API: one per question, and those of jobs."""

from datetime import datetime
from functools import cache
from importlib.metadata import version
from typing import Annotated, Any, Final

import msgspec
from litestar import MediaType, Request, Response, Router, delete, get
from litestar.di import NamedDependency
from litestar.handlers import HTTPRouteHandler
from litestar.params import FromPath
from litestar.response import Stream
from msgspec import Meta

from kschedctl.common.text.json_text import encoded_json
from kschedctl.questions.schema.schema import schema_components
from kschedctl.web.access import user_of
from kschedctl.web.events import Event
from kschedctl.web.jobs import Job, JobState, begin_job, job_event, job_json
from kschedctl.web.problems import MEDIA_TYPE, Problem, problem_of
from kschedctl.web.questions.question import OFFERED, Body, Question, answered, parameters
from kschedctl.web.questions.registry import QUESTIONS
from kschedctl.web.served import Served

# A job as data of the API.


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

    Args:
        answer: Its answer as JSON; ``None`` to leave it out.
    """
    return JobData(
        id=job.id,
        question=job.question,
        state=job.state,
        created_at=job.created_at,
        progress=None
        if job.progress is None
        else ProgressData(job.progress.work, job.progress.done, job.progress.total),
        notices=job.notices,
        answer=msgspec.Raw(answer) if answer is not None else None,
        problem=problem_of(job.error) if job.error is not None else None,
    )


# The OpenAPI document of the API, made from the questions and the types of their answers.

_REF: Final = "#/components/schemas/{name}"
_JSON: Final = "application/json"
_MANIFEST: Final = {
    "application/yaml": {"schema": {"type": "string", "description": "Manifests, as YAML."}},
    _JSON: {"schema": {"type": "object", "description": "A manifest or a List of them, as JSON."}},
}
#: The problems that a question can have, by status.
_PROBLEMS: Final = {
    "400": "A parameter is wrong.",
    "401": "The request needs a token, or a user that the proxy names.",
    "404": "There is no such object.",
    "413": "The body is too large.",
    "422": "A manifest is wrong, or needs something that is not modelled.",
    "503": "Too many requests are waiting, or the cluster cannot be read.",
    "504": "The answer takes too long.",
}
_JOB_ID: Final = {
    "name": "id",
    "in": "path",
    "required": True,
    "schema": {"type": "string"},
    "description": "The identifier of the job.",
}


@cache
def openapi_document() -> dict[str, Any]:
    """Return the document."""
    queries = {question.asks for question in QUESTIONS}
    answers = {kind for question in QUESTIONS for kind in question.answers}
    types = (*sorted(queries | answers, key=lambda kind: kind.__name__), JobData, JobList, Problem)
    _, schemas = schema_components(types, _REF)
    parameters = {kind: schemas.pop(kind.__name__) for kind in queries}
    paths: dict[str, dict[str, Any]] = {}
    for question in QUESTIONS:
        path = paths.setdefault(f"/api/v1{question.path}", {})
        path[question.method.lower()] = _operation(question, parameters[question.asks])
    job, jobs = ({"$ref": _REF.format(name=name)} for name in ("JobData", "JobList"))
    stream = {"200": {"description": "Events.", "content": {"text/event-stream": {"schema": {"type": "string"}}}}}
    one = {"parameters": [_JOB_ID]}
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "kschedctl",
            "version": version("kschedctl"),
            "description": "What kube-scheduler would do with a pod, and why. Answers are those of the command line "
            "with -o json; parameters are named as its options.",
        },
        "paths": paths
        | {
            "/api/v1/jobs": {
                "get": {"operationId": "list_jobs", "summary": "List all jobs", "responses": _responses(jobs)}
            },
            "/api/v1/jobs/{id}": {
                **one,
                "get": {
                    "operationId": "show_job",
                    "summary": "Show a job, with its answer",
                    "responses": _responses(job),
                },
                "delete": {"operationId": "cancel_job", "summary": "Cancel a job", "responses": _responses(job)},
            },
            "/api/v1/jobs/{id}/events": {
                **one,
                "get": {
                    "operationId": "job_events",
                    "summary": "Stream the progress of a job until it ends: events job",
                    "responses": stream | _problem_responses(),
                },
            },
            "/api/v1/events": {
                "get": {
                    "operationId": "events",
                    "summary": "Stream changes of the cluster and of jobs: events cluster and job",
                    "responses": stream | _problem_responses(),
                }
            },
        },
        "components": {
            "schemas": dict(sorted(schemas.items())),
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
        # A server on loopback needs no token.
        "security": [{}, {"token": []}],
    }


def _operation(question: Question, asks: dict[str, Any]) -> dict[str, Any]:
    answers = [{"$ref": _REF.format(name=kind.__name__)} for kind in question.answers]
    answer: dict[str, Any] = answers[0] if len(answers) == 1 else {"oneOf": answers}
    required = asks.get("required", ())
    found = []
    for name, schema in asks.get("properties", {}).items():
        in_path = f"{{{name}}}" in question.path
        own = {key: value for key, value in schema.items() if key != "description"}
        found.append(
            {
                "name": name,
                "in": "path" if in_path else "query",
                "required": in_path or name in required,
                "description": schema.get("description", ""),
                "schema": own,
            }
        )
    operation: dict[str, Any] = {
        "operationId": question.name,
        "summary": question.summary.rstrip("."),
        "parameters": [
            *found,
            *(
                [
                    {
                        "name": edit.option.flag.removeprefix("--"),
                        "in": "query",
                        "required": False,
                        "description": f"{edit.option.help} Form: {edit.option.metavar}.",
                        "schema": {"type": "array", "items": {"type": "string"}},
                    }
                    for edit in OFFERED
                ]
                if question.what_ifs
                else ()
            ),
        ],
        "responses": {**_job_begun(answer), **_problem_responses()} if question.is_job else _responses(answer),
    }
    if question.body is not Body.NONE:
        operation["requestBody"] = {"required": question.body is Body.REQUIRED, "content": _MANIFEST}
    return operation


def _responses(answer: dict[str, Any], description: str = "The answer.") -> dict[str, Any]:
    return {"200": {"description": description, "content": {_JSON: {"schema": answer}}}, **_problem_responses()}


def _problem_responses() -> dict[str, Any]:
    content = {MEDIA_TYPE: {"schema": {"$ref": _REF.format(name="Problem")}}}
    return {status: {"description": text, "content": content} for status, text in _PROBLEMS.items()}


def _job_begun(answer: dict[str, Any]) -> dict[str, Any]:
    done = {"properties": {"answer": {"anyOf": [answer, {"type": "null"}]}}}
    job = {"allOf": [{"$ref": _REF.format(name="JobData")}, done]}
    text = "The job has begun; Location names it. Once it is done, its answer is there."
    location = {"Location": {"description": "The address of the job.", "schema": {"type": "string"}}}
    return {"202": {"description": text, "headers": location, "content": {_JSON: {"schema": job}}}}


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
        texts = [
            notice.encode("ascii", "replace").decode().replace("\\", " ").replace('"', "'")
            for notice in reply.notices[:20]
        ]
        shown = [" ".join("".join(c if c.isprintable() else " " for c in text).split())[:500] for text in texts]
        headers = {
            _VERSION: str(reply.version),
            **({"Warning": ", ".join(f'299 - "{text}"' for text in shown)} if shown else {}),
        }
        return Response(reply.value, headers=headers, media_type=MediaType.JSON)

    path = question.path.replace("}", ":str}")
    return HTTPRouteHandler(path, http_method=question.method, name=question.name, status_code=200)(handle)


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
    return event_stream(served, job_event(served.jobs.find(id_)), job=id_)


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
    "/api/v1", route_handlers=[*map(_handler, QUESTIONS), list_jobs, show_job, cancel_job, job_events, events, openapi]
)
