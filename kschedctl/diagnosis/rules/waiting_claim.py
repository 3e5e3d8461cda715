"""A claim that waits for its first consumer gets a volume on none of the nodes that the pod selects.

For such a claim the scheduler looks for a free volume, or for a node for which the class provisions one. The rule
applies if a claim rules out all selected nodes:

- The claim has been given to a node that is gone (annotation ``volume.kubernetes.io/selected-node``). Operators remove
  the annotation, and the scheduler chooses again.
- The class has no provisioner, and no volume matches, or none of those that match is reachable. Operators create a
  volume, or free one that a deleted claim has left.
- The class provisions only in zones without selected nodes (``allowedTopologies``).
- No node's storage is large enough, as the driver reports it (CSIStorageCapacity).
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import reduce
from typing import Any, Final

import numpy as np

from kschedctl.common.arrays import Mask
from kschedctl.common.wording import listed
from kschedctl.diagnosis.claim_classes import template_change
from kschedctl.diagnosis.claims import (
    adapted_claim,
    creation_advice,
    released,
    released_by_namesake,
    why_no_volume,
)
from kschedctl.diagnosis.diagnosis import Advice, Diagnosis
from kschedctl.diagnosis.situation import VOLUME_TOPOLOGY, Situation, all_rows
from kschedctl.diagnosis.volume_places import selection_text
from kschedctl.objects.selectors import SelectorError
from kschedctl.objects.volume import PersistentVolume, PersistentVolumeClaim
from kschedctl.objects.well_known import HOSTNAME
from kschedctl.scheduler.framework.remedy import Create, Remedy, RemedyScope, Risk, patched, remove_operation
from kschedctl.scheduler.volumes.binder import Binder, FoundVolumes, ProvisionCheck
from kschedctl.scheduler.volumes.claims import (
    SELECTED_NODE,
    claim_class,
    group_claims,
    is_static,
    pod_claims,
    requested_storage,
    required_affinity,
    volume_class,
)
from kschedctl.scheduler.volumes.matching import capacities, show_storage, volume_limit
from kschedctl.scheduler.volumes.reasons import allowed_terms, show_terms

#: A new volume is tried on at most this many nodes; at most this many nodes are named.
_MOST_NODES: Final = 2
_NAMED: Final = 3


def check(situation: Situation) -> Iterator[Diagnosis]:
    """Yield the waiting claims that get a volume on no selected node."""
    if not situation.filtered or situation.in_reach.any() or not situation.selected.any():
        return
    claims = group_claims(situation.cluster, pod_claims(situation.cluster, situation.pod))
    if not claims.delayed:
        return
    try:
        found = Binder(situation.cluster).find_pod_volumes(claims)
    except SelectorError:
        return
    left = reduce(np.logical_and, (bound.reachable for bound in found.bound), situation.selected)
    for claim in {claim.name: claim for claim in found.selected}.values():
        yield from _given_to_node(situation, claim)
    for provision in found.provisions:
        possible = ~provision.needed
        if not provision.provisioning.unsupported:
            possible |= provision.provisioning.allowed & provision.provisioning.enough
        if (left & ~found.selected_elsewhere).any() and not (possible & left).any():
            yield _impossible(situation, found, provision)


def _given_to_node(situation: Situation, claim: PersistentVolumeClaim) -> Iterator[Diagnosis]:
    node = claim.metadata.annotations[SELECTED_NODE]
    row = situation.cluster.nodes.row.get(node)
    if row is not None and situation.selected[row]:
        return
    why = "which is gone" if row is None else f"which {selection_text(situation)} excludes"
    yield Diagnosis(
        rule="stale-selected-node",
        cause=f"claim {claim.name} waits for its volume on node {node}, {why} (annotation {SELECTED_NODE})",
        evidence=("the scheduler chose the node before; it chooses again if the annotation is removed",),
        remedies=(
            Remedy(
                summary=f"remove annotation {SELECTED_NODE} of claim {claim.name}",
                scope=RemedyScope.CLUSTER,
                changes=(patched(claim, remove_operation("metadata", "annotations", SELECTED_NODE)),),
                risk=Risk.MISTAKE if row is None else Risk.SHARED,
                family="selected node",
                command=f"kubectl annotate pvc -n {claim.namespace} {claim.name} {SELECTED_NODE}-",
            ),
        ),
        checks=(f"kubectl describe pvc -n {claim.namespace} {claim.name}",),
    )


def _impossible(situation: Situation, found: FoundVolumes, check: ProvisionCheck) -> Diagnosis:
    """Return the diagnosis of a claim that neither finds a volume nor gets one provisioned on a selected node."""
    if is_static(check.provisioning.storage_class):
        return _no_free_volume(situation, found, check)
    if not (check.provisioning.allowed & check.needed & situation.selected).any():
        return _other_topology(situation, check)
    return _too_large(situation, check)


def _no_free_volume(situation: Situation, found: FoundVolumes, check: ProvisionCheck) -> Diagnosis:
    claim, cluster = check.claim, situation.cluster
    start = f"claim {claim.name} wants a volume of class {claim_class(claim)}, which has no provisioner, and "
    matching = next((match.candidates for match in found.matches if match.claim is claim), ())
    there = ~check.needed & ~found.selected_elsewhere
    if there.any():
        nodes = listed(situation.names(there), most=_NAMED)
        why = f"the free volumes are on {nodes}, which {_excluding(situation, there)}"
    elif matching:
        names = listed([volume.name for volume in matching], most=_NAMED)
        why = f"no node that is left can use {names}, which would match"
    else:
        why = why_no_volume(cluster, claim)
    new = tuple(_new_volumes(situation, claim))
    return Diagnosis(
        rule="no-free-volume",
        cause=start + why,
        remedies=(*released_by_namesake(cluster, claim), *new),
        advice=(*adapted_claim(cluster, claim), *released(cluster, claim), *(() if new else (creation_advice(claim),))),
        checks=("kubectl get pv", f"kubectl describe pvc -n {claim.namespace} {claim.name}"),
    )


def _new_volumes(situation: Situation, claim: PersistentVolumeClaim) -> Iterator[Remedy]:
    """Yield the creation of a volume for a claim: on a node that only lacks the volume, or for all nodes."""
    cluster, name = situation.cluster, claim_class(claim)
    others = [volume for volume in cluster.list(PersistentVolume) if volume_class(volume) == name]
    shared = bool(others) and all(required_affinity(volume) is None for volume in others)
    filters = [plugin for plugin in situation.rejected if plugin not in VOLUME_TOPOLOGY]
    rows = all_rows(situation.selected & ~situation.rejected_by(*filters))
    size = show_storage(requested_storage(claim) or 0)
    for i, row in enumerate([-1] if shared else rows[:_MOST_NODES]):
        node = cluster.nodes.objects[row] if row >= 0 else None
        hostname = node.metadata.labels.get(HOSTNAME, node.name) if node is not None else ""
        where = f" on {node.name}" if node is not None else ""
        what = f"a volume of {size} with class {name} for claim {claim.name}{where}"
        yield Remedy(
            summary=f"create {what}",
            scope=RemedyScope.CLUSTER,
            changes=(Create(_volume_for(claim, hostname)),),
            risk=Risk.CAPACITY,
            family="volume",
            within=float(i),
            once=True,
            command=f"# apply a PersistentVolume: {what}",
        )


def _volume_for(claim: PersistentVolumeClaim, hostname: str) -> dict[str, Any]:
    """Return the manifest of a volume that satisfies a claim, on one node or, without a name, on all."""
    spec: dict[str, Any] = {
        "capacity": {"storage": str(claim.spec.resources.requests.get("storage", "1Gi"))},
        "accessModes": list(claim.spec.access_modes),
        "storageClassName": claim_class(claim),
        "volumeMode": claim.spec.volume_mode,
    }
    if hostname:
        expression = {"key": HOSTNAME, "operator": "In", "values": [hostname]}
        spec["nodeAffinity"] = {"required": {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}}
    labels = claim.spec.selector.match_labels if claim.spec.selector is not None else {}
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": f"{claim.namespace}-{claim.name}", "labels": dict(labels)},
        "spec": spec,
        "status": {"phase": "Available"},
    }


def _other_topology(situation: Situation, check: ProvisionCheck) -> Diagnosis:
    storage_class, allowed = check.provisioning.storage_class, check.provisioning.allowed
    where = show_terms(allowed_terms(storage_class.allowed_topologies))
    but = _and_there(situation, allowed, "no node has that")
    first, _ = template_change(situation.cluster, check.claim)
    return Diagnosis(
        rule="provisioned-elsewhere",
        cause=(
            f"class {storage_class.name} provisions the volume of claim {check.claim.name} only for {where}, and {but}"
        ),
        evidence=("allowedTopologies of the class",),
        advice=(
            Advice(
                summary=f"{first}recreate claim {check.claim.name} with a class that provisions where the nodes are",
                risk=Risk.POD,
                untried="the claim has no volume, so no data is lost",
                command=f"kubectl get storageclass {storage_class.name} -o yaml  # its allowedTopologies",
            ),
            Advice(
                summary=f"add a node with {where}",
                risk=Risk.CAPACITY,
                untried="the snapshot has no such node, or the pod cannot use it",
            ),
        ),
        checks=(f"kubectl get storageclass {storage_class.name} -o yaml",),
    )


def _too_large(situation: Situation, check: ProvisionCheck) -> Diagnosis:
    claim, name = check.claim, check.provisioning.storage_class.name
    wanted = show_storage(requested_storage(claim) or 0)
    limits = [limit for each in capacities(situation.cluster, name) if (limit := volume_limit(each)) is not None]
    most = f"at most {show_storage(max(limits) * 10**9)} anywhere" if limits else "nothing, as no capacity is reported"
    where = _and_there(situation, check.provisioning.enough, "no node has as much")
    return Diagnosis(
        rule="no-storage-capacity",
        cause=f"claim {claim.name} wants {wanted}, class {name} can provision {most}, and {where}",
        evidence=("by the CSIStorageCapacity objects of the driver",),
        checks=("kubectl get csistoragecapacities -A",),
    )


def _and_there(situation: Situation, nodes: Mask, none: str) -> str:
    names = situation.names(nodes)
    return f"{_excluding(situation, nodes)} {listed(names, most=_NAMED)}" if names else none


def _excluding(situation: Situation, nodes: Mask) -> str:
    """Return the fields that exclude the nodes where a claim could be, as subject and verb."""
    chosen = (nodes & situation.selected).any()
    return f"{'another volume of the pod' if chosen else selection_text(situation)} excludes"
