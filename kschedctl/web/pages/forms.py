"""The forms of questions that take long: drain, simulation, capacity, changes for pending pods, and comparison."""

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final
from urllib.parse import parse_qs

import msgspec
from litestar import MediaType, Request, Response, Router, get, post
from litestar.datastructures import Cookie
from litestar.di import NamedDependency
from litestar.params import FromPath
from litestar.response import Redirect

from kschedctl.common.errors import InputError, KschedctlError
from kschedctl.questions.cluster_request import ClusterRequest
from kschedctl.questions.diff.answer import Diff
from kschedctl.questions.diff.document import DiffView
from kschedctl.questions.documents import document
from kschedctl.questions.frame import View
from kschedctl.questions.handle import AnalysisHandle
from kschedctl.questions.lint.analysis import report
from kschedctl.questions.lint.document import LintView
from kschedctl.trials.loaded_cluster import LoadedCluster
from kschedctl.web.access import COOKIE, Access, local_address, session_of, user_of
from kschedctl.web.jobs import Job, begin_job, read_answer
from kschedctl.web.pages.names import known_names
from kschedctl.web.pages.sheet import FORMS_OF_REQUESTS, Part, Sheet, error_blocks, error_lines, framed, laid_out
from kschedctl.web.pages.visit import AnyRequest, Links, ServerState, Visit, page, path_of
from kschedctl.web.questions.question import Body, Question, answer_of, form_values
from kschedctl.web.questions.questions import LintQuery, linted_manifest
from kschedctl.web.questions.registry import BY_NAME
from kschedctl.web.served import Served

#: The pages with a form: path, question and title.
_FORMS: Final = (
    *((path, request.operation, request.title) for path, request in FORMS_OF_REQUESTS),
    ("/simulate", "simulate_queue", "Simulate"),
    ("/capacity", "count_copies", "Capacity"),
    ("/compare", "compare", "Compare"),
)
_CONTROLS: Final = {"boolean": "checkbox", "integer": "number"}


@dataclass(frozen=True, slots=True)
class Field:
    """A field of a form."""

    name: str
    #: The type of the control: ``text``, ``number`` or ``checkbox``.
    control: str
    #: The description of the parameter.
    help: str


def fields_of(question: Question) -> Iterator[Field]:
    """Yield the fields of the form of a question: its parameters, as the API documents them."""
    schema = msgspec.json.schema(question.asks)
    for name, one in schema["$defs"][question.asks.__name__]["properties"].items():
        forms: list[dict[str, Any]] = [one, *one.get("anyOf", ())]
        kind = next((each["type"] for each in forms if each.get("type", "null") != "null"), "string")
        told = next((each["description"] for each in forms if "description" in each), "")
        yield Field(name, _CONTROLS.get(kind, "text"), told)


def form_page(cluster: LoadedCluster, visit: Visit, name: str, title: str, handle: AnalysisHandle) -> str:
    """Return the page with the form of a question."""
    # A mistyped address is an error, as for the question itself.
    BY_NAME[name].asked({}, visit.own, is_complete=False)
    return refused_page(cluster, visit, name, title, "", (), handle)


def refused_page(
    cluster: LoadedCluster,
    visit: Visit,
    name: str,
    title: str,
    manifest: str,
    problems: Sequence[str],
    handle: AnalysisHandle,
) -> str:
    """Return the page with the form of a question, as it was filled in, and what is wrong with it."""
    question = BY_NAME[name]
    sheet = Sheet(cluster, visit, handle)
    fields = tuple(fields_of(question))
    return sheet.html(
        "job_form.html.j2",
        title,
        summary=question.summary,
        question=name,
        fields=fields,
        names=known_names(sheet.cluster, (field.name for field in fields)),
        sent=dict(visit.own),
        manifest=manifest,
        problems=problems,
        has_manifest=question.body is not Body.NONE,
        takes_what_ifs=question.what_ifs,
    )


