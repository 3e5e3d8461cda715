"""Questions about the objects of the cluster: its size, lists of objects, and search."""

import dataclasses
from collections.abc import Iterable
from io import BytesIO
from typing import Annotated, Final, TypeVar

from msgspec import Meta

from kschedctl.common.errors import InputError
from kschedctl.common.findings import Severity
from kschedctl.common.wording import listed, similar
from kschedctl.linter.overlay import ClusterOverlay
from kschedctl.linter.run import LintRequest, LintResult, lint
from kschedctl.linter.selection import selected_rules
from kschedctl.objects.core import Namespace as NamespaceObject
from kschedctl.objects.device import DeviceClass, ResourceClaim
from kschedctl.objects.meta import ApiObject
from kschedctl.objects.selectors import matches, parse_label_query
from kschedctl.objects.volume import PersistentVolumeClaim
from kschedctl.questions.answer import Answer
from kschedctl.questions.capacity.analysis import capacity
from kschedctl.questions.capacity.answer import CapacityList
from kschedctl.questions.capacity.request import CapacityRequest
from kschedctl.questions.cluster_request import ClusterRequest, ClusterSource
from kschedctl.questions.devices.analysis import devices
from kschedctl.questions.devices.request import DevicesRequest
from kschedctl.questions.diff.analysis import DiffRequest, diff
from kschedctl.questions.explain.analysis import explain
from kschedctl.questions.explain.answer import ExplanationList
from kschedctl.questions.explain.request import ExplainRequest
from kschedctl.questions.handle import AnalysisHandle
from kschedctl.questions.inventory.analysis import (
    MOST_FOUND,
    PodsRequest,
    cluster_summary,
    describe_budget,
    describe_workload,
    is_named,
    list_budgets,
    list_pods,
    list_workloads,
    pods_by_workload,
    search,
)
from kschedctl.questions.leader.analysis import leader
from kschedctl.questions.lint.analysis import report
from kschedctl.questions.manifests import Manifests
from kschedctl.questions.nodes.analysis import describe_node, nodes_overview
from kschedctl.questions.nodes.request import NodesGrouping, NodesRequest
from kschedctl.questions.pending.analysis import pending
from kschedctl.questions.pending.request import PendingPods, PendingRequest
from kschedctl.questions.pod_selection import (
    NamespaceScope,
    PodRequest,
    named_member,
    named_pod,
    named_workload,
    names_member,
    workload_kind,
)
from kschedctl.questions.preempt.analysis import preempt
from kschedctl.questions.preempt.answer import PreemptionList
from kschedctl.questions.preempt.request import PreemptRequest
from kschedctl.questions.provenance import PodSubject
from kschedctl.questions.request import renamed
from kschedctl.questions.simulate.request import SimulateRequest
from kschedctl.questions.volumes.analysis import ClaimSubject, volumes
from kschedctl.questions.volumes.answer import VolumesList
from kschedctl.questions.volumes.request import VolumesRequest
from kschedctl.sources.snapshot.files import STDIN
from kschedctl.sources.snapshot.pod_choice import find_pod
from kschedctl.trials.completeness import require_listed
from kschedctl.trials.loaded_cluster import LoadedCluster
from kschedctl.trials.whatif.targets import require_namespace
from kschedctl.web.errors import NotFoundError, not_found
from kschedctl.web.questions.question import (
    MOST_UNPACKED,
    Asked,
    AskedRequest,
    Name,
    Namespace,
    NoParameters,
    ObjectQuery,
    Query,
)

_MOST: Final = 5000
_OnlyNamespace = Annotated[str, Meta(description="The namespace; all without it.")]
_Text = Annotated[str, Meta(description="A text that the names contain.", max_length=253)]
_Limit = Annotated[int, Meta(description="The number of objects to return.", ge=1, le=_MOST)]


