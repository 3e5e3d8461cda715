"""The pending pods by cause, on a page of their own and on the first page."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from litestar import Router

from kschedctl.cluster.records import PENDING
from kschedctl.common.wording import counted
from kschedctl.questions.document import Paragraph
from kschedctl.questions.face import SchedulingCluster
from kschedctl.questions.handle import AnalysisHandle
from kschedctl.questions.inventory.answer import PodsOverview
from kschedctl.web.pages.handler import page
from kschedctl.web.pages.lists import namespaces
from kschedctl.web.pages.sheet import Part, Sheet
from kschedctl.web.pages.visit import Values, Visit

#: The largest number of nodes times owners of pending pods for which a page waits: about a second.
_MOST: Final = 25_000
_FIELDS: Final = ("namespace", "selector")


def pending_page(cluster: SchedulingCluster, visit: Visit, handle: AnalysisHandle) -> str:
    """Return the page about pending pods."""
    sheet = Sheet(cluster, visit, handle)
    part = pending_part(sheet, visit.asked)
    values = {"fields": _FIELDS, "namespaces": namespaces(sheet), "sent": dict(visit.own)}
    actions = (("Find causes, and changes that help, in the background", visit.address("/changes", visit.asked)),)
    return sheet.html("list.html.j2", "Pending pods", (part,), actions=actions, **values)


def pending_part(sheet: Sheet, values: Values, heading: str = "", only: Collection[type] = ()) -> Part:
    """Return the pending pods by cause; only their list if the causes would take too long for a page.

    Parameters
    ----------
    only : collection of type
        The types of blocks that are shown after the first one; all by default.
    """
    n_owners = _owners_of_pending(sheet.cluster)
    if n_owners * len(sheet.cluster.nodes) <= _MOST:
        return sheet.attempt(heading, "show_pending", values, only)
    pods: PodsOverview = sheet.answer("show_pods", (*values, ("pending", "true"), ("limit", "20")))
    part = sheet.part(pods, sheet.view(), heading)
    size = f"{counted(n_owners, 'workload')} on {counted(len(sheet.cluster.nodes), 'node')}"
    reason = f"The causes are not shown here, because finding them for {size} takes too long for a page."
    part.page.sections[-1].blocks.append(Paragraph(reason))
    return part


def _owners_of_pending(cluster: SchedulingCluster) -> int:
    """Return the number of owners of pending pods: the pods of one owner are mostly alike, and decided together."""
    pods = cluster.pods
    owners = set()
    for i in (pods.node_row == PENDING).nonzero()[0]:
        owner = pods.owner(i)
        metadata = pods.records[i].metadata
        owners.add((metadata.namespace, owner.uid if owner is not None else metadata.name))
    return len(owners)


PENDING_PODS: Final = Router("/", route_handlers=[page("/pending", pending_page)])
