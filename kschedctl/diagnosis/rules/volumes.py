"""Bound volumes: the places that they tie a pod to, their attachments, and the drivers that serve them."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import reduce
from typing import Final

import msgspec
import numpy as np

from kschedctl.cluster.cluster import Cluster
from kschedctl.cluster.node_selection import required_node_selector
from kschedctl.cluster.nodes import Nodes
from kschedctl.common.arrays import Mask
from kschedctl.common.wording import counted, listed
from kschedctl.controllers.workloads.ownership import workload_of
from kschedctl.diagnosis.components import agent_on, agents_words
from kschedctl.diagnosis.diagnosis import Advice, Diagnosis, Situation, all_rows
from kschedctl.diagnosis.new_nodes import nodes_like
from kschedctl.diagnosis.node_health import health_problem, is_unhealthy, silent_node_advice
from kschedctl.diagnosis.rules.unbound_claims import is_of_template
from kschedctl.objects.core import Node
from kschedctl.objects.pod import Pod
from kschedctl.objects.resources import CPU, MEMORY
from kschedctl.objects.selectors import IN, Requirement
from kschedctl.objects.volume import PersistentVolume, VolumeAttachment
from kschedctl.objects.well_known import BETA_REGION, BETA_ZONE, HOSTNAME, PLACE_LABELS, REGION, ZONE
from kschedctl.scheduler.framework.remedy import Remedy, add_operation, patched
from kschedctl.scheduler.framework.risk import RemedyScope, Risk
from kschedctl.scheduler.volumes.binder import Binder
from kschedctl.scheduler.volumes.claims import claim_uses, group_claims, pod_claims, required_affinity
from kschedctl.scheduler.volumes.csi_nodes import CSINodes
from kschedctl.scheduler.volumes.zones import label_terms, volume_labels, zoned_nodes

#: The names of label keys, after the domain, that drivers use for one node and for a zone or another location.
_NODE_NAMES: Final = frozenset(("hostname", "node", "nodename", "node-name", "nodeid", "host"))
_ZONE_NAMES: Final = frozenset(
    ("zone", "region", "location", "datacenter", "rack", "logical-zone", "k8s-zone", "k8s-region")
)
#: At most this many kinds of nodes are tried in the place of a volume.
_MOST_MODELS: Final = 2
#: The filters, besides those of volumes, that a new node of the same kind cannot pass either.
_OF_THE_KIND: Final = ("NodeAffinity", "TaintToleration", "NodeDeclaredFeatures")
#: At most this many nodes and pods are named.
_NAMED: Final = 3
#: The number of nodes by which a label is recognized as the name of the node.
_SAMPLE: Final = 5


class VolumePlace(msgspec.Struct, frozen=True, eq=False):
    """The place of a bound volume."""

    claim: str
    volume: PersistentVolume
    #: The nodes on which the volume can be used.
    nodes: Mask
    #: The labels that such nodes have, each with its possible values.
    labels: Mapping[str, tuple[str, ...]]
    #: The values of the label that names single nodes; empty for a volume that several nodes can use.
    hosts: tuple[str, ...]
    #: The zones or other locations; empty if the labels name none.
    zones: tuple[str, ...]

    @property
    def name(self) -> str:
        """The volume and its claim as text."""
        return f"volume {self.volume.name} of claim {self.claim}"

    @property
    def where(self) -> str:
        """The place as text, such as ``in us-east-1b`` or ``on node-7``."""
        if self.hosts:
            return f"on {listed(self.hosts, 'or')}"
        if self.zones:
            return f"in {listed(self.zones, 'or')}"
        return f"for nodes with {self.wanted}"

    @property
    def wanted(self) -> str:
        """The required labels as text."""
        return listed([f"{key}={'|'.join(values)}" for key, values in self.labels.items()])


def volume_places(situation: Situation) -> list[VolumePlace]:
    """Return the places of the pod's bound volumes, except volumes that every node can use."""
    cluster = situation.cluster
    binder = Binder(cluster)
    found = []
    for claim in group_claims(cluster, pod_claims(cluster, situation.pod)).bound:
        volume = cluster.get(PersistentVolume, claim.spec.volume_name)
        if volume is None:
            continue
        check = binder.check_volume(claim, volume)
        of_volume = volume_labels(volume)
        nodes = check.reachable
        if of_volume:
            matching = reduce(np.logical_and, (label.matches(cluster.nodes) for label in of_volume))
            nodes = nodes & (matching | ~zoned_nodes(cluster.nodes))
        if check.problem or nodes.all():
            continue
        labels: dict[str, tuple[str, ...]] = {}
        for requirement in _requirements(volume):
            labels[requirement.key] = tuple(dict.fromkeys((*labels.get(requirement.key, ()), *requirement.values)))
        for label in of_volume:
            labels.setdefault(label.key, label.values)
        hosts = [key for key in labels if _names_node(cluster.nodes, key)]
        zones = [key for key in labels if _is_zone(key)]
        # A region says less than the zone beside it.
        zones = [key for key in zones if key.rpartition("/")[2].lower() != "region"] or zones
        found.append(
            VolumePlace(
                claim.name,
                volume,
                nodes,
                labels,
                tuple(dict.fromkeys(value for key in hosts for value in labels[key])),
                tuple(dict.fromkeys(value for key in zones for value in labels[key] if value)),
            )
        )
    return found


