"""The pages of single objects: a pod, a node, a workload, a claim and a disruption budget."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from litestar import Router

from kschedctl.common.errors import KschedctlError
from kschedctl.questions.explain.answer import Explanation
from kschedctl.questions.explain.document import ExplainView
from kschedctl.questions.face import SchedulingCluster
from kschedctl.questions.handle import AnalysisHandle
from kschedctl.questions.inventory.analysis import pod_items
from kschedctl.questions.volumes.answer import PodVolumes
from kschedctl.web.pages.handler import page
from kschedctl.web.pages.sheet import Part, Sheet, error_blocks
from kschedctl.web.pages.visit import Values, Visit
from kschedctl.web.questions.pods import ExplainPodQuery


def pod_page(cluster: SchedulingCluster, visit: Visit, handle: AnalysisHandle) -> str:
    """Return the page of a pod: its decision, its victims, its volumes, and the objects that it belongs to."""
    sheet = Sheet(cluster, visit, handle)
    query = sheet.query("explain_pod", visit.asked)
    assert isinstance(query, ExplainPodQuery)
    explanation: Explanation = sheet.answer("explain_pod", visit.asked)
    view = sheet.view()
    shown = ExplainView(
        wide=view.wide,
        drawn=True,
        overview=view.overview,
        describe=view.describe,
        nodes=query.node,
        reasons=query.why,
        withstand=query.withstand,
    )
    names = tuple(visit.names.items())
    parts = [sheet.part(explanation, shown)]
    if explanation.preemption is not None and explanation.preemption.nominated:
        parts.append(sheet.attempt("Preemption", "preempt_pod", names))
    parts += _volumes(sheet, names)
    actions = tuple(_belongs_to(sheet, visit))
    return sheet.html("answer.html.j2", f"Pod {query.namespace}/{query.name}", parts, actions=actions)


def _belongs_to(sheet: Sheet, visit: Visit) -> Iterator[tuple[str, str]]:
    """Yield the objects that a pod belongs to, and the question about copies of it, each with its address."""
    namespace, name = visit.names["namespace"], visit.names["name"]
    index = sheet.cluster.pods.index.get((namespace, name))
    if index is None:
        return
    pod = pod_items(sheet.cluster.cluster, [index], 1)[0]
    yield (f"on {pod.node}", sheet.links(pod.node)) if pod.node else ("pending", "")
    if pod.nominated_node:
        yield f"nominated to {pod.nominated_node}", sheet.links(pod.nominated_node)
    if pod.workload:
        yield pod.workload, sheet.links(pod.workload)
    yield "Capacity for more copies", visit.address("/capacity", (("pod", pod.key),))


def _volumes(sheet: Sheet, names: Values) -> Iterator[Part]:
    """Yield the part about the claims of a pod, if it has any."""
    try:
        volumes: PodVolumes = sheet.answer("show_pod_volumes", names)
    except KschedctlError as error:
        yield sheet.laid_out(error_blocks(error), "Volumes")
        return
    if volumes.claims:
        yield sheet.part(volumes, sheet.view(), "Volumes")


def node_page(cluster: SchedulingCluster, visit: Visit, handle: AnalysisHandle) -> str:
    """Return the page of a node."""
    sheet = Sheet(cluster, visit, handle)
    part = sheet.part(sheet.answer("show_node", visit.asked), sheet.view(wide=True))
    return sheet.html("answer.html.j2", f"Node {visit.names['name']}", (part,))


def workload_page(cluster: SchedulingCluster, visit: Visit, handle: AnalysisHandle) -> str:
    """Return the page of a workload: its pods, budgets and claims."""
    sheet = Sheet(cluster, visit, handle)
    part = sheet.part(sheet.answer("show_workload", visit.asked), sheet.view())
    kind, namespace, name = (visit.names[each] for each in ("kind", "namespace", "name"))
    return sheet.html("answer.html.j2", f"{kind} {namespace}/{name}", (part,))


def claim_page(cluster: SchedulingCluster, visit: Visit, handle: AnalysisHandle) -> str:
    """Return the page of a claim."""
    sheet = Sheet(cluster, visit, handle)
    part = sheet.part(sheet.answer("show_claim", visit.asked), sheet.view(wide=True))
    title = f"Claim {visit.names['namespace']}/{visit.names['name']}"
    return sheet.html("answer.html.j2", title, (part,))


def budget_page(cluster: SchedulingCluster, visit: Visit, handle: AnalysisHandle) -> str:
    """Return the page of a disruption budget."""
    sheet = Sheet(cluster, visit, handle)
    part = sheet.part(sheet.answer("show_budget", visit.asked), sheet.view())
    title = f"Budget {visit.names['namespace']}/{visit.names['name']}"
    return sheet.html("answer.html.j2", title, (part,))


OBJECTS: Final = Router(
    "/",
    route_handlers=[
        page("/pods/{namespace:str}/{name:str}", pod_page),
        page("/nodes/{name:str}", node_page),
        page("/workloads/{kind:str}/{namespace:str}/{name:str}", workload_page),
        page("/claims/{namespace:str}/{name:str}", claim_page),
        page("/budgets/{namespace:str}/{name:str}", budget_page),
    ],
)