class PodsQuery(Query, frozen=True, kw_only=True):
    """The selection of pods."""

    namespace: _OnlyNamespace = ""
    selector: Annotated[str, Meta(description="All pods with matching labels, such as app=web.")] = ""
    node: Annotated[str, Meta(description="The node that the pods are bound to.")] = ""
    pending: Annotated[bool, Meta(description="Pending pods only.")] = False
    workload: Annotated[str, Meta(description="The workload that owns the pods: web or Deployment shop/web.")] = ""
    q: _Text = ""
    limit: _Limit = 500


class ListQuery(Query, frozen=True, kw_only=True):
    """The selection of objects."""

    namespace: _OnlyNamespace = ""
    q: _Text = ""
    limit: _Limit = 500


class WorkloadQuery(Query, frozen=True, kw_only=True):
    """The name of a workload."""

    kind: Annotated[str, Meta(description="The kind of the workload, such as Deployment.")]
    namespace: Namespace
    name: Name
    limit: _Limit = 500


class SearchQuery(Query, frozen=True, kw_only=True):
    """The text to find."""

    q: Annotated[str, Meta(description="A part of the name, or of namespace/name.", max_length=253)]
    limit: _Limit = MOST_FOUND


def show_cluster(cluster: LoadedCluster, asked: Asked[NoParameters], handle: AnalysisHandle) -> Answer:
    """Count the objects of the cluster."""
    return cluster_summary(asked.over(cluster, handle))


def show_pods(cluster: LoadedCluster, asked: Asked[PodsQuery], handle: AnalysisHandle) -> Answer:
    """List pods, the pending ones first."""
    query = asked.query
    request = PodsRequest(
        namespace=query.namespace,
        selector=query.selector,
        node=query.node,
        pending=query.pending,
        workload=query.workload,
        text=query.q,
        most=query.limit,
    )
    changed = asked.over(cluster, handle)
    require_namespace(changed.cluster, query.namespace)
    _require_selected(changed, query)
    return list_pods(changed, request)


def _require_selected(cluster: LoadedCluster, query: PodsQuery) -> None:
    """Require that the cluster has the node and the workload of a selection.

    Raises InputError if it has not.
    """
    if query.node and all(record.node_name != query.node for record in cluster.pods.records):
        try:
            cluster.nodes.find(query.node)
        except InputError as error:
            raise renamed(error, {"": "node"}) from None
    if not query.workload:
        return
    known = pods_by_workload(cluster.cluster)
    if not any(is_named(key, query.workload) for key in known):
        name = query.workload.rpartition("/")[2]
        close = [f"{kind} {namespace}/{own}" for kind, namespace, own in known if own in similar(name, (own,))]
        hint = f"did you mean {listed(close, 'or')}?" if close else "give its name, or KIND NAMESPACE/NAME"
        raise InputError(f"the cluster has no workload {query.workload}", path="workload", hint=hint)


def show_workloads(cluster: LoadedCluster, asked: Asked[ListQuery], handle: AnalysisHandle) -> Answer:
    """List workloads, those with most pending pods first."""
    query = asked.query
    changed = asked.over(cluster, handle)
    require_namespace(changed.cluster, query.namespace)
    return list_workloads(changed, query.namespace, query.q, query.limit)


def show_workload(cluster: LoadedCluster, asked: Asked[WorkloadQuery], handle: AnalysisHandle) -> Answer:
    """Describe a workload and its pods."""
    query = asked.query
    changed = asked.over(cluster, handle)
    with not_found():
        return describe_workload(changed, query.kind, query.namespace, query.name, query.limit)


def show_budgets(cluster: LoadedCluster, asked: Asked[ListQuery], handle: AnalysisHandle) -> Answer:
    """List disruption budgets, those that allow no eviction first."""
    query = asked.query
    changed = asked.over(cluster, handle)
    require_namespace(changed.cluster, query.namespace)
    return list_budgets(changed, query.namespace, query.q, query.limit)