def volume_scope(situation: Situation) -> str:
    """Return what the nodes within reach have in common by the pod's volumes, as text that follows a noun."""
    narrowing = [place for place in volume_places(situation) if (situation.selected & ~place.nodes).any()]
    both = reduce(np.logical_and, (place.nodes for place in narrowing), situation.selected)
    if not narrowing or not np.array_equal(both, situation.in_reach):
        return " where its volumes can be used"
    names = [place.volume.name for place in narrowing]
    noun = f"volume {names[0]} is" if len(names) == 1 else f"volumes {listed(names)} are"
    zones = list(dict.fromkeys(place.where for place in narrowing if place.zones and not place.hosts))
    if len(zones) == 1 and not any(place.hosts for place in narrowing):
        return f" {zones[0]}, where {noun},"
    return f", where {noun},"


def nodes_at(situation: Situation, place: VolumePlace) -> Iterator[Remedy]:
    """Yield remedies that add a node in the place of a volume: copies of nodes elsewhere that are large enough.

    Nothing is yielded for the disk of a single node, or if a node of the place is large enough: copies of it are
    tried anyway.
    """
    nodes = situation.cluster.nodes
    large = situation.large_enough
    of_kind = large & ~situation.rejected_by(*_OF_THE_KIND)
    if place.hosts or not place.labels or (of_kind & place.nodes).any():
        return
    order = np.lexsort((situation.offered(MEMORY), situation.offered(CPU)))
    models: dict[object, Node] = {}
    for row in order[(of_kind if of_kind.any() else large)[order]].tolist():
        node = nodes.objects[row]
        models.setdefault((str(node.status.allocatable), node.spec.taints), node)
        if len(models) == _MOST_MODELS:
            break
    for i, model in enumerate(models.values()):
        # A label of the node with the value of another zone follows the zone.
        own = model.metadata.labels
        wanted = {key: values[0] for key, values in place.labels.items() if own.get(key) not in values}
        moved = {own[key]: value for key, value in wanted.items() if key in own}
        zone = next((value for key, value in wanted.items() if _is_zone(key)), "")
        for key in (ZONE, BETA_ZONE):
            if zone and key in own and key not in place.labels:
                moved.setdefault(own[key], zone)
        labels = wanted | {key: moved[value] for key, value in own.items() if value in moved and _is_zone(key)}
        yield replace(nodes_like(situation.cluster, model.name, 1, within=i - 1.0, place=labels), once=True)


