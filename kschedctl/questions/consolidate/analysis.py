"""``consolidate``: what Karpenter would do with each node to save cost."""

from collections import Counter
from collections.abc import Sequence

from kschedctl.autoscaler.catalog import SEEN, no_node_pools, read_catalog
from kschedctl.autoscaler.karpenter.budgets import EMPTY, UNDERUTILIZED
from kschedctl.autoscaler.karpenter.disruption import Decision, Disruption, Disruptions
from kschedctl.autoscaler.karpenter.state import completed
from kschedctl.cluster.cluster import Cluster
from kschedctl.common.wording import counted
from kschedctl.diagnosis.evidence.events import events_about, one_line
from kschedctl.objects.core import Node
from kschedctl.objects.karpenter import NODE_POOL_LABEL, NodePool
from kschedctl.questions.consolidate.answer import Consolidated, NodeDecisionData, PoolBudgetData
from kschedctl.questions.consolidate.request import ConsolidateRequest
from kschedctl.questions.handle import AnalysisHandle
from kschedctl.questions.provenance import envelope, provenance
from kschedctl.trials.completeness import require_listed
from kschedctl.trials.loaded_cluster import LoadedCluster
from kschedctl.trials.whatif.targets import find_nodes

#: The order of decisions in an answer.
_ORDER = {Decision.DELETE: 0, Decision.REPLACE: 1, Decision.KEEP: 2}


def consolidation(loaded: LoadedCluster, request: ConsolidateRequest, handle: AnalysisHandle) -> Consolidated:
    """Decide about the nodes of a request.

    Raises InputError if the cluster has no NodePool or no such node, or the catalog cannot be read.
    Raises ClusterError if this user cannot list NodePools.
    """
    types = read_catalog(request.instance_types) if request.instance_types else ()
    require_listed(loaded.cluster, NodePool.__name__)
    if not loaded.cluster.list(NodePool):
        raise no_node_pools()
    cluster = completed(loaded.with_edited_pending().cluster)
    disruptions = Disruptions(cluster, types)
    nodes = cluster.nodes.objects
    rows = dict.fromkeys(row for name in request.nodes for row in find_nodes(cluster, name))
    if not request.nodes:
        rows = {row: None for row, node in enumerate(nodes) if NODE_POOL_LABEL in node.metadata.labels}
    found = [
        disruptions.of(nodes[row].name) or Disruption(node=nodes[row].name, reason="Karpenter does not know it")
        for row in handle.track(rows, "looking at nodes")
    ]
    found.sort(key=lambda each: (_ORDER[each.decision], bool(each.reason)))
    room = {reason: disruptions.budgets(reason) for reason in (EMPTY, UNDERUTILIZED)}
    of_pool = Counter(node.metadata.labels.get(NODE_POOL_LABEL, "") for node in nodes)
    pools = sorted({each.pool for each in found} & room[EMPTY].keys())
    decisions = tuple(_decision(cluster, each) for each in found)
    budgets = tuple(PoolBudgetData(pool, of_pool[pool], room[EMPTY][pool], room[UNDERUTILIZED][pool]) for pool in pools)
    return Consolidated(
        **envelope(loaded.cluster, provenance(loaded, (), many=True)),
        summary=_summary(decisions, budgets),
        nodes=decisions,
        budgets=budgets,
        source=f"file {request.instance_types}" if request.instance_types else SEEN,
    )


def _decision(cluster: Cluster, one: Disruption) -> NodeDecisionData:
    events = events_about(cluster, Node.__name__, "", one.node)
    event = next((one_line(each.message) for each in events if "karpenter" in each.source.component), "")
    return NodeDecisionData(
        node=one.node,
        pool=one.pool,
        decision=one.decision.value,
        now=one.is_now,
        certain=not one.is_open,
        reason=one.reason,
        said=one.said,
        event=event if event != one_line(one.said) else "",
        empty=one.is_empty,
        moves=one.moved,
        instance_types=tuple(each.name for each in one.replacement.types) if one.replacement is not None else (),
        price=one.price,
        new_price=one.new_price,
    )


def _summary(nodes: Sequence[NodeDecisionData], budgets: Sequence[PoolBudgetData]) -> str:
    if not nodes:
        return "no node belongs to a NodePool"
    by = Counter(each.decision for each in nodes)
    verbs = [f"{verb} {by[verb]}" for verb in (Decision.DELETE.value, Decision.REPLACE.value) if by[verb]]
    if not verbs:
        return f"Karpenter would keep {'the node' if len(nodes) == 1 else f'all {len(nodes)} nodes'}"
    held = sum(not each.now for each in nodes)
    unsure = sum(each.now and not each.certain for each in nodes)
    going = Counter((each.pool, each.empty) for each in nodes if not each.is_kept and each.now)
    rooms = {each.pool: (each.underutilized, each.empty) for each in budgets}
    at_once = 0
    for (pool, is_empty), n in going.items():
        most = rooms[pool][is_empty]
        at_once += n if most is None else min(n, most)
    rest = [f"{held} of them not now"] if held else []
    rest += [f"budgets let {at_once} of them go at once"] if at_once < going.total() else []
    rest += [f"{unsure} of them only under a condition"] if unsure else []
    rest += [f"it keeps {by['keep']}"] if by["keep"] else []
    does = f"Karpenter would {' and '.join(verbs)} of {counted(len(nodes), 'node')}, each looked at alone"
    return "; ".join((does, *rest))
