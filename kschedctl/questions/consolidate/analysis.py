"""``consolidate``: what Karpenter would do with each node to save cost."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace

from kschedctl.autoscaler.catalog import SEEN, no_node_pools, read_catalog
from kschedctl.autoscaler.karpenter.budgets import EMPTY, UNDERUTILIZED
from kschedctl.autoscaler.karpenter.disruption import Decision, Disruption, Disruptions
from kschedctl.autoscaler.karpenter.new_nodes import offer_of
from kschedctl.autoscaler.karpenter.pods import is_movable
from kschedctl.autoscaler.karpenter.provisioner import Settings
from kschedctl.autoscaler.karpenter.state import completed
from kschedctl.cluster.cluster import Cluster
from kschedctl.common.wording import counted
from kschedctl.diagnosis.evidence.events import events_about, one_line, said
from kschedctl.objects.core import Node
from kschedctl.objects.karpenter import NODE_POOL_LABEL, NodePool
from kschedctl.objects.pod import Pod
from kschedctl.objects.volume import PersistentVolume, PersistentVolumeClaim
from kschedctl.objects.well_known import HOSTNAME
from kschedctl.questions.consolidate.answer import Consolidated, NodeDecisionData, PoolBudgetData
from kschedctl.questions.consolidate.request import ConsolidateRequest
from kschedctl.questions.handle import AnalysisHandle
from kschedctl.questions.provenance import envelope, provenance
from kschedctl.scheduler.volumes.claims import claim_uses
from kschedctl.trials.completeness import require_listed
from kschedctl.trials.loaded_cluster import LoadedCluster
from kschedctl.trials.simulate.world import is_recreated
from kschedctl.trials.whatif.targets import find_nodes

#: The order of decisions in an answer.
_ORDER = {Decision.DELETE: 0, Decision.REPLACE: 1, Decision.KEEP: 2}


def consolidation(loaded: LoadedCluster, request: ConsolidateRequest, handle: AnalysisHandle) -> Consolidated:
    """Decide about the nodes of a request: empty nodes go first, and each of the others is looked at without them.

    Raises InputError if the cluster has no NodePool or no such node, or the catalog cannot be read.
    Raises ClusterError if this user cannot list NodePools.
    """
    types = read_catalog(request.instance_types) if request.instance_types else ()
    require_listed(loaded.cluster, NodePool.__name__)
    if not loaded.cluster.list(NodePool):
        raise no_node_pools(loaded.cluster)
    cluster = completed(loaded.with_edited_pending().cluster)
    nodes = cluster.nodes.objects
    rows = dict.fromkeys(row for name in request.nodes for row in find_nodes(cluster, name))
    if not request.nodes:
        rows = {row: None for row, node in enumerate(nodes) if NODE_POOL_LABEL in node.metadata.labels}
    settings = Settings(now=cluster.taken_at or Settings().now)
    first = Disruptions(cluster, types, settings)
    empty = frozenset(first.empty_nodes())
    rest = Disruptions(cluster, types, replace(settings, going=empty)) if empty else first
    found = []
    for row in handle.track(rows, "looking at nodes"):
        name = nodes[row].name
        one = (first if name in empty else rest).of(name)
        found.append(one or Disruption(node=name, reason="Karpenter does not know it"))
    found.sort(key=lambda each: (_ORDER[each.decision], not each.is_empty, not each.is_now, each.is_open))
    of_pool = Counter(node.metadata.labels.get(NODE_POOL_LABEL, "") for node in nodes)
    room, left = first.budgets(EMPTY), rest.budgets(UNDERUTILIZED)
    pools = sorted({each.pool for each in found if each.decision is not Decision.KEEP} & room.keys())
    decisions = tuple(_decision(cluster, each) for each in found)
    return Consolidated(
        **envelope(loaded.cluster, provenance(loaded, (), many=True)),
        summary=_summary(decisions),
        nodes=decisions,
        budgets=tuple(PoolBudgetData(pool, of_pool[pool], room[pool], left[pool]) for pool in pools),
        source=f"file {request.instance_types}" if request.instance_types else SEEN,
    )


def _decision(cluster: Cluster, one: Disruption) -> NodeDecisionData:
    events = events_about(cluster, Node.__name__, "", one.node)
    event = next((each for each in events if "karpenter" in each.source.component), None)
    differs = event is not None and not one_line(event.message).startswith(one_line(one.said)[:40] or "-")
    goes = one.decision is not Decision.KEEP
    pods = cluster.pods.on_node(cluster.nodes.row[one.node]).tolist() if goes else []
    moving = [pod for pod in map(cluster.pods.pod, pods) if is_movable(pod)]
    reason = one.reason
    if one.is_empty and moving:
        of_no_weight = f"{counted(len(moving), 'pod')} that count as nothing (priority or cost) are evicted"
        reason = "; ".join(filter(None, (of_no_weight, reason)))
    offer = offer_of(one.replacement) if one.replacement is not None else None
    return NodeDecisionData(
        node=one.node,
        pool=one.pool,
        decision=one.decision.value,
        now=one.is_now,
        certain=not one.is_open,
        reason=reason,
        said=one.said,
        event=said(event) if event is not None and differs else "",
        empty=one.is_empty,
        moves=one.moved,
        lost=tuple(pod.key for pod in moving if not is_recreated(pod)),
        tied=tuple(pod.key for pod in moving if is_recreated(pod) and any(_tied(cluster, pod))),
        instance_types=offer.types if offer is not None else (),
        capacity_types=("spot",) if offer and "spot" in offer.capacity_types else offer.capacity_types if offer else (),
        price=one.price,
        new_price=one.new_price,
    )


def _tied(cluster: Cluster, pod: Pod) -> Iterator[bool]:
    """Yield for each claim of a pod whether its volume names the host, which Karpenter does not look at."""
    for use in claim_uses(pod):
        claim = cluster.get(PersistentVolumeClaim, use.claim, pod.namespace)
        volume = cluster.get(PersistentVolume, claim.spec.volume_name) if claim is not None else None
        affinity = volume.spec.node_affinity if volume is not None else None
        terms = affinity.required.node_selector_terms if affinity is not None and affinity.required is not None else ()
        yield any(each.key == HOSTNAME for term in terms for each in term.match_expressions)


def _summary(nodes: Sequence[NodeDecisionData]) -> str:
    if not nodes:
        return "no node belongs to a NodePool"
    going = [each for each in nodes if each.may_go]
    n_empty = sum(each.empty for each in going)
    others = Counter(each.decision for each in going if not each.empty)
    held = sum(not each.is_kept and not each.now for each in nodes)
    unsure = sum(not each.is_kept and each.now and not each.certain for each in nodes)
    kept = sum(each.is_kept for each in nodes)
    parts = [f"Karpenter would delete {counted(n_empty, 'empty node')}"] if n_empty else []
    if n_others := others.total():
        ways = {"delete": "deleted", "replace": "replaced by a cheaper one"}
        how = " or ".join(word for decision, word in ways.items() if others[decision])
        alone = f"{n_others} of {counted(len(nodes), 'node')} could be {how}, one at a time"
        parts.append(alone if parts else f"Karpenter would take away a node: {alone}")
    if not parts:
        parts.append("Karpenter would keep " + ("the node" if len(nodes) == 1 else f"all {len(nodes)} nodes"))
        if held or unsure:
            parts = [f"Karpenter takes away no node for certain of {counted(len(nodes), 'node')}"]
            parts = [f"no node of {len(nodes)} goes now"] if held and not unsure else parts
    parts += [f"budgets hold back {held}"] if held else []
    parts += [f"{unsure} could go under a condition"] if unsure else []
    parts += [f"it keeps {kept}"] if kept and kept < len(nodes) else []
    return "; ".join(parts)