def selection_text(situation: Situation) -> str:
    """Return the fields by which the pod selects its nodes as text."""
    spec = situation.pod.spec
    parts = [f"{key}={value}" for key, value in spec.node_selector.items()]
    fields = [f"nodeSelector {listed(parts)}"] if parts else []
    if required_node_selector(spec) is not None:
        fields.append("the required node affinity")
    return listed(fields) or "nodeName"


def _requirements(volume: PersistentVolume) -> Iterator[Requirement]:
    affinity = required_affinity(volume)
    for term in label_terms(affinity) if affinity is not None else ():
        yield from (requirement for requirement in term if requirement.operator == IN)


def _names_node(nodes: Nodes, key: str) -> bool:
    """Report whether a label names single nodes, by its key or by the nodes that have it."""
    if key == HOSTNAME or key.rpartition("/")[2].lower() in _NODE_NAMES:
        return True
    rows = np.flatnonzero(nodes.labels[key].present)[:_SAMPLE].tolist()
    labels = [(nodes.objects[row].name, nodes.objects[row].metadata.labels) for row in rows]
    return bool(labels) and all(own[key] in (name, own.get(HOSTNAME)) for name, own in labels)


def _is_zone(key: str) -> bool:
    return key in (ZONE, BETA_ZONE) or key.rpartition("/")[2].lower() in _ZONE_NAMES


_ONE_NODE: Final = {"ReadWriteOnce"}
_RECREATE: Final = '{"spec":{"strategy":{"type":"Recreate","rollingUpdate":null}}}'


def volumes_attached_elsewhere(cluster: Cluster, pod: Pod, node: str) -> Iterator[Diagnosis]:
    """Yield the volumes of a pod that one node can use at a time, and that are attached to another one than its own."""
    for claim in group_claims(cluster, pod_claims(cluster, pod)).bound:
        volume = cluster.get(PersistentVolume, claim.spec.volume_name)
        if volume is None or not set(volume.spec.access_modes) <= _ONE_NODE:
            continue
        for attachment in cluster.list(VolumeAttachment):
            place = attachment.spec
            if place.source.persistent_volume_name == volume.name and place.node_name != node:
                yield _attachment_cause(cluster, pod, claim.name, attachment)
                break


def _attachment_cause(cluster: Cluster, pod: Pod, claim: str, attachment: VolumeAttachment) -> Diagnosis:
    node, volume = attachment.spec.node_name, attachment.spec.source.persistent_volume_name
    row = cluster.nodes.row.get(node)
    users = [
        index
        for index in (cluster.pods.on_node(row).tolist() if row is not None else ())
        if cluster.pods.records[index].metadata.namespace == pod.namespace
        and any(use.claim == claim for use in claim_uses(cluster.pods.pod(index)))
    ]
    state, own = node, workload_of(cluster, pod.metadata)
    advice: tuple[Advice, ...]
    if row is None:
        state = f"{node}, which no longer exists"
        advice = (
            Advice(
                summary=f"delete VolumeAttachment {attachment.name}, as its node {node} no longer exists",
                risk=Risk.MISTAKE,
                untried="the CSI driver detaches the volume",
                command=f"kubectl delete volumeattachment {attachment.name}",
            ),
        )
    elif is_unhealthy(cluster.nodes.objects[row]):
        state = f"{node}, which is {health_problem(cluster.nodes.objects[row])}"
        back = f"get {node} back; its kubelet then ends the old pods, and {volume} is detached"
        advice = silent_node_advice(node, back, f", which detaches {volume}")
    elif not users:
        advice = (
            Advice(
                summary=f"look at the log of CSI driver {attachment.spec.attacher}, which has not detached {volume}",
                risk=Risk.MISTAKE,
                untried="the volume is detached outside the scheduler",
                command=f"kubectl describe volumeattachment {attachment.name}",
            ),
        )
    elif own[0] == "Deployment" and any(
        workload_of(cluster, cluster.pods.records[index].metadata) == own for index in users
    ):
        advice = (
            Advice(
                summary=f"set strategy Recreate in Deployment {own[2]}: the old pod then ends first",
                risk=Risk.MISTAKE,
                untried="the Deployment controller deletes the old pod",
                command=f"kubectl patch deployment -n {own[1]} {own[2]} -p '{_RECREATE}'",
            ),
        )
    else:
        advice = (
            Advice(
                summary=f"if both pods need the data: run them on {node}, or move it to a claim with ReadWriteMany",
                risk=Risk.POD,
                untried="the volume is attached outside the scheduler",
            ),
        )
    names = listed([cluster.pods.key(index) for index in users], most=_NAMED)
    use = f"; pod {names} there {'uses' if len(users) == 1 else 'use'} it" if users else ""
    return Diagnosis(
        rule="volume-attached-elsewhere",
        cause=f"volume {volume} of its claim {claim} is ReadWriteOnce and attached to {state}{use}",
        advice=advice,
        checks=(f"kubectl get volumeattachment {attachment.name} -o yaml",),
    )


