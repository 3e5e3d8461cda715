"""The lists of objects, and search."""

from __future__ import annotations

from typing import Final

from litestar import Router

from kschedctl.objects.core import Namespace
from kschedctl.questions.document import Paragraph
from kschedctl.questions.face import SchedulingCluster
from kschedctl.questions.handle import AnalysisHandle
from kschedctl.questions.inventory.answer import SearchResults
from kschedctl.questions.volumes.answer import VolumesList
from kschedctl.web.pages.handler import page
from kschedctl.web.pages.sheet import Sheet
from kschedctl.web.pages.visit import Visit

#: The lists: path, question, title, fields of the form, and the kind of the names in the list.
_LISTS: Final = (
    ("/pods", "show_pods", "Pods", ("namespace", "q", "selector"), "Pod"),
    ("/nodes", "list_nodes", "Nodes", ("selector", "by", "sort-by"), "Node"),
    ("/workloads", "show_workloads", "Workloads", ("namespace", "q"), "Pod"),
    ("/claims", "show_claims", "Claims", ("namespace", "selector"), "PersistentVolumeClaim"),
    ("/budgets", "show_budgets", "Disruption budgets", ("namespace", "q"), "PodDisruptionBudget"),
)


def list_page(
    cluster: SchedulingCluster,
    visit: Visit,
    question: str,
    title: str,
    fields: tuple[str, ...],
    prefer: str,
    handle: AnalysisHandle,
) -> str:
    """Return a list of objects, with a form to select them."""
    sheet = Sheet(cluster, visit, handle, prefer=prefer)
    answer = sheet.answer(question, visit.asked)
    if isinstance(answer, VolumesList) and not answer.items:
        part = sheet.laid_out((Paragraph("no claims"),))
    else:
        part = sheet.part(answer, sheet.view())
    known = namespaces(sheet) if "namespace" in fields else []
    values = {"fields": fields, "namespaces": known, "sent": dict(visit.own)}
    return sheet.html("list.html.j2", title, (part,), **values)


def namespaces(sheet: Sheet) -> list[str]:
    """Return the namespaces to choose from."""
    known = {each.name for each in sheet.cluster.cluster.list(Namespace)}
    return sorted(known | {namespace for namespace, _ in sheet.cluster.pods.index})


def search_page(cluster: SchedulingCluster, visit: Visit, handle: AnalysisHandle) -> str:
    """Return the objects that a search found, the best ones first."""
    sheet = Sheet(cluster, visit, handle)
    found: SearchResults = sheet.answer("find_objects", visit.asked or (("q", ""),))
    items = tuple((item, sheet.links.of(item.kind, item.namespace, item.name)) for item in found.items)
    return sheet.html("search.html.j2", "Search", found=found, items=items)


LISTS: Final = Router(
    "/",
    route_handlers=[*(page(path, list_page, *about) for path, *about in _LISTS), page("/search", search_page)],
)