def show_budget(cluster: LoadedCluster, asked: Asked[ObjectQuery], handle: AnalysisHandle) -> Answer:
    """Describe a disruption budget and the pods that it selects."""
    changed = asked.over(cluster, handle)
    with not_found():
        return describe_budget(changed, asked.query.namespace, asked.query.name)


def find_objects(cluster: LoadedCluster, asked: Asked[SearchQuery], handle: AnalysisHandle) -> Answer:
    """Find objects by a part of their names."""
    return search(asked.over(cluster, handle), asked.query.q, asked.query.limit)


# Questions about nodes.


class NodeQuery(Query, frozen=True, kw_only=True):
    """The name of a node."""

    name: Annotated[str, Meta(description="The name of the node.")]


def list_nodes(
    cluster: LoadedCluster, asked: AskedRequest[NoParameters, NodesGrouping], handle: AnalysisHandle
) -> Answer:
    """Show the free and allocatable capacity of nodes, one by one and in groups."""
    grouping = asked.request
    request = NodesRequest(selector=grouping.selector, by=grouping.by, sort_by=grouping.sort_by)
    return nodes_overview(asked.over(cluster, handle), request, handle)


def show_node(cluster: LoadedCluster, asked: Asked[NodeQuery], handle: AnalysisHandle) -> Answer:
    """Show the capacity of a node, the workloads on it, its conditions and taints."""
    changed = asked.over(cluster, handle)
    with not_found():
        return describe_node(changed, asked.query.name)


# Questions about the whole cluster: pending pods, elections, and the check of manifests.

#: The name of the body in findings.
BODY: Final = "request"


class LintQuery(Query, frozen=True, kw_only=True):
    """The options of lint."""

    namespace: Annotated[str, Meta(description="Namespace of objects that do not set one.")] = ""
    select: Annotated[tuple[str, ...], Meta(description="Codes, prefixes of codes or names of the rules.")] = ()
    extend_select: Annotated[tuple[str, ...], Meta(description="Rules to check in addition.")] = ()
    ignore: Annotated[tuple[str, ...], Meta(description="Rules not to check.")] = ()
    severity: Annotated[Severity, Meta(description="The least severe findings to report.")] = Severity.INFO


def show_pending(
    cluster: LoadedCluster, asked: AskedRequest[NoParameters, PendingPods], handle: AnalysisHandle
) -> Answer:
    """List pending pods by cause and age."""
    request = PendingRequest(namespace=asked.request.namespace, selector=asked.request.selector, changes=0)
    return pending(asked.over(cluster, handle), request, handle)


def show_leaders(cluster: LoadedCluster, asked: Asked[NoParameters], handle: AnalysisHandle) -> Answer:
    """Show the leader of every election, and when another candidate would take over."""
    return leader(cluster)


def lint_manifest(cluster: LoadedCluster, asked: Asked[LintQuery], handle: AnalysisHandle) -> Answer:
    """Find the problems of manifests before they are applied to the cluster."""
    return report(linted_manifest(cluster, asked, handle))


def linted_manifest(cluster: LoadedCluster, asked: Asked[LintQuery], handle: AnalysisHandle) -> LintResult:
    """Check the manifests of a request.

    Raises InputError if there are none.
    """
    content = asked.content()
    query = asked.query
    changed = asked.over(cluster, handle)
    request = LintRequest(
        rules=selected_rules(query.select, query.extend_select, query.ignore, complete=True),
        namespace=query.namespace,
        release=changed.release_choice.release,
        overlay=lambda given: ClusterOverlay(changed, given, namespace=query.namespace),
        least=query.severity,
        # A name of its own: for unnamed input, comments of Helm would name files of this machine.
        stdin_name=BODY,
        max_unpacked=MOST_UNPACKED,
    )
    linted = lint([STDIN], request, BytesIO(content))
    for what in linted.unread:
        handle.warn(what)
    return linted


# Questions about single pods of the cluster, and about pods of manifests.


class ManifestQuery(Query, frozen=True, kw_only=True):
    """The namespace of manifests."""

    namespace: Annotated[str, Meta(description="Namespace of objects that do not set one.")] = ""