#: At most this many zones are named.
_MOST_ZONES = 4


def volume_place(situation: Situation) -> Iterator[Diagnosis]:
    """A bound volume is where the pod cannot go: in a zone without nodes, on a node that is gone, or outside its selector.

    The disk of a cloud is in one zone, and a local disk on one node. The affinity of the PersistentVolume says where, and
    the pod can only run there. The rule applies if the pod's volumes rule out every node that the pod itself selects:

    - No node is left in the zone, often after a node group was replaced or scaled down. Operators get a node there: they
      raise the group of that zone, or pin a group to it. The data stays where it is. To copy it is the last resort.
    - The node of a local disk is gone. Either it comes back under its name, or the claim and the pod are deleted, and
      replicated software fills a new disk. Nothing moves a local disk.
    - The nodes are in the zone but lack the label of the CSI driver, which the driver's pod on the node sets.
    - The pod's selector leaves only nodes elsewhere, or two volumes are in different places.
    """
    # Yield the volumes because of which no selected node can be used.
    if not situation.filtered or situation.in_reach.any() or not situation.selected.any():
        return
    places = volume_places(situation)
    if (reduce(np.logical_and, (place.nodes for place in places), situation.selected)).any():
        # Volumes that are yet to be bound or provisioned rule out the rest.
        return
    nowhere = [place for place in places if not place.nodes.any()]
    if nowhere:
        for place in nowhere:
            yield _lost_disk(situation, place) if place.hosts else _no_node_there(situation, place)
        return
    outside = [place for place in places if not (place.nodes & situation.selected).any()]
    yield _outside_selection(situation, outside[0]) if outside else _apart(situation, places)


def _no_node_there(situation: Situation, place: VolumePlace) -> Diagnosis:
    there = _nodes_there(situation.cluster.nodes, place)
    if (lacking := without_label(situation, place)).any():
        return driver_missing(situation, place, lacking)
    if not place.labels:
        cause = f"{place.name} has a node affinity that matches no node"
    elif there.any() or not place.zones:
        cause = f"{place.name} is for nodes with {place.wanted}, and there is no such node"
    else:
        cause = f"{place.name} is {place.where}, where no node is left"
    return Diagnosis(
        rule="no-node-at-volume",
        cause=cause,
        evidence=_whereabouts(situation),
        remedies=tuple(nodes_at(situation, place)),
    )


def _nodes_there(nodes: Nodes, place: VolumePlace) -> Mask:
    """Return the nodes in the place of a volume by their names or their zones, whatever the label of the driver is."""
    there = np.zeros(len(nodes), dtype=np.bool_)
    if place.hosts:
        there[[nodes.row[name] for name in place.hosts if name in nodes.row]] = True
        return there
    # The location of some drivers is the region.
    for key in (ZONE, BETA_ZONE, REGION, BETA_REGION):
        codes = [code for zone in place.zones if (code := nodes.labels[key].code(zone)) is not None]
        there |= np.isin(nodes.labels[key].codes, codes)
    return there


