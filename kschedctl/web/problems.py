"""Errors as responses: problem details (RFC 9457) for programs, and a page for browsers."""

import logging
from http import HTTPStatus
from typing import Annotated, Any, Final

import msgspec
from litestar import Request, Response
from litestar.exceptions import HTTPException
from msgspec import Meta

from kschedctl.common.errors import ClusterError, InputError, KschedctlError, ManifestError, UnsupportedError
from kschedctl.common.text.characters import printable
from kschedctl.common.text.json_text import encodable, encoded_json
from kschedctl.sources.snapshot.files import STDIN_NAME
from kschedctl.web.errors import BrokenWorkerError, BusyError, NotFoundError, TookTooLongError
from kschedctl.web.pages.sheet import problem_page

_LOG: Final = logging.getLogger("kschedctl.web")
MEDIA_TYPE: Final = "application/problem+json"
#: The status of each error; the first type that matches counts.
_STATUS: Final[tuple[tuple[type[KschedctlError], HTTPStatus], ...]] = (
    (NotFoundError, HTTPStatus.NOT_FOUND),
    (BusyError, HTTPStatus.SERVICE_UNAVAILABLE),
    (TookTooLongError, HTTPStatus.GATEWAY_TIMEOUT),
    (BrokenWorkerError, HTTPStatus.INTERNAL_SERVER_ERROR),
    (ManifestError, HTTPStatus.UNPROCESSABLE_ENTITY),
    (UnsupportedError, HTTPStatus.UNPROCESSABLE_ENTITY),
    (InputError, HTTPStatus.BAD_REQUEST),
    (ClusterError, HTTPStatus.SERVICE_UNAVAILABLE),
)
#: The most problems in a response.
_MOST: Final = 50


class ProblemPart(msgspec.Struct, frozen=True, kw_only=True):
    """A single problem."""

    problem: Annotated[str, Meta(description="The problem, with the value.")]
    where: Annotated[str, Meta(description="The place: a document of the body, or an object; may be empty.")] = ""
    field: Annotated[str, Meta(description="The parameter, or the path of the field; may be empty.")] = ""
    hint: Annotated[str, Meta(description="The expected value, or what to do; may be empty.")] = ""


class Problem(msgspec.Struct, frozen=True, kw_only=True):
    """Problem details: what is wrong, where, and what to do."""

    type: Annotated[str, Meta(description="The type of the problem: its status says all.")] = "about:blank"
    title: Annotated[str, Meta(description="The name of the status.")]
    status: Annotated[int, Meta(description="The status of the response.")]
    detail: Annotated[str, Meta(description="The problem in one sentence.")]
    problems: Annotated[tuple[ProblemPart, ...], Meta(description="All problems.")] = ()


def problem_of(error: Exception) -> Problem:
    """Return the problem details of an error; those of a bug contain nothing about it."""
    if isinstance(error, KschedctlError):
        status = next((status for kind, status in _STATUS if isinstance(error, kind)), HTTPStatus.BAD_REQUEST)
        findings = error.findings[:_MOST] if isinstance(error, InputError) else ()
        hint = "" if findings else " ".join(error.lines()[1:]).strip()
        parts = tuple(
            ProblemPart(
                problem=_readable(finding.problem),
                where=_readable(str(finding.where)),
                field=_readable(finding.field or str(finding.position or "")),
                hint=_readable(finding.hint),
            )
            for finding in findings
        ) or (ProblemPart(problem=_readable(error.summary), hint=_readable(hint)),)
        return Problem(title=status.phrase, status=status, detail=_readable(error.summary), problems=parts)
    if isinstance(error, HTTPException):
        status = HTTPStatus(error.status_code)
        return Problem(title=status.phrase, status=status, detail=_readable(error.detail or status.phrase))
    status = HTTPStatus.INTERNAL_SERVER_ERROR
    return Problem(title=status.phrase, status=status, detail=str(BrokenWorkerError()))


def respond(request: Request[Any, Any, Any], error: Exception) -> Response[bytes]:
    """Return the response to an error: a page for a browser that asks for one, else problem details."""
    problem = problem_of(error)
    if problem.status == HTTPStatus.INTERNAL_SERVER_ERROR and not isinstance(error, KschedctlError):
        _LOG.error("%s %s", request.method, printable(request.url.path), exc_info=error)
    headers = {"Retry-After": "1"} if problem.status == HTTPStatus.SERVICE_UNAVAILABLE else {}
    if isinstance(error, HTTPException) and error.headers:
        headers |= error.headers
    if "text/html" in request.headers.get("Accept", "") and not request.url.path.startswith("/api/"):
        shown = [
            (part.where, part.field, part.problem, part.hint)
            for part in (problem.problems or (ProblemPart(problem=problem.detail),))
        ]
        path, query = request.scope["path"], request.scope["query_string"]
        page = problem_page(problem.status, problem.title, shown, path=path, query=query)
        return Response(page.encode(), status_code=problem.status, headers=headers, media_type="text/html")
    return Response(encoded_json(problem), status_code=problem.status, headers=headers, media_type=MEDIA_TYPE)


def _readable(text: str) -> str:
    return encodable(text.replace(STDIN_NAME, "the request's body"))
