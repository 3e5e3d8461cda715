"""Questions that take long, and run as jobs: drains, simulations, capacity and comparison."""

from __future__ import annotations

from typing import Annotated, Final

from msgspec import Meta

from kschedctl.common.errors import InputError
from kschedctl.common.wording import listed
from kschedctl.questions.answer import Answer
from kschedctl.questions.capacity.analysis import CapacityRequest, capacity
from kschedctl.questions.capacity.answer import CapacityList
from kschedctl.questions.diff.analysis import DiffRequest, diff
from kschedctl.questions.drain.analysis import drain
from kschedctl.questions.drain.run import DrainRequest
from kschedctl.questions.face import SchedulingCluster
from kschedctl.questions.handle import AnalysisHandle
from kschedctl.questions.simulate.analysis import SimulateRequest, simulate
from kschedctl.trials.simulate.drain import DrainOptions
from kschedctl.web.questions.asked import Asked, Query, Seed
from kschedctl.web.questions.pods import new_pods, pod_of

_Namespace = Annotated[str, Meta(description="Namespace of objects that do not set one.")]


class DrainQuery(Query, frozen=True, kw_only=True):
    """The nodes to drain, and the options of ``kubectl drain``."""

    node: Annotated[tuple[str, ...], Meta(description="Nodes by name, or by a pattern such as node-*.")] = ()
    selector: Annotated[str, Meta(description="All nodes with matching labels, such as pool=old.")] = ""
    zone: Annotated[str, Meta(description="All nodes in this zone.")] = ""
    ignore_daemonsets: Annotated[bool, Meta(description="Ignore pods managed by a DaemonSet.")] = False
    delete_emptydir_data: Annotated[bool, Meta(description="Evict pods with an emptyDir volume, too.")] = False
    force: Annotated[bool, Meta(description="Evict pods without a controller, too.")] = False
    disable_eviction: Annotated[bool, Meta(description="Delete pods, ignoring disruption budgets.")] = False
    rolling: Annotated[bool, Meta(description="Drain one node after another, as an upgrade does.")] = False
    surge: Annotated[int, Meta(description="Add N nodes first.", ge=0, le=1000)] = 0
    place_pending_first: Annotated[bool, Meta(description="Schedule the pending pods before the drain.")] = False
    seed: Seed = None


class SimulateQuery(Query, frozen=True, kw_only=True):
    """The options of a simulation."""

    namespace: _Namespace = ""
    seed: Seed = None
    seeds: Annotated[int, Meta(description="Also try N random orders of creation.", ge=0, le=1000)] = 0


class CapacityQuery(Query, frozen=True, kw_only=True):
    """The pod to copy, if the request has no manifest, and the options."""

    pod: Annotated[str, Meta(description="A pod of the cluster, as NAMESPACE/NAME.")] = ""
    namespace: _Namespace = ""
    max: Annotated[Annotated[int, Meta(ge=1, le=1_000_000)] | None, Meta(description="Stop after N copies.")] = None


#: The other snapshots, by path: a process reads each once.
_LOADED: Final[dict[str, SchedulingCluster]] = {}


class CompareQuery(Query, frozen=True, kw_only=True):
    """The snapshot to compare with."""

    to: Annotated[str, Meta(description="One of the snapshots that the server was started with.")] = ""


def simulate_drain(cluster: SchedulingCluster, asked: Asked[DrainQuery], handle: AnalysisHandle) -> Answer:
    """Simulate kubectl drain: what blocks it, where each pod would go, and which pods stay pending."""
    query = asked.query
    if not (query.node or query.selector or query.zone):
        raise InputError("no node is named", path="node", hint="give node, selector or zone")
    options = DrainOptions(
        ignore_daemon_sets=query.ignore_daemonsets,
        force=query.force,
        delete_empty_dir_data=query.delete_emptydir_data,
        disable_eviction=query.disable_eviction,
        rolling=query.rolling,
    )
    request = DrainRequest(
        nodes=query.node,
        selector=query.selector,
        zone=query.zone,
        options=options,
        surge=query.surge,
        seed=query.seed,
        place_pending_first=query.place_pending_first,
    )
    return drain(asked.over(cluster, handle), request, handle)


def simulate_queue(cluster: SchedulingCluster, asked: Asked[SimulateQuery], handle: AnalysisHandle) -> Answer:
    """Schedule the pending pods, and those of a manifest, one after another."""
    if asked.body.strip():
        manifests = asked.manifests(handle, asked.query.namespace)
        created = [(each.obj, each.place) for each in manifests.asked if each.place is not None]
        changed = asked.over(cluster, handle, (*manifests.others, *created))
        manifests.accepted(changed, handle)
    else:
        changed = asked.over(cluster, handle)
    return simulate(changed, SimulateRequest(seed=asked.query.seed, n_orders=asked.query.seeds), handle)


def count_copies(cluster: SchedulingCluster, asked: Asked[CapacityQuery], handle: AnalysisHandle) -> Answer:
    """Count how many more copies of a pod or workload fit, and show what stops the next copy."""
    query = asked.query
    if bool(query.pod) == bool(asked.body.strip()):
        raise InputError("either a pod or a manifest is needed", path="pod", hint="give one of them")
    if query.pod:
        namespace, _, name = query.pod.rpartition("/")
        changed = asked.over(cluster, handle)
        pods = [pod_of(changed, namespace or query.namespace or "default", name)]
    else:
        changed, pods = new_pods(cluster, asked, query.namespace, handle)
    answers = capacity(changed, CapacityRequest(pods=tuple(pods), most=query.max), handle)
    return answers[0] if len(answers) == 1 else CapacityList(items=answers)


def compare(cluster: SchedulingCluster, asked: Asked[CompareQuery], handle: AnalysisHandle) -> Answer:
    """Show what changes for the pending pods from the cluster to another snapshot."""
    # Paths come from whoever started the server, never from a request.
    others = {other.source.paths[0]: other for other in asked.compare}
    to = asked.query.to or next(iter(others), "")
    if to not in others:
        known = f"the snapshots are {listed(tuple(others))}" if others else "kschedctl serve --compare PATH"
        raise InputError("the server was not started with this snapshot to compare with", path="to", hint=known)
    changed = asked.over(cluster, handle)
    if to not in _LOADED:
        _LOADED[to] = others[to].load(handle)
    return diff(changed, DiffRequest.of(changed, _LOADED[to]), handle)
