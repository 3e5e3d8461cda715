"""The page to paste a manifest into: where its pods would be scheduled, and what lint finds."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final

from litestar import MediaType, Response, Router, post
from litestar.di import NamedDependency

from kschedctl.common.errors import InputError
from kschedctl.questions.document import Block, Document
from kschedctl.questions.documents import document
from kschedctl.questions.face import SchedulingCluster
from kschedctl.questions.handle import AnalysisHandle
from kschedctl.questions.lint.analysis import report
from kschedctl.questions.lint.document import LintView
from kschedctl.web.pages.handler import AnyRequest, page
from kschedctl.web.pages.sheet import Part, Sheet, error_blocks
from kschedctl.web.pages.visit import Visit
from kschedctl.web.parameters import form_values
from kschedctl.web.questions.overview import LintQuery, linted_manifest
from kschedctl.web.served import Served

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


def try_page(cluster: SchedulingCluster, visit: Visit, handle: AnalysisHandle) -> str:
    """Return the page with an example in the box."""
    return Sheet(cluster, visit, handle).html("try.html.j2", "Try a manifest", manifest=_EXAMPLE)


def tried_page(cluster: SchedulingCluster, visit: Visit, manifest: str, handle: AnalysisHandle) -> str:
    """Return the page with the answers about a manifest."""
    sheet = Sheet(cluster, visit, handle)
    text = manifest.encode()
    parts = (
        _part(sheet, "Scheduling", lambda: _explained(sheet, text)),
        _part(sheet, "Lint", lambda: _linted(sheet, text)),
    )
    return sheet.html("try.html.j2", "Try a manifest", parts, manifest=manifest)


def _part(sheet: Sheet, heading: str, blocks: Callable[[], Iterable[Block]]) -> Part:
    try:
        return sheet.laid_out(blocks(), heading)
    except InputError as error:
        return sheet.laid_out(error_blocks(error), heading)


def _explained(sheet: Sheet, manifest: bytes) -> Document:
    return document(sheet.answer("explain_manifest", body=manifest), sheet.view())


def _linted(sheet: Sheet, manifest: bytes) -> Document:
    linted = sheet.run(linted_manifest, LintQuery(), manifest)
    return document(report(linted), LintView(linted=linted, drawn=True))


@post("/try", media_type=MediaType.HTML, status_code=200)
async def try_manifest(request: AnyRequest, served: NamedDependency[Served]) -> Response[Any]:
    """Answer questions about the manifest of a form."""
    manifest = dict(await form_values(request)).get("manifest", "")
    visit = Visit.of(request, served)
    return Response(await served.ask(tried_page, visit, manifest.replace("\r\n", "\n")), media_type=MediaType.HTML)


TRY: Final = Router("/", route_handlers=[page("/try", try_page), try_manifest])