class PodQuery(ManifestQuery, frozen=True, kw_only=True):
    """The pod or workload of a question, if the request has no manifest."""

    pod: Annotated[
        str, Meta(description="A pod of the cluster as NAMESPACE/NAME, or a workload such as deploy/NAMESPACE/NAME.")
    ] = ""


def explain_pod(
    cluster: LoadedCluster, asked: AskedRequest[ObjectQuery, ExplainRequest], handle: AnalysisHandle
) -> Answer:
    """Explain where kube-scheduler would schedule a pod of the cluster, or why it cannot."""
    changed = asked.over(cluster, handle)
    pod = pod_of(changed, asked.query.namespace, asked.query.name)
    return dataclasses.replace(asked.request, pod=(pod,)).answer(changed, handle)


def explain_manifest(
    cluster: LoadedCluster, asked: AskedRequest[ManifestQuery, ExplainRequest], handle: AnalysisHandle
) -> Answer:
    """Explain where kube-scheduler would schedule the pods of a manifest, or why it cannot."""
    changed, pods = new_pods(cluster, asked, asked.query.namespace, handle)
    answers = tuple(explain(changed, dataclasses.replace(asked.request, pod=tuple(pods)), handle))
    return answers[0] if len(answers) == 1 else ExplanationList(items=answers)


def preempt_pod(
    cluster: LoadedCluster, asked: AskedRequest[ObjectQuery, PreemptRequest], handle: AnalysisHandle
) -> Answer:
    """Show which pods kube-scheduler would evict to schedule a pod of the cluster, on which node, and why."""
    changed = asked.over(cluster, handle)
    pod = pod_of(changed, asked.query.namespace, asked.query.name)
    answers = preempt(changed, dataclasses.replace(asked.request, pod=(pod,)), handle)
    return answers[0] if len(answers) == 1 else PreemptionList(items=answers)


def pod_of(cluster: LoadedCluster, namespace: str, name: str) -> PodSubject:
    """Return a pod of the cluster.

    Raises NotFoundError if there is no such pod.
    Raises ClusterError if the pods could not be listed.
    """
    require_listed(cluster.cluster, "Pod")
    with not_found():
        return PodSubject(find_pod(cluster.pods, name, namespace))


def require_pod(asked: Asked[PodQuery]) -> None:
    """Check that a question is about a pod or a manifest.

    Raises InputError if it is about neither, or both.
    """
    if bool(asked.query.pod) == bool(asked.body.strip()):
        raise InputError("either a pod or a manifest is needed", path="pod", hint="give one of them")


def scope_of(namespace: str) -> NamespaceScope:
    """Return the scope of a name that may have no namespace: it is looked for in all, or in the only one."""
    return NamespaceScope(namespace, not namespace, ClusterSource())


def asked_pods(
    cluster: LoadedCluster, asked: Asked[PodQuery], handle: AnalysisHandle
) -> tuple[LoadedCluster, list[PodSubject]]:
    """Return the cluster with the changes to try, and the pods that a question is about.

    Raises InputError if there is no such pod, or the manifests cannot be read.
    """
    text, namespace = asked.query.pod, asked.query.namespace
    if not text:
        changed, pods = new_pods(cluster, asked, namespace, handle)
        _require_namespace(changed, namespace)
        return changed, pods
    _require_namespace(cluster, namespace)
    changed = asked.over(cluster, handle)
    require_listed(changed.cluster, "Pod")
    scope = scope_of(namespace)
    with not_found():
        if workload_kind(text):
            return Manifests((named_workload(changed.cluster, text, scope),)).pods(changed, handle)
        find = named_member if names_member(text) else named_pod
        return changed, [find(changed.cluster, text, scope)]


