"""The pages of single objects: a pod, a node, a workload, a claim and a disruption budget."""

from collections.abc import Callable, Collection, Iterator
from typing import Final, TypeVar

import msgspec
from litestar import Router

from kschedctl.cluster.records import PENDING
from kschedctl.common.errors import ClusterError, InputError, KschedctlError
from kschedctl.common.wording import counted, listed
from kschedctl.questions.charts import Bars, NodeMap
from kschedctl.questions.document import Paragraph, Provenance, Questions, Table, Tone
from kschedctl.questions.explain.answer import Explanation
from kschedctl.questions.explain.document import ExplainView
from kschedctl.questions.handle import AnalysisHandle
from kschedctl.questions.inventory.analysis import pod_items
from kschedctl.questions.inventory.answer import BudgetsOverview, PodsOverview, SearchResults
from kschedctl.questions.leader.answer import LeaderOverview
from kschedctl.questions.volumes.answer import PodVolumes, VolumesList
from kschedctl.trials.loaded_cluster import LoadedCluster
from kschedctl.web.pages.names import known_names
from kschedctl.web.pages.sheet import Part, Sheet, error_blocks, error_lines
from kschedctl.web.pages.visit import Values, Visit, page
from kschedctl.web.questions.question import AskedRequest

T = TypeVar("T")


def pod_page(cluster: LoadedCluster, visit: Visit, handle: AnalysisHandle) -> str:
    """Return the page of a pod: its decision, its victims, its volumes, and the objects that it belongs to."""
    sheet = Sheet(cluster, visit, handle)
    asked = sheet.asked("explain_pod", visit.asked)
    assert isinstance(asked, AskedRequest)
    query, request = asked.query, asked.request
    explanation: Explanation = sheet.answer("explain_pod", visit.asked)
    view = sheet.view()
    shown = ExplainView(
        wide=view.wide,
        drawn=True,
        overview=view.overview,
        describe=view.describe,
        nodes=tuple(request.node),
        reasons=request.why,
        withstand=request.withstand,
        applied=bool(request.apply_suggestion),
    )
    names = tuple(visit.names.items())
    parts = [sheet.part(explanation, shown)]
    if explanation.preemption is not None and explanation.preemption.nominated:
        parts.append(sheet.attempt("Preemption", "preempt_pod", names))
    try:
        volumes: PodVolumes = sheet.answer("show_pod_volumes", names)
    except KschedctlError as error:
        parts.append(sheet.laid_out(error_blocks(error), "Volumes"))
    else:
        parts += [sheet.part(volumes, sheet.view(), "Volumes")] if volumes.claims else []
    actions = tuple(_belongs_to(sheet, visit))
    return sheet.html(
        "answer.html.j2", f"Pod {query.namespace}/{query.name}", parts, actions=actions, headed=parts[0].page
    )


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


#: The pages of one answer: path, question, title, and whether its tables are wide.
_OBJECTS: Final = (
    ("/nodes/{name:str}", "show_node", "Node {name}", True),
    ("/workloads/{kind:str}/{namespace:str}/{name:str}", "show_workload", "{kind} {namespace}/{name}", False),
    ("/claims/{namespace:str}/{name:str}", "show_claim", "Claim {namespace}/{name}", True),
    ("/budgets/{namespace:str}/{name:str}", "show_budget", "Budget {namespace}/{name}", False),
)


def object_page(
    cluster: LoadedCluster, visit: Visit, question: str, title: str, wide: bool, handle: AnalysisHandle
) -> str:
    """Return the page of a node, a workload, a claim or a disruption budget."""
    sheet = Sheet(cluster, visit, handle)
    part = sheet.part(sheet.answer(question, visit.asked), sheet.view(wide=wide))
    headed = part.page if part.page.state else None
    return sheet.html("answer.html.j2", title.format_map(visit.names), (part,), headed=headed)


OBJECTS: Final = Router(
    "/",
    route_handlers=[
        page("/pods/{namespace:str}/{name:str}", pod_page),
        *(page(path, object_page, *about) for path, *about in _OBJECTS),
    ],
)


# The lists of objects, and search.

#: The lists: path, question, title, fields of the form, and the kind of the names in the list.
_LISTS: Final = (
    ("/pods", "show_pods", "Pods", ("pending", "namespace", "workload", "node", "q", "selector"), "Pod"),
    ("/nodes", "list_nodes", "Nodes", ("selector", "by", "sort-by"), "Node"),
    ("/workloads", "show_workloads", "Workloads", ("namespace", "q"), "Pod"),
    ("/claims", "show_claims", "Claims", ("namespace", "selector"), "PersistentVolumeClaim"),
    ("/budgets", "show_budgets", "Disruption budgets", ("namespace", "q"), "PodDisruptionBudget"),
)


def list_page(
    cluster: LoadedCluster,
    visit: Visit,
    question: str,
    title: str,
    fields: tuple[str, ...],
    prefer: str,
    handle: AnalysisHandle,
) -> str:
    """Return a list of objects, with a form to select them."""
    sheet = Sheet(cluster, visit, handle, prefer=prefer)
    answer, problems = _selected(visit, fields, lambda values: sheet.answer(question, values))
    if isinstance(answer, VolumesList) and not answer.items:
        part = sheet.laid_out((Paragraph("no claims"),))
    else:
        part = sheet.part(answer, sheet.view())
    values = {"fields": fields, "names": known_names(sheet.cluster, fields), "sent": dict(visit.own)}
    return sheet.html("list.html.j2", title, (part,), in_full=True, problems=problems, **values)


