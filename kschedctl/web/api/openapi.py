"""The OpenAPI document of the API, made from the questions and the types of their answers."""

from __future__ import annotations

from functools import cache
from importlib.metadata import version
from typing import Any, Final

from kschedctl.questions.schema.schema import schema_components
from kschedctl.web.api.job_data import JobData, JobList
from kschedctl.web.problems import MEDIA_TYPE, Problem
from kschedctl.web.questions.asked import OFFERED
from kschedctl.web.questions.question import Body, Question
from kschedctl.web.questions.registry import QUESTIONS

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
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "kschedctl",
            "version": version("kschedctl"),
            "description": "What kube-scheduler would do with a pod, and why. Answers are those of the command line "
            "with -o json; parameters are named as its options.",
        },
        "paths": paths | _job_paths(),
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
    operation: dict[str, Any] = {
        "operationId": question.name,
        "summary": question.summary.rstrip("."),
        "parameters": [*_own_parameters(question, asks), *(_what_ifs() if question.what_ifs else ())],
        "responses": {**_job_begun(answer), **_problems()} if question.is_job else _responses(answer),
    }
    if question.body is not Body.NONE:
        operation["requestBody"] = {"required": question.body is Body.REQUIRED, "content": _MANIFEST}
    return operation


def _own_parameters(question: Question, asks: dict[str, Any]) -> list[dict[str, Any]]:
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
    return found


def _what_ifs() -> list[dict[str, Any]]:
    return [
        {
            "name": edit.option.flag.removeprefix("--"),
            "in": "query",
            "required": False,
            "description": f"{edit.option.help} Form: {edit.option.metavar}.",
            "schema": {"type": "array", "items": {"type": "string"}},
        }
        for edit in OFFERED
    ]


def _responses(answer: dict[str, Any], description: str = "The answer.") -> dict[str, Any]:
    return {"200": {"description": description, "content": {_JSON: {"schema": answer}}}, **_problems()}


def _problems() -> dict[str, Any]:
    content = {MEDIA_TYPE: {"schema": {"$ref": _REF.format(name="Problem")}}}
    return {status: {"description": text, "content": content} for status, text in _PROBLEMS.items()}


def _job_begun(answer: dict[str, Any]) -> dict[str, Any]:
    done = {"properties": {"answer": {"anyOf": [answer, {"type": "null"}]}}}
    job = {"allOf": [{"$ref": _REF.format(name="JobData")}, done]}
    text = "The job has begun; Location names it. Once it is done, its answer is there."
    location = {"Location": {"description": "The address of the job.", "schema": {"type": "string"}}}
    return {"202": {"description": text, "headers": location, "content": {_JSON: {"schema": job}}}}


def _job_paths() -> dict[str, Any]:
    job, jobs = ({"$ref": _REF.format(name=name)} for name in ("JobData", "JobList"))
    stream = {"200": {"description": "Events.", "content": {"text/event-stream": {"schema": {"type": "string"}}}}}
    one = {"parameters": [_JOB_ID]}
    return {
        "/api/v1/jobs": {
            "get": {"operationId": "list_jobs", "summary": "List all jobs", "responses": _responses(jobs)}
        },
        "/api/v1/jobs/{id}": {
            **one,
            "get": {"operationId": "show_job", "summary": "Show a job, with its answer", "responses": _responses(job)},
            "delete": {"operationId": "cancel_job", "summary": "Cancel a job", "responses": _responses(job)},
        },
        "/api/v1/jobs/{id}/events": {
            **one,
            "get": {
                "operationId": "job_events",
                "summary": "Stream the progress of a job until it ends: events job",
                "responses": stream | _problems(),
            },
        },
        "/api/v1/events": {
            "get": {
                "operationId": "events",
                "summary": "Stream changes of the cluster and of jobs: events cluster and job",
                "responses": stream | _problems(),
            }
        },
    }