def refusal(
    cluster: LoadedCluster,
    visit: Visit,
    name: str,
    title: str,
    manifest: str,
    compare: tuple[ClusterRequest, ...],
    handle: AnalysisHandle,
) -> str:
    """Return the page with the form of a question that cannot be answered as it was filled in; empty if it can be.

    Raises InputError if the form has fields that the question does not have, or a what-if cannot be applied.
    """
    question = BY_NAME[name]
    try:
        asked = question.asked({}, visit.values, manifest.encode(), compare)
        if question.find is not None:
            answer_of(question.find, cluster, asked, handle)
    except InputError as error:
        known = {field.name for field in fields_of(question)}
        if not known.issuperset(name for name, _ in visit.own):
            raise
        return refused_page(cluster, visit, name, title, manifest, error_lines(error), handle)
    return ""


FORMS: Final = Router("/", route_handlers=[page(path, form_page, question, title) for path, question, title in _FORMS])


# The background jobs: their list, and a page per job with its progress and its answer.

#: The fields of forms that are no parameters of the question.
_QUESTION: Final = "question"
_MANIFEST: Final = "manifest"


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownJob:
    """A job as its page shows it."""

    #: The identifier of the job, and its question with its parameters.
    id: str
    title: str
    state: str
    #: True if the state is final.
    ended: bool
    #: The time of its creation.
    created_at: datetime
    #: Its current work; empty if unknown.
    work: str
    #: The number of items that are done.
    done: int
    #: The number of all items; ``None`` if unknown.
    total: int | None
    #: Notes and warnings that are no part of the answer.
    notices: tuple[str, ...]
    #: The error with which it failed.
    error: KschedctlError | None
    #: The answer of a job that is done, for `read_answer`.
    result: bytes | None

    @classmethod
    def of(cls, job: Job) -> "ShownJob":
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


def job_page(cluster: LoadedCluster, visit: Visit, job: ShownJob, handle: AnalysisHandle) -> str:
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
async def start_job(request: AnyRequest, served: NamedDependency[Served]) -> Response[Any]:
    """Start the job of a form, and lead to its page; a form that is refused is shown again as it was filled in."""
    sent = [(name, value) for name, value in await form_values(request) if value.strip()]
    fields = dict(sent)
    question = BY_NAME.get(fields.get(_QUESTION, ""))
    if question is None or not question.is_job:
        raise InputError("the form names no question that runs as a job", path=_QUESTION)
    values = [(name, value) for name, value in sent if name not in (_QUESTION, _MANIFEST)]
    body = fields.get(_MANIFEST, "").replace("\r\n", "\n").encode()
    user, compare = user_of(request.scope, served.settings), served.settings.compare
    visit = Visit.of(request, served).having(values)
    path, title = next((path, title) for path, name, title in _FORMS if name == question.name)
    form = replace(visit, path=path, values=tuple(values))
    refused = await served.ask(refusal, form, question.name, title, body.decode(), compare)
    if refused:
        return Response(refused, status_code=400, media_type=MediaType.HTML)
    job = begin_job(served.jobs, question, values, body, compare, user)
    return Redirect(visit.address(path_of("jobs", job.id)), status_code=303)


@post("/jobs/{id_:str}/cancel", media_type=MediaType.HTML)
async def cancel_job(request: AnyRequest, id_: FromPath[str], served: NamedDependency[Served]) -> Redirect:
    """Cancel a job, and lead back to its page."""
    job = await served.jobs.cancel(id_)
    return Redirect(Visit.of(request, served).address(path_of("jobs", job.id)), status_code=303)


JOBS: Final = Router("/", route_handlers=[list_jobs, show_job, start_job, cancel_job])


# The page to paste a manifest into: where its pods would be scheduled, and what lint finds.

#: The text that the box contains at first.
_EXAMPLE: Final = """\
apiVersion: v1
kind: Pod
metadata:
  name: example
spec:
  containers:
  - name: app
    image: registry.example/app:1
    resources:
      requests:
        cpu: "1"
        memory: 1Gi
"""


