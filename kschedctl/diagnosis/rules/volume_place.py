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

from __future__ import annotations

from collections.abc import Iterator
from functools import reduce

import numpy as np

from kschedctl.cluster.nodes import Nodes
from kschedctl.common.arrays import Mask
from kschedctl.common.wording import counted, listed
from kschedctl.diagnosis.diagnosis import Advice, Diagnosis
from kschedctl.diagnosis.rules.unbound_claim import is_of_template
from kschedctl.diagnosis.situation import Situation
from kschedctl.diagnosis.volume_places import VolumePlace, nodes_at, selection_text, volume_places
from kschedctl.objects.well_known import BETA_ZONE, HOSTNAME, ZONE
from kschedctl.scheduler.framework.remedy import Risk
from kschedctl.scheduler.volumes.csi_nodes import CSINodes

#: At most this many zones are named.
_MOST_ZONES = 4


def check(situation: Situation) -> Iterator[Diagnosis]:
    """Yield the volumes because of which no selected node can be used."""
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
    nodes = situation.cluster.nodes
    there = _in_zone(nodes, place.zones)
    lacking = [key for key in place.labels if there.any() and not nodes.labels[key].present[there].any()]
    if lacking and place.volume.spec.csi is not None:
        return _driver_not_registered(situation, place, place.volume.spec.csi.driver, lacking, there)
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


def _driver_not_registered(
    situation: Situation, place: VolumePlace, driver: str, keys: list[str], there: Mask
) -> Diagnosis:
    names, one = listed(situation.names(there), most=3), there.sum() == 1
    installed = CSINodes.of(situation.cluster).installed(driver)[there].any()
    why = "" if installed else f": CSI driver {driver} is not registered there"
    return Diagnosis(
        rule="csi-driver-not-registered",
        cause=(
            f"{place.name} is {place.where}, and {names} there lack{'s' if one else ''} the label {listed(keys)}, "
            f"which the CSI driver sets{why}"
        ),
        advice=(
            Advice(
                summary=f"get the pod of CSI driver {driver} to run on {names}; it registers the node and its label",
                risk=Risk.MISTAKE,
                untried="the kubelet sets the label once the driver is registered",
                command=f"# look at the node DaemonSet of {driver}: its pods there, its tolerations and node selector",
            ),
        ),
        remedies=tuple(nodes_at(situation, place)),
        checks=(f"kubectl get csinode {' '.join(situation.names(there)[:3])} -o yaml",),
    )


def _lost_disk(situation: Situation, place: VolumePlace) -> Diagnosis:
    node, pod = listed(place.hosts, "or"), situation.pod
    namespace, claim = pod.namespace, place.claim
    renamed = [name for name in place.hosts if name in situation.cluster.nodes.row]
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
    zones = sorted(_zones(nodes, selected))
    if situation.is_of_daemon_set and selected.sum() == 1:
        but = f"the pod of the DaemonSet is for {situation.names(selected)[0]}"
    elif place.zones and not place.hosts and zones and set(zones).isdisjoint(place.zones):
        but = f"{selection_text(situation)} leaves only nodes in {listed(zones, most=_MOST_ZONES)}"
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


def _in_zone(nodes: Nodes, zones: tuple[str, ...]) -> Mask:
    """Return the nodes of some zones by the standard zone labels: bool, shape (n_nodes,)."""
    out = np.zeros(len(nodes), dtype=np.bool_)
    for key in (ZONE, BETA_ZONE):
        codes = [code for zone in zones if (code := nodes.labels[key].code(zone)) is not None]
        out |= np.isin(nodes.labels[key].codes, codes)
    return out


def _zones(nodes: Nodes, mask: Mask) -> dict[str, int]:
    """Return the zones of some nodes, each with its number of nodes."""
    column = nodes.labels[ZONE]
    codes, counts = np.unique(column.codes[mask & column.present], return_counts=True)
    return {column.values[code]: int(count) for code, count in zip(codes, counts, strict=True)}


def _whereabouts(situation: Situation) -> tuple[str, ...]:
    """Return the zones of the selected nodes as evidence; nothing if they have none."""
    zones = sorted(_zones(situation.cluster.nodes, situation.selected).items())
    text = listed([f"{zone} ({counted(n, 'node')})" for zone, n in zones], most=_MOST_ZONES)
    return (f"the {'' if situation.selected.all() else 'selected '}nodes are in {text}",) if zones else ()
