"""The places of a pod's bound volumes: the zone or the node that each is in, as text, as labels and as nodes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import reduce
from typing import Final

import msgspec
import numpy as np

from kschedctl.cluster.node_selection import required_node_selector
from kschedctl.cluster.nodes import Nodes
from kschedctl.common.arrays import Mask
from kschedctl.common.wording import listed
from kschedctl.diagnosis.new_nodes import nodes_like
from kschedctl.diagnosis.situation import Situation
from kschedctl.objects.core import Node
from kschedctl.objects.resources import CPU, MEMORY
from kschedctl.objects.selectors import IN, Requirement
from kschedctl.objects.volume import PersistentVolume
from kschedctl.objects.well_known import BETA_ZONE, HOSTNAME, ZONE
from kschedctl.scheduler.framework.remedy import Remedy
from kschedctl.scheduler.volumes.binder import Binder
from kschedctl.scheduler.volumes.claims import group_claims, pod_claims, required_affinity
from kschedctl.scheduler.volumes.zones import label_terms, volume_labels, zoned_nodes

#: The names of label keys, after the domain, that drivers use for one node and for a zone or another location.
_NODE_NAMES: Final = frozenset(("hostname", "node", "nodename", "node-name", "nodeid", "host"))
_ZONE_NAMES: Final = frozenset(("zone", "region", "location", "datacenter", "rack", "logical-zone"))
#: At most this many kinds of nodes are tried in the place of a volume.
_MOST_MODELS: Final = 2
#: The filters, besides those of volumes, that a new node of the same kind cannot pass either.
_OF_THE_KIND: Final = ("NodeAffinity", "TaintToleration", "NodeDeclaredFeatures")
#: The number of nodes by which a label is recognized as the name of the node.
_SAMPLE: Final = 5


class VolumePlace(msgspec.Struct, frozen=True, eq=False):
    """The place of a bound volume.

    Attributes
    ----------
    claim : str
        The name of the claim.
    volume : PersistentVolume
        The volume.
    nodes : ndarray of bool, shape (n_nodes,)
        The nodes on which the volume can be used.
    labels : mapping of str to tuple of str
        The labels that such nodes have, each with its possible values.
    hosts : tuple of str
        The values of the label that names single nodes; empty for a volume that several nodes can use.
    zones : tuple of str
        The zones or other locations; empty if the labels name none.
    """

    claim: str
    volume: PersistentVolume
    nodes: Mask
    labels: Mapping[str, tuple[str, ...]]
    hosts: tuple[str, ...]
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

    def labels_on(self, own: Mapping[str, str]) -> dict[str, str]:
        """Return the labels that a copy of a node needs for the place, except those that the node has.

        A label of the node with the value of another zone follows the zone.

        Parameters
        ----------
        own : mapping of str to str
            The labels of the node.
        """
        wanted = {key: values[0] for key, values in self.labels.items() if own.get(key) not in values}
        moved = {own[key]: value for key, value in wanted.items() if key in own}
        zone = next((value for key, value in wanted.items() if _is_zone(key)), "")
        for key in (ZONE, BETA_ZONE):
            if zone and key in own and key not in self.labels:
                moved.setdefault(own[key], zone)
        return wanted | {key: moved[value] for key, value in own.items() if value in moved and _is_zone(key)}


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
        nodes = check.reachable & _by_labels(cluster.nodes, volume)
        if check.problem or nodes.all():
            continue
        labels = _required_labels(volume)
        hosts = [key for key in labels if _names_node(cluster.nodes, key)]
        zones = [key for key in labels if _is_zone(key)]
        # A region says less than the zone beside it.
        zones = [key for key in zones if not _is_region(key)] or zones
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
        labels = place.labels_on(model.metadata.labels)
        yield replace(nodes_like(situation.cluster, model.name, 1, within=i - 1.0, place=labels), once=True)


def selection_text(situation: Situation) -> str:
    """Return the fields by which the pod selects its nodes as text."""
    spec = situation.pod.spec
    parts = [f"{key}={value}" for key, value in spec.node_selector.items()]
    fields = [f"nodeSelector {listed(parts)}"] if parts else []
    if required_node_selector(spec) is not None:
        fields.append("the required node affinity")
    return listed(fields) or "nodeName"


def _by_labels(nodes: Nodes, volume: PersistentVolume) -> Mask:
    """Return the nodes that match the zone and region labels of a volume: bool, shape (n_nodes,)."""
    labels = volume_labels(volume)
    if not labels:
        return np.ones(len(nodes), dtype=np.bool_)
    return reduce(np.logical_and, (label.matches(nodes) for label in labels)) | ~zoned_nodes(nodes)


def _required_labels(volume: PersistentVolume) -> dict[str, tuple[str, ...]]:
    """Return the labels that a volume's node affinity and its zone labels require, with their values."""
    out: dict[str, tuple[str, ...]] = {}
    for requirement in _requirements(volume):
        out[requirement.key] = tuple(dict.fromkeys((*out.get(requirement.key, ()), *requirement.values)))
    for label in volume_labels(volume):
        out.setdefault(label.key, label.values)
    return out


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


def _is_region(key: str) -> bool:
    return key.rpartition("/")[2].lower() == "region"
