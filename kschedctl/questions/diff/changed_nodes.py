"""The changes of nodes for which pods fit on no node of the second side: labels, taints, amounts, and cordons.

A node is compared with the node of the same name, or if it was replaced with the nodes of its pool. Upgrades recreate
nodes without the labels that were set by hand. A change is a cause if the pod fits once it is taken back on the nodes
of the second side. Operators put labels into the definition of the pool; those set by hand are lost again.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from msgspec.structs import replace

from kschedctl.cluster.cluster import Cluster
from kschedctl.cluster.node_selection import nodes_matching_pod, required_node_selector
from kschedctl.common.wording import counted, listed
from kschedctl.controllers.workloads.pods import untolerated_taints
from kschedctl.diagnosis.diagnosis import Situation
from kschedctl.objects.core import Node, Taint
from kschedctl.objects.pod import UNSAFE_TAINTS, UNSCHEDULABLE_TAINT, Pod
from kschedctl.objects.resources import is_extended_resource
from kschedctl.objects.well_known import PLACE_LABELS, pool_name
from kschedctl.questions.answer import amount_of, readable
from kschedctl.questions.answer_parts import CureData, DiagnosisData
from kschedctl.scheduler.cycle.decision import Decision
from kschedctl.trials.loaded_cluster import LoadedCluster

#: The most pods, and changes for each of them, that are looked at.
_MOST_PODS: Final = 20
_MOST_CHANGES: Final = 8


class ChangeKind(StrEnum):
    """A kind of change of a node."""

    LABEL = "changed-label"
    TAINT = "new-taint"
    AMOUNT = "less-allocatable"
    CORDON = "cordoned"


@dataclass(frozen=True, slots=True)
class NodeProperty:
    """A property of a node that differs between the sides: the key of a label, a taint, or a resource."""

    kind: ChangeKind
    key: str = ""
    #: The values of a label or the amounts of a resource; empty if there is none.
    before: str | None = None
    after: str | None = None
    taint: Taint | None = None

    @property
    def words(self) -> str:
        """The change as the predicate of a sentence about one node or several."""
        match self.kind:
            case ChangeKind.LABEL if self.before is None:
                return f"got the label {self.key}={self.after}"
            case ChangeKind.LABEL if self.after is None:
                return f"lost the label {self.key}={self.before}"
            case ChangeKind.LABEL:
                return f"changed the label {self.key} from {self.before} to {self.after}"
            case ChangeKind.TAINT:
                return f"got the taint {self.taint}"
            case ChangeKind.AMOUNT:
                before, after = (readable(self.key, str(amount)) for amount in (self.before, self.after))
                return f"went from {before} to {after} allocatable {self.key}"
        return "became unschedulable (cordoned)"

    def taken_back(self, node: Node) -> Node:
        """Return a node as if the change were undone."""
        spec, status = node.spec, node.status
        match self.kind:
            case ChangeKind.LABEL:
                labels = {key: value for key, value in node.metadata.labels.items() if key != self.key}
                labels |= {self.key: self.before} if self.before is not None else {}
                return replace(node, metadata=replace(node.metadata, labels=labels))
            case ChangeKind.TAINT:
                return replace(node, spec=replace(spec, taints=tuple(t for t in spec.taints if t != self.taint)))
            case ChangeKind.AMOUNT:
                allocatable = {**status.allocatable, self.key: self.before or "0"}
                return replace(node, status=replace(status, allocatable=allocatable))
        taints = tuple(taint for taint in spec.taints if taint != UNSCHEDULABLE_TAINT)
        return replace(node, spec=replace(spec, unschedulable=False, taints=taints))


@dataclass(slots=True)
class NodeCause:
    """Changes of nodes for which pods fit nowhere."""

    changes: tuple[NodeProperty, ...]
    #: The nodes of the second side that changed.
    nodes: tuple[str, ...]
    #: The pods that fit once the changes are taken back, as ``namespace/name``, and the nodes of the first of them.
    pods: list[str] = field(default_factory=list)
    places: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """The cause in one clause."""
        words = listed([change.words for change in self.changes])
        pods = listed(self.pods, most=3)
        return (
            f"{listed(self.nodes, most=3)} {words}, and {pods} {'fits' if len(self.pods) == 1 else 'fit'} nowhere else"
        )

    def data(self) -> DiagnosisData:
        """Return the cause as data."""
        return DiagnosisData(self.changes[0].kind, self.text, (), ())


def changed_nodes(
    before: LoadedCluster, after: LoadedCluster, pending: Mapping[tuple[str, str], Decision]
) -> list[NodeCause]:
    """Return the changes of nodes for which pods fit on no node, each with the pods that it concerns.

    Args:
        pending: The decisions of the second side for pods that fit on no node there, and fitted before or are new.
    """
    found: dict[tuple[tuple[NodeProperty, ...], tuple[str, ...]], NodeCause] = {}
    for (namespace, name), decision in list(pending.items())[:_MOST_PODS]:
        changes = _changes(before.cluster, decision)
        for cause in _proven(after, decision, changes):
            known = found.setdefault((cause.changes, cause.nodes), cause)
            known.pods.append(f"{namespace}/{name}")
    return list(found.values())


def _changes(before: Cluster, decision: Decision) -> dict[NodeProperty, list[str]]:
    """Return the changes of the nodes that a pod selected and tolerated before, by the nodes of the second side."""
    now, pod = decision.cluster.nodes, decision.pod
    by_pool: dict[str, list[Node]] = {}
    for node in now.objects:
        if pool := pool_name(node.metadata.labels):
            by_pool.setdefault(pool, []).append(node)
    keys, requests = _label_keys(pod), Situation(decision).requests
    spec = replace(pod.spec, node_name="")
    out: dict[NodeProperty, list[str]] = {}
    for row in nodes_matching_pod(before.nodes, spec).nonzero()[0].tolist():
        old = before.nodes.objects[row]
        if untolerated_taints(spec, old.spec.taints):
            continue
        same = now.row.get(old.name)
        others = by_pool.get(pool_name(old.metadata.labels), []) if same is None else [now.objects[same]]
        for new in others:
            for change in _differences(old, new, pod, keys, requests):
                names = out.setdefault(change, [])
                if new.name not in names:
                    names.append(new.name)
    return out


def _label_keys(pod: Pod) -> list[str]:
    """Return the labels of nodes that decide where a pod may go."""
    spec = pod.spec
    required = required_node_selector(spec)
    keys = [*spec.node_selector]
    keys += [each.key for term in (required.node_selector_terms if required else ()) for each in term.match_expressions]
    keys += [each.topology_key for each in spec.topology_spread_constraints]
    return list(dict.fromkeys(keys))


def _differences(
    old: Node, new: Node, pod: Pod, keys: Iterable[str], requests: Mapping[str, int]
) -> Iterator[NodeProperty]:
    for key in keys:
        was, now = (node.metadata.labels.get(key) for node in (old, new))
        # The labels of a node's place identify it, and differ between nodes of a pool; none may be without them.
        if was != now and (now is None or key not in PLACE_LABELS):
            yield NodeProperty(ChangeKind.LABEL, key, was, now)
    if new.spec.unschedulable and not old.spec.unschedulable:
        yield NodeProperty(ChangeKind.CORDON)
    for taint in untolerated_taints(pod.spec, new.spec.taints):
        if taint != UNSCHEDULABLE_TAINT and taint not in old.spec.taints:
            yield NodeProperty(ChangeKind.TAINT, taint=taint)
    for resource in requests:
        had, has = (node.status.allocatable.get(resource) for node in (old, new))
        if had is not None and amount_of(resource, str(had)) > amount_of(resource, str(has or 0)):
            yield NodeProperty(ChangeKind.AMOUNT, resource, str(had), str(has or 0))


def _proven(
    after: LoadedCluster, decision: Decision, changes: Mapping[NodeProperty, Sequence[str]]
) -> Iterator[NodeCause]:
    """Yield the change without which the pod fits; if there is none, as few changes as are needed together."""
    ranked = sorted(changes, key=lambda change: -len(changes[change]))[:_MOST_CHANGES]
    for change in ranked:
        if places := _places(after, decision, {change: changes[change]}):
            yield NodeCause((change,), tuple(changes[change]), places=places)
            return
    needed = {change: changes[change] for change in ranked}
    if len(needed) < 2 or not _places(after, decision, needed):
        return
    for change in reversed(ranked):
        fewer = {each: names for each, names in needed.items() if each != change}
        if _places(after, decision, fewer):
            needed = fewer
    every = dict.fromkeys(name for names in needed.values() for name in names)
    yield NodeCause(tuple(needed), tuple(every), places=_places(after, decision, needed))


def _places(after: LoadedCluster, decision: Decision, changes: Mapping[NodeProperty, Sequence[str]]) -> tuple[str, ...]:
    """Return the nodes that the pod of a decision gets if changes are taken back; empty if it still fits nowhere."""
    nodes = {node.name: node for node in decision.cluster.nodes.objects}
    for change, names in changes.items():
        nodes |= {name: change.taken_back(nodes[name]) for name in names}
    return after.moved(decision.cluster.with_nodes(nodes.values())).decide_admitted(decision.pod).best


def node_cures(after: LoadedCluster, causes: Iterable[NodeCause]) -> Iterator[CureData]:
    """Yield the ways to take changes of nodes back, the lasting one first, with the places of the pods as tried."""
    for cause in causes:
        labels = [change for change in cause.changes if change.kind is ChangeKind.LABEL]
        if labels:
            yield from _label_cures(after, cause, labels)
        for change in cause.changes:
            if change.kind is not ChangeKind.LABEL:
                yield from _other_cures(after, cause, change)


def _then(cause: NodeCause) -> str:
    where = f"{'one of ' if len(cause.places) > 1 else ''}{listed(cause.places, most=3)}"
    others = f", and {counted(len(cause.pods) - 1, 'more pod')} after it" if len(cause.pods) > 1 else ""
    together = "with the other changes, " if len(cause.changes) > 1 else ""
    return f"{together}{cause.pods[0]} is scheduled to {where}{others}"


def _pool_words(after: LoadedCluster, names: Sequence[str]) -> str:
    """Return the pools of nodes, such as ``node pool data (a and b)``."""
    labels = (after.nodes.objects[after.nodes.row[name]].metadata.labels for name in names)
    pools = sorted({pool for own in labels if (pool := pool_name(own))})
    shown = listed(names, most=3)
    return f"node pool {listed(pools)} ({shown})" if pools else f"the pool of {shown}"


def _label_cures(after: LoadedCluster, cause: NodeCause, labels: Sequence[NodeProperty]) -> Iterator[CureData]:
    pool = _pool_words(after, cause.nodes)
    put = [f"{change.key}={change.before}" for change in labels if change.before is not None]
    gone = [change.key for change in labels if change.before is None]
    arguments = " ".join((*put, *(f"{key}-" for key in gone)))
    into = f"put label {listed(put)} into" if put else f"take label {listed(gone)} out of"
    then = _then(cause)
    yield CureData(
        f"{into} the definition of {pool}", then, (f"# {into} the labels of nodes in the definition of {pool}",)
    )
    yield CureData(
        f"label {listed(cause.nodes, most=3)} with {arguments} by hand (kubectl label node)",
        f"{then}; it holds until the nodes are recreated by the next upgrade",
        (f"kubectl label node {' '.join(cause.nodes)} {arguments} --overwrite",),
    )


def _other_cures(after: LoadedCluster, cause: NodeCause, change: NodeProperty) -> Iterator[CureData]:
    names, pool, then = listed(cause.nodes, most=3), _pool_words(after, cause.nodes), _then(cause)
    if change.kind is ChangeKind.CORDON:
        yield CureData(
            f"uncordon {names} once the work on it is done", then, (f"kubectl uncordon {' '.join(cause.nodes)}",)
        )
    elif change.kind is ChangeKind.TAINT and change.taint is not None:
        if change.taint.key.startswith(UNSAFE_TAINTS):
            yield CureData(
                f"wait until {change.taint.key} is taken off {names}, or repair what keeps it",
                "",
                (f"kubectl describe node {cause.nodes[0]}",),
                "a component of the cluster sets the taint and removes it",
            )
            return
        yield CureData(
            f"tolerate {change.taint} in the template of {listed(cause.pods, most=3)}, if they belong on {names}",
            then,
            (f"# tolerations: key {change.taint.key}, value {change.taint.value!r}, effect {change.taint.effect}",),
        )
        yield CureData(f"take the taint {change.taint} out of the definition of {pool}", then, (f"# edit {pool}",))
    elif change.kind is ChangeKind.AMOUNT and is_extended_resource(change.key):
        yield CureData(
            f"repair the device plugin for {change.key} on {names}",
            then,
            (
                f"kubectl describe node {cause.nodes[0]}",
                f"kubectl get pods -A -o wide --field-selector spec.nodeName={cause.nodes[0]}",
            ),
        )
    else:
        yield CureData(
            f"bring {readable(change.key, change.before or '0')} {change.key} back in the definition of {pool}: "
            "its machine type, or what it reserves for the system",
            then,
            (f"kubectl describe node {cause.nodes[0]}",),
        )