def without_label(situation: Situation, place: VolumePlace) -> Mask:
    """Return the selected nodes in the place of a volume that lack the labels which its CSI driver sets."""
    keys = [key for key in place.labels if key not in PLACE_LABELS]
    if place.volume.spec.csi is None or not keys:
        return np.zeros(situation.n_nodes, dtype=np.bool_)
    labels = situation.cluster.nodes.labels
    have = reduce(np.logical_or, (labels[key].present for key in keys))
    return _nodes_there(situation.cluster.nodes, place) & situation.selected & ~have


def driver_missing(situation: Situation, place: VolumePlace, nodes: Mask, rest: str = "") -> Diagnosis:
    """Return the diagnosis of nodes in the place of a volume that its CSI driver has not labelled."""
    cluster, rows = situation.cluster, all_rows(nodes)
    driver = place.volume.spec.csi.driver if place.volume.spec.csi is not None else ""
    keys = [key for key in place.labels if key not in PLACE_LABELS]
    names, one = listed(situation.names(nodes), most=_NAMED), len(rows) == 1
    agent = agent_on(cluster, driver, rows[0]) if one else None
    state = "" if CSINodes.of(cluster).installed(driver)[nodes].any() else ": it is not registered there"
    state = agents_words([agent]) if agent is not None else state
    remedies = []
    for within, row in enumerate(rows[:_NAMED]):
        own, name = agent_on(cluster, driver, row), cluster.nodes.names[row]
        labels = {**cluster.nodes.objects[row].metadata.labels, **{key: place.labels[key][0] for key in keys}}
        cure = (
            f"{own.cure(name)}; CSI driver {driver}"
            if own is not None
            else f"get CSI driver {driver} to run on {name}; it"
        )
        remedies.append(
            Remedy(
                summary=f"{cure} then registers the node",
                scope=RemedyScope.NODE,
                changes=(patched(cluster.nodes.objects[row], add_operation(labels, "metadata", "labels")),),
                risk=Risk.MISTAKE,
                family="driver of a volume",
                within=float(within),
                once=True,
                command=own.command if own is not None else f"# look at the node DaemonSet of {driver} on {name}",
            )
        )
    return Diagnosis(
        rule="csi-driver-not-registered",
        cause=(
            f"{place.name} is {place.where}, and {names} there lack{'s' if one else ''} the label {listed(keys)}, "
            f"which CSI driver {driver} sets{state}{rest and f'; {rest}'}"
        ),
        remedies=(*remedies, *nodes_at(situation, place)),
        checks=(f"kubectl get csinode {' '.join(situation.names(nodes)[:_NAMED])} -o yaml",),
    )


def _lost_disk(situation: Situation, place: VolumePlace) -> Diagnosis:
    node, pod = listed(place.hosts, "or"), situation.pod
    namespace, claim = pod.namespace, place.claim
    renamed = [name for name in place.hosts if name in situation.cluster.nodes.row]
    if (lacking := without_label(situation, place)).any():
        return driver_missing(situation, place, lacking)
    if renamed:
        own = situation.cluster.nodes.objects[situation.cluster.nodes.row[renamed[0]]].metadata.labels
        has = "; ".join(f"{key} {own[key]}" if key in own else f"no {key}" for key in place.labels)
        return Diagnosis(
            rule="local-disk-of-a-renamed-node",
            cause=f"{place.name} is on {node} by the label {listed(list(place.labels))}; node {renamed[0]} has {has}",
            checks=(f"kubectl get node {renamed[0]} --show-labels",),
        )
    again = "its StatefulSet creates the claim again" if is_of_template(situation, claim) else "create the claim again"
    return Diagnosis(
        rule="local-disk-of-a-lost-node",
        cause=f"{place.name} is a local disk of {node}, which is gone",
        evidence=("a local disk can only be used on its node",),
        advice=(
            Advice(
                summary=f"bring {node} back under its name, with its disk: the data is there",
                risk=Risk.CAPACITY,
                untried=f"the snapshot has neither {node} nor its disk",
                command=f"# repair {node} and let it join again as {node} (label {HOSTNAME}={node})",
            ),
            Advice(
                summary=f"if {node} is lost for good: delete claim {claim} and the pod for a new, empty disk",
                risk=Risk.DATA,
                untried=f"the data on {node} is lost, so the software needs replicas or a backup; {again}",
                command=(
                    f"kubectl delete pvc -n {namespace} {claim} --wait=false && "
                    f"kubectl delete pod -n {namespace} {pod.name}"
                ),
            ),
        ),
        checks=(f"kubectl get pv {place.volume.name} -o yaml",),
    )