def new_pods(
    cluster: LoadedCluster, asked: Asked[Query], namespace: str, handle: AnalysisHandle
) -> tuple[LoadedCluster, list[PodSubject]]:
    """Return the cluster with the changes to try and the manifests' other objects, and the pods of the manifests.

    Raises InputError if the manifests cannot be read, or an API server would refuse them.
    """
    manifests = asked.manifests(handle, namespace)
    changed, pods = manifests.pods(asked.over(cluster, handle, manifests.others), handle)
    return changed, PodRequest(filenames=(STDIN,)).answerable(pods, handle, changed.configuration.profiles)


# Questions about volumes and devices.

T = TypeVar("T", bound=ApiObject)


class ClaimsQuery(Query, frozen=True, kw_only=True):
    """The selection of claims."""

    namespace: Annotated[str, Meta(description="The namespace; all without it.")] = ""
    selector: Annotated[str, Meta(description="All claims with matching labels, such as app=web.")] = ""
    limit: Annotated[int, Meta(description="The number of claims to return.", ge=1, le=1000)] = 200


class DeviceClassQuery(Query, frozen=True, kw_only=True):
    """The name of a DeviceClass."""

    name: Name


def show_claims(cluster: LoadedCluster, asked: Asked[ClaimsQuery], handle: AnalysisHandle) -> Answer:
    """List volume claims, and the volume that each has or would get."""
    changed = asked.over(cluster, handle)
    require_listed(changed.cluster, "PersistentVolumeClaim")
    require_namespace(changed.cluster, asked.query.namespace)
    query = parse_label_query(asked.query.selector) if asked.query.selector else None
    claims = [
        claim
        for claim in changed.cluster.list(PersistentVolumeClaim)
        if asked.query.namespace in ("", claim.namespace) and (query is None or matches(query, claim.metadata.labels))
    ]
    subjects = tuple(map(ClaimSubject, claims[: asked.query.limit]))
    if len(claims) > len(subjects):
        handle.note(f"{len(claims) - len(subjects)} more claims")
    return VolumesList(items=volumes(changed, VolumesRequest(subjects=subjects, by_node=False), handle))


def show_claim(cluster: LoadedCluster, asked: Asked[ObjectQuery], handle: AnalysisHandle) -> Answer:
    """Show the volume that a claim has or would get, and the nodes from which it can be used."""
    changed = asked.over(cluster, handle)
    subject = ClaimSubject(_object(changed, PersistentVolumeClaim, asked.query.name, asked.query.namespace))
    return volumes(changed, VolumesRequest(subjects=(subject,)), handle)[0]


def show_pod_volumes(cluster: LoadedCluster, asked: Asked[ObjectQuery], handle: AnalysisHandle) -> Answer:
    """Show the volumes of a pod's claims, and the nodes on which all can be used together."""
    changed = asked.over(cluster, handle)
    subject: PodSubject = pod_of(changed, asked.query.namespace, asked.query.name)
    return volumes(changed, VolumesRequest(subjects=(subject,)), handle)[0]


def show_devices(cluster: LoadedCluster, asked: Asked[NoParameters], handle: AnalysisHandle) -> Answer:
    """Show all devices, the claims that hold them, and pools that are not used."""
    return devices(asked.over(cluster, handle), DevicesRequest(), handle)[0]


def show_device_claim(cluster: LoadedCluster, asked: Asked[ObjectQuery], handle: AnalysisHandle) -> Answer:
    """Show the nodes on which a ResourceClaim can be allocated."""
    changed = asked.over(cluster, handle)
    subject = _object(changed, ResourceClaim, asked.query.name, asked.query.namespace)
    return devices(changed, DevicesRequest(subjects=(subject,)), handle)[0]


def show_device_class(cluster: LoadedCluster, asked: Asked[DeviceClassQuery], handle: AnalysisHandle) -> Answer:
    """Show the nodes on which a device of a DeviceClass can be allocated."""
    changed = asked.over(cluster, handle)
    return devices(changed, DevicesRequest(subjects=(_object(changed, DeviceClass, asked.query.name),)), handle)[0]