def _selected(visit: Visit, fields: Collection[str], answer: Callable[[Values], T]) -> tuple[T, tuple[str, ...]]:
    """Return the answer about the objects that the fields of a form select, and what is wrong with the fields.

    A field with which there is no answer is left out.

    Raises InputError if a parameter that is no field is wrong.
    """
    values = visit.asked
    problems: tuple[str, ...] = ()
    while True:
        try:
            return answer(values), problems
        except InputError as error:
            wrong = {each.field for each in error.findings}.intersection(fields)
            left = tuple(each for each in values if each[0] not in wrong)
            if left == values:
                raise
            values = left
            without = f"The list is shown without the filter by {listed(sorted(wrong))}."
            problems = (*problems, *error_lines(error), without)


def search_page(cluster: LoadedCluster, visit: Visit, handle: AnalysisHandle) -> str:
    """Return the objects that a search found, the best ones first."""
    sheet = Sheet(cluster, visit, handle)
    found: SearchResults = sheet.answer("find_objects", visit.asked or (("q", ""),))
    items = tuple((item, sheet.links.of(item.kind, item.namespace, item.name)) for item in found.items)
    return sheet.html("search.html.j2", "Search", found=found, items=items)


LISTS: Final = Router(
    "/", route_handlers=[*(page(path, list_page, *about) for path, *about in _LISTS), page("/search", search_page)]
)


# The pending pods by cause, on a page of their own and on the first page.

#: The largest number of nodes times owners of pending pods for which a page waits: about a second.
_MOST: Final = 25_000
_FIELDS: Final = ("namespace", "selector")


def pending_page(cluster: LoadedCluster, visit: Visit, handle: AnalysisHandle) -> str:
    """Return the page about pending pods."""
    sheet = Sheet(cluster, visit, handle)
    part, problems = _selected(visit, _FIELDS, lambda values: pending_part(sheet, values))
    values = {"fields": _FIELDS, "names": known_names(sheet.cluster, _FIELDS), "sent": dict(visit.own)}
    actions = (("Find causes, and changes that help, in the background", visit.address("/changes", visit.asked)),)
    return sheet.html("list.html.j2", "Pending pods", (part,), actions=actions, problems=problems, **values)


def pending_part(sheet: Sheet, values: Values, heading: str = "", only: Collection[type] = ()) -> Part:
    """Return the pending pods by cause; only their list if the causes would take too long for a page.

    Args:
        only: The types of blocks that are shown after the first one; all by default.
    """
    pods = sheet.cluster.pods
    pending = (pods.records[i].metadata for i in (pods.node_row == PENDING).nonzero()[0])
    # The pods of one owner are mostly alike, and decided together.
    owners = {(pod.namespace, pod.controller.uid if pod.controller is not None else pod.name) for pod in pending}
    n_owners = len(owners)
    if n_owners * len(sheet.cluster.nodes) <= _MOST:
        return sheet.attempt(heading, "show_pending", values, only)
    shown: PodsOverview = sheet.answer("show_pods", (*values, ("pending", "true"), ("limit", "20")))
    part = sheet.part(shown, sheet.view(), heading)
    size = f"{counted(n_owners, 'workload')} on {counted(len(sheet.cluster.nodes), 'node')}"
    reason = f"The causes are not shown here, because finding them for {size} takes too long for a page."
    part.page.sections[-1].blocks.append(Paragraph(reason))
    return part


PENDING_PODS: Final = Router("/", route_handlers=[page("/pending", pending_page)])


# The first page: pending pods by cause, the map of the nodes, budgets that block, and elections.


def overview_page(cluster: LoadedCluster, visit: Visit, handle: AnalysisHandle) -> str:
    """Return the first page."""
    sheet = Sheet(cluster, visit, handle)
    size = sheet.part(sheet.answer("show_cluster", visit.asked), sheet.view(), only=(Provenance,))
    parts = (
        size,
        pending_part(sheet, (), "Pending pods", (Bars, Paragraph, Questions, Table)),
        sheet.attempt("Nodes", "list_nodes", only=(NodeMap,)),
        _blocking_budgets(sheet),
        _elections(sheet),
    )
    return sheet.html("answer.html.j2", visit.server.name, parts)


def _blocking_budgets(sheet: Sheet) -> Part:
    heading = "Disruption budgets that allow no eviction"
    try:
        answer: BudgetsOverview = sheet.answer("show_budgets")
    except ClusterError as error:
        return sheet.laid_out(error_blocks(error), heading)
    blocking = tuple(each for each in answer.budgets if not each.allowed and each.selected)
    shown = msgspec.structs.replace(answer, budgets=blocking, total=len(blocking))
    return sheet.part(shown, sheet.view(), heading, only=(Table,))


def _elections(sheet: Sheet) -> Part:
    """Return the leader elections; a snapshot without Leases is nothing to worry about."""
    heading = "Leader elections"
    try:
        answer: LeaderOverview = sheet.answer("show_leaders")
    except ClusterError as error:
        return sheet.laid_out(error_blocks(error), heading)
    if not answer.elections and not answer.problems and not answer.unlisted:
        text = "The cluster state has no Leases, so nothing is known of the elections."
        return sheet.laid_out((Paragraph(text, Tone.FAINT),), heading)
    return sheet.part(answer, sheet.view(), heading, only=(Paragraph, Table))


OVERVIEW: Final = Router("/", route_handlers=[page("/", overview_page)])