def _outside_selection(situation: Situation, place: VolumePlace) -> Diagnosis:
    selected, nodes = situation.selected, situation.cluster.nodes
    zones = sorted(_nodes_by_zone(nodes, selected))
    if situation.is_of_daemon_set and selected.sum() == 1:
        but = f"the pod of the DaemonSet is for {situation.names(selected)[0]}"
    elif place.zones and not place.hosts and zones and set(zones).isdisjoint(place.zones):
        but = f"{selection_text(situation)} leaves only nodes in zone {listed(zones, most=_MOST_ZONES)}"
    else:
        but = f"{selection_text(situation)} excludes {listed(situation.names(place.nodes), most=3)}"
    return Diagnosis(
        rule="volume-outside-selection",
        cause=f"{place.name} is {place.where}, and {but}",
        remedies=() if place.hosts else tuple(nodes_at(situation, place)),
    )


def _apart(situation: Situation, places: list[VolumePlace]) -> Diagnosis:
    return Diagnosis(
        rule="volumes-apart",
        cause=f"{listed([f'{place.name} is {place.where}' for place in places])}, and no "
        f"{'selected ' if not situation.selected.all() else ''}node is in all these places",
        evidence=_whereabouts(situation),
    )


def _nodes_by_zone(nodes: Nodes, mask: Mask) -> dict[str, int]:
    """Return the zones of some nodes, each with its number of nodes."""
    column = nodes.labels[ZONE]
    codes, counts = np.unique(column.codes[mask & column.present], return_counts=True)
    return {column.values[code]: int(count) for code, count in zip(codes, counts, strict=True)}


def _whereabouts(situation: Situation) -> tuple[str, ...]:
    """Return the zones of the selected nodes as evidence; nothing if they have none."""
    zones = sorted(_nodes_by_zone(situation.cluster.nodes, situation.selected).items())
    text = listed([f"{zone} ({counted(n, 'node')})" for zone, n in zones], most=_MOST_ZONES)
    return (f"the {'' if situation.selected.all() else 'selected '}nodes are in {text}",) if zones else ()


def attached_elsewhere(situation: Situation) -> Iterator[Diagnosis]:
    """A pod does not start, as its ReadWriteOnce volume is attached to another node: "Multi-Attach error for volume".

    The attach-detach controller detaches a volume when no pod of the node uses it. A pod on a node that is unreachable
    stays until the kubelet confirms its end, and so does the attachment; a running pod keeps it as well.

    Operators get the node back. If its machine is shut down, they give it the taint ``node.kubernetes.io/out-of-service``:
    the pods are then deleted by force, and their volumes detached. They do not delete such a pod by force while its machine
    may still run, as two nodes would then write to one disk.
    """
    # Yield the volumes of a pod that has not started which are attached to another node.
    if situation.node and situation.pod.status.phase == "Pending":
        yield from volumes_attached_elsewhere(situation.cluster, situation.pod, situation.node)