def try_page(cluster: LoadedCluster, visit: Visit, handle: AnalysisHandle) -> str:
    """Return the page with an example in the box."""
    return Sheet(cluster, visit, handle).html("try.html.j2", "Try a manifest", manifest=_EXAMPLE)


def tried_page(cluster: LoadedCluster, visit: Visit, manifest: str, handle: AnalysisHandle) -> str:
    """Return the page with the answers about a manifest."""
    sheet = Sheet(cluster, visit, handle)
    return sheet.html("try.html.j2", "Try a manifest", tuple(_attempts(sheet, manifest.encode())), manifest=manifest)


def _attempts(sheet: Sheet, manifest: bytes) -> Iterator[Part]:
    """Yield where the pods of a manifest would be scheduled, and what lint finds; one error if it cannot be read."""
    try:
        if not manifest.strip():
            raise InputError("the box is empty", hint="paste a manifest, as YAML or JSON")
        linted = sheet.run(linted_manifest, LintQuery(), manifest)
    except InputError as error:
        yield sheet.laid_out(error_blocks(error), "Manifest")
        return
    try:
        yield sheet.laid_out(document(sheet.answer("explain_manifest", body=manifest), sheet.view()), "Scheduling")
    except InputError as error:
        # Beside an error, no part says that nothing was found.
        yield sheet.laid_out(error_blocks(error), "Scheduling" if linted.found else "Manifest")
        if not linted.found:
            return
    yield sheet.laid_out(document(report(linted), LintView(linted=linted, drawn=True)), "Lint")


@post("/try", media_type=MediaType.HTML, status_code=200)
async def try_manifest(request: AnyRequest, served: NamedDependency[Served]) -> Response[Any]:
    """Answer questions about the manifest of a form."""
    manifest = dict(await form_values(request)).get("manifest", "")
    visit = Visit.of(request, served)
    return Response(await served.ask(tried_page, visit, manifest.replace("\r\n", "\n")), media_type=MediaType.HTML)


TRY: Final = Router("/", route_handlers=[page("/try", try_page), try_manifest])


# The form for the token, which becomes a cookie.

#: The time for which a browser is known, in seconds.
_SESSION_SECONDS: Final = 12 * 3600


@get("/login", media_type=MediaType.HTML)
async def show_form(request: Request[Any, Any, Any]) -> str:
    """Show the form for the token."""
    return _page(_fields(request.scope["query_string"]).get("next", ""))


@post("/login", media_type=MediaType.HTML)
async def log_in(request: Request[Any, Any, Any], served: NamedDependency[Served]) -> Response[object]:
    """Check the token, and set the cookie."""
    fields = _fields(await request.body())
    wanted = fields.get("next", "")
    if not Access(served.settings).is_token(fields.get("token", "")):
        return Response(_page(wanted, "This is not the token of this server."), status_code=401)
    cookie = Cookie(
        key=COOKIE,
        value=session_of(served.settings.token, int(time.time()) + _SESSION_SECONDS),
        max_age=_SESSION_SECONDS,
        path="/",
        httponly=True,
        # With "strict", a link that somebody shared would lead to this form.
        samesite="lax",
        # The server speaks HTTP, perhaps behind a proxy with TLS; the browser names the scheme that it uses.
        secure=request.headers.get("Origin", "").startswith("https://"),
    )
    return Redirect(local_address(wanted), status_code=303, cookies=[cookie])


def _fields(sent: bytes) -> Mapping[str, str]:
    """Return the fields of a form or an address, the first of each name; none if they cannot be read."""
    try:
        return {name: values[0] for name, values in parse_qs(sent.decode("ascii"), max_num_fields=5).items()}
    except ValueError:
        return {}


def _page(wanted: str, problem: str = "") -> str:
    # Nothing about the cluster is shown before the token is known.
    visit = Visit(server=ServerState(name=""), path="/login")
    return framed("login.html.j2", visit, title="Log in", problem=problem, next=local_address(wanted))


LOGIN: Final = Router("/", route_handlers=[show_form, log_in])