def _object(cluster: LoadedCluster, kind: type[T], name: str, namespace: str = "") -> T:
    require_listed(cluster.cluster, kind.__name__, namespace)
    found = cluster.cluster.get(kind, name, namespace)
    if found is None:
        raise NotFoundError(f"the cluster has no {kind.__name__} {f'{namespace}/' if namespace else ''}{name}")
    return found


# Questions that take long, and run as jobs: drains, simulations, capacity and comparison.


#: The other snapshots, by path: a process reads each once.
_LOADED: Final[dict[str, LoadedCluster]] = {}


class CompareQuery(Query, frozen=True, kw_only=True):
    """The snapshot to compare with."""

    to: Annotated[str, Meta(description="One of the snapshots that the server was started with.")] = ""


def simulate_queue(
    cluster: LoadedCluster, asked: AskedRequest[ManifestQuery, SimulateRequest], handle: AnalysisHandle
) -> Answer:
    """Schedule the pending pods, and those of a manifest, one after another."""
    return asked.request.answer(queued_cluster(cluster, asked, handle), handle)


def queued_cluster(cluster: LoadedCluster, asked: Asked[ManifestQuery], handle: AnalysisHandle) -> LoadedCluster:
    """Return the cluster with the changes to try, and with the objects of the manifests, if there are any.

    Raises InputError if the manifests cannot be read, or an API server would refuse them.
    """
    if not asked.body.strip():
        _require_namespace(cluster, asked.query.namespace)
        return asked.over(cluster, handle)
    manifests = asked.manifests(handle, asked.query.namespace)
    created = [(each.obj, each.place) for each in manifests.asked if each.place is not None]
    _require_namespace(cluster, asked.query.namespace, (obj for obj, _ in manifests.others))
    changed = asked.over(cluster, handle, (*manifests.others, *created))
    manifests.accepted(changed, handle)
    return changed


def _require_namespace(cluster: LoadedCluster, namespace: str, new: Iterable[ApiObject] = ()) -> None:
    """Require that the cluster has the namespace of manifests, or that they create it.

    Raises InputError if there is no such namespace.
    """
    # Manifests may be the first objects of a namespace that a snapshot without Namespaces does not tell.
    if any(cluster.cluster.list(NamespaceObject)) and not any(
        isinstance(obj, NamespaceObject) and obj.name == namespace for obj in new
    ):
        require_namespace(cluster.cluster, namespace)


def count_copies(
    cluster: LoadedCluster, asked: AskedRequest[PodQuery, CapacityRequest], handle: AnalysisHandle
) -> Answer:
    """Count how many more copies of a pod or workload fit, and show what stops the next copy."""
    changed, pods = asked_pods(cluster, asked, handle)
    answers = capacity(changed, dataclasses.replace(asked.request, pod=tuple(pods)), handle)
    return answers[0] if len(answers) == 1 else CapacityList(items=answers)


def compare(cluster: LoadedCluster, asked: Asked[CompareQuery], handle: AnalysisHandle) -> Answer:
    """Show what changes for the pending pods from the cluster to another snapshot."""
    to = other_snapshot(cluster, asked, handle)
    changed = asked.over(cluster, handle)
    if to.source.paths[0] not in _LOADED:
        _LOADED[to.source.paths[0]] = to.load(handle)
    return diff(changed, DiffRequest.of(changed, _LOADED[to.source.paths[0]]), handle)


def other_snapshot(cluster: LoadedCluster, asked: Asked[CompareQuery], handle: AnalysisHandle) -> ClusterRequest:
    """Return the snapshot to compare with.

    Raises InputError if the server was not started with it.
    """
    # Paths come from whoever started the server, never from a request.
    others = {other.source.paths[0]: other for other in asked.compare}
    to = asked.query.to or next(iter(others), "")
    if to not in others:
        known = f"the snapshots are {listed(tuple(others))}" if others else "start the server with --compare PATH"
        raise InputError("the server was not started with this snapshot to compare with", path="to", hint=known)
    return others[to]
