"""The claims that a pod cannot use: missing, in use, or waiting for their first consumer."""

from collections.abc import Iterator, Sequence
from datetime import timedelta
from functools import reduce
from typing import Any, Final

import numpy as np

from kschedctl.cluster.cluster import Cluster
from kschedctl.common.arrays import Mask
from kschedctl.common.wording import listed, similar
from kschedctl.controllers.workloads.ownership import workload_of
from kschedctl.diagnosis.diagnosis import VOLUME_TOPOLOGY, Advice, Diagnosis, Situation, all_rows
from kschedctl.diagnosis.node_health import silent_node_advice, since
from kschedctl.diagnosis.rules.storage_capacity import reports_none, reports_nothing, silent_driver
from kschedctl.diagnosis.rules.unbound_claims import (
    adapted_claim,
    creation_advice,
    diagnose_unbound,
    is_of_template,
    recreation_command,
    rejected_by_volumes,
    released,
    released_by_namesake,
    template_change,
    why_no_volume,
)
from kschedctl.diagnosis.rules.volumes import selection_text
from kschedctl.objects.selectors import SelectorError
from kschedctl.objects.volume import PersistentVolume, PersistentVolumeClaim
from kschedctl.objects.well_known import HOSTNAME
from kschedctl.objects.workload import Deployment
from kschedctl.scheduler.framework.remedy import Create, Remedy, delete_command, patched, remove_operation
from kschedctl.scheduler.framework.risk import RemedyScope, Risk
from kschedctl.scheduler.plugins.volume_restrictions import ClaimInUse
from kschedctl.scheduler.volumes.binder import Binder, FoundVolumes, ProvisionCheck
from kschedctl.scheduler.volumes.claims import (
    SELECTED_NODE,
    claim_class,
    claim_uses,
    group_claims,
    is_static,
    is_undecidable,
    not_owned,
    pod_claims,
    requested_storage,
    required_affinity,
    volume_class,
)
from kschedctl.scheduler.volumes.matching import capacities, show_storage, volume_limit
from kschedctl.scheduler.volumes.reasons import allowed_terms, show_terms


def missing_claim(situation: Situation) -> Iterator[Diagnosis]:
    """A claim of the pod cannot be used: it does not exist, is being deleted, belongs to another pod, or lost its volume.

    A pod names claims of its own namespace. A name that does not exist is a typing error, or the claim was never applied,
    or it is in another namespace. The claims of a StatefulSet are created by its controller, and those of ephemeral volumes
    by the ephemeral volume controller.

    A claim without its volume ("Lost") has lost the reference to its data. Operators restore the PersistentVolume from the
    disk, if it still exists, or the data from a backup.
    """
    # Yield the pod's claims that cannot be used.
    if not rejected_by_volumes(situation):
        return
    for use in dict.fromkeys(claim_uses(situation.pod)):
        found = situation.cluster.get(PersistentVolumeClaim, use.claim, situation.pod.namespace)
        if found is None and situation.cluster.is_forbidden(PersistentVolumeClaim, situation.pod.namespace):
            continue
        if found is None:
            yield (
                Diagnosis(
                    rule="ephemeral-claim-not-created",
                    cause=f"claim {use.claim} of the pod's ephemeral volume {use.volume} is not created yet",
                    evidence=("the ephemeral volume controller of kube-controller-manager creates it",),
                    advice=(
                        Advice(
                            summary="look at the pod's events, and at kube-controller-manager",
                            risk=Risk.WAIT,
                            untried="a controller creates the claim",
                            command=f"kubectl describe pod -n {situation.pod.namespace} {situation.pod.name}",
                        ),
                    ),
                    checks=(f"kubectl get events -n {situation.pod.namespace} --field-selector reason=FailedCreate",),
                )
                if use.ephemeral
                else _missing_claim_cause(situation, use.claim)
            )
        elif use.ephemeral and not_owned(found, situation.pod):
            namespace = situation.pod.namespace
            yield Diagnosis(
                rule="ephemeral-claim-of-another",
                cause=(
                    f"claim {use.claim} has the name that the pod's ephemeral volume {use.volume} needs, but was not created "
                    "for this pod"
                ),
                advice=(
                    Advice(
                        summary=f"rename the pod or its volume {use.volume}, or remove claim {use.claim} if nobody needs it",
                        risk=Risk.DATA,
                        untried="a controller then creates the claim of the pod",
                    ),
                ),
                checks=(f"kubectl get pvc -n {namespace} {use.claim} -o yaml",),
            )
        elif found.metadata.deletion_timestamp is not None:
            cluster, namespace = situation.cluster, situation.pod.namespace
            users = [
                index
                for index in cluster.pods.assigned.tolist()
                if cluster.pods.records[index].metadata.namespace == namespace
                and any(use.claim == found.name for use in claim_uses(cluster.pods.pod(index)))
            ]
            names = listed([cluster.pods.key(index) for index in users], most=3)
            kept = f": pod {names} still {'uses' if len(users) == 1 else 'use'} it" if users else ""
            if not users and _is_overdue(cluster, found):
                kept = f"{since(found.metadata.deletion_timestamp)}, although no pod on a node uses it: a finalizer keeps it"
            again = (
                "its StatefulSet creates it again" if is_of_template(situation, found.name) else "then create it again"
            )
            yield Diagnosis(
                rule="claim-being-deleted",
                cause=f"claim {found.name} is being deleted{kept}",
                advice=(*_retained(cluster, found), *_until_gone(situation, found, users, again)),
                checks=(f"kubectl describe pvc -n {namespace} {found.name}",),
            )
        elif (
            not is_undecidable(situation.cluster, found)
            and (name := found.spec.volume_name)
            and situation.cluster.get(PersistentVolume, name) is None
        ):
            yield from _lost(situation, found)
        elif found.status.phase == "Lost" and found.spec.volume_name:
            # The volume exists, and belongs to another claim, or to an earlier one of the same name.
            yield from diagnose_unbound(situation.cluster, [found])


def _missing_claim_cause(situation: Situation, name: str) -> Diagnosis:
    kind, namespace, workload = situation.workload
    every = list(situation.cluster.list(PersistentVolumeClaim))
    elsewhere = sorted(claim.namespace for claim in every if claim.name == name)
    near = similar(name, sorted(claim.name for claim in every if claim.namespace == namespace))
    cause = f"claim {name} does not exist in namespace {namespace}"
    advice = Advice(
        summary=f"create claim {name} in namespace {namespace}",
        risk=Risk.POD,
        untried="its size and class are unknown",
        command=f"# apply a PersistentVolumeClaim {name} in namespace {namespace}",
    )
    if is_of_template(situation, name):
        advice = Advice(
            summary=f"look at the events of {kind} {workload}, which creates claim {name}",
            risk=Risk.MISTAKE,
            untried="its controller creates the claim",
            command=f"kubectl describe {kind.lower()} -n {namespace} {workload}",
        )
        cause += f": {kind} {workload} has not created it"
    elif near:
        cause += f"; did you mean {listed(near, 'or', most=3)}"
    elif elsewhere:
        cause += f"; a claim of that name is in namespace {listed(elsewhere, most=3)}, where the pod cannot use it"
    elif not every:
        cause += ": the snapshot has no claims at all"
    checks = (f"kubectl get pvc -n {namespace}",)
    return Diagnosis(rule="missing-claim", cause=cause, advice=(advice,), checks=checks)


#: The finalizer of a claim that a pod on a node uses.
_PROTECTION: Final = "kubernetes.io/pvc-protection"
#: A claim that no pod uses is gone within seconds; this leaves time for a slow controller.
_OVERDUE: Final = timedelta(minutes=5)
_UNREACHABLE: Final = "node.kubernetes.io/unreachable"


def _is_overdue(cluster: Cluster, claim: PersistentVolumeClaim) -> bool:
    """Report whether a claim has been deleted for longer than its controllers need."""
    deleted, now = claim.metadata.deletion_timestamp, cluster.taken_at
    return deleted is not None and now is not None and now - deleted > _OVERDUE


def _until_gone(
    situation: Situation, claim: PersistentVolumeClaim, users: Sequence[int], again: str
) -> Iterator[Advice]:
    """Yield the advice to let the pods end that keep a claim which is being deleted, or to wait if they do."""
    pods, nodes = situation.cluster.pods, situation.cluster.nodes
    lost = [
        pods.records[index].node_name
        for index in users
        if (row := nodes.row.get(pods.records[index].node_name)) is not None
        and any(taint.key == _UNREACHABLE for taint in nodes.objects[row].spec.taints)
    ]
    if lost:
        # Its kubelet cannot confirm that the pod has ended.
        yield from silent_node_advice(lost[0], f"get {lost[0]} back; its pods then end, and claim {claim.name} is gone")
        return
    running = [index for index in users if pods.records[index].metadata.deletion_timestamp is None]
    if not users and _is_overdue(situation.cluster, claim):
        yield Advice(
            summary=f"look at the finalizers of claim {claim.name}: a snapshot or clone of it that does not end, or "
            f"kube-controller-manager, which takes {_PROTECTION} off; {again}",
            risk=Risk.MISTAKE,
            untried="controllers take the finalizers off",
            command=f"kubectl get pvc -n {claim.namespace} {claim.name} -o jsonpath='{{.metadata.finalizers}}'",
        )
    elif not running:
        yield Advice(
            summary=f"wait until claim {claim.name} is gone; {again}",
            risk=Risk.WAIT,
            untried="a deletion cannot be taken back",
        )
    if not running:
        return
    keys = [pods.key(index) for index in running]
    owners = dict.fromkeys(situation.owner_of(index) for index in running if pods.owner(index) is not None)
    down = f", or scale {listed(list(owners), most=3)} down" if owners else ""
    yield Advice(
        summary=f"let pod {listed(keys, most=3)} end{down}: only then claim {claim.name} is gone; {again}",
        risk=Risk.EVICTION,
        untried="it is up to you whether the pod may end, and a deletion cannot be taken back",
        command=delete_command(keys) if not owners else "",
    )


def _retained(cluster: Cluster, claim: PersistentVolumeClaim) -> Iterator[Advice]:
    """Yield the advice to keep the volume of a claim that is being deleted, if it would be deleted with its claim."""
    volume = cluster.get(PersistentVolume, claim.spec.volume_name) if claim.spec.volume_name else None
    if volume is not None and volume.spec.persistent_volume_reclaim_policy == "Delete":
        patch = '{"spec":{"persistentVolumeReclaimPolicy":"Retain"}}'
        yield Advice(
            summary=f"if the data is needed: set reclaim policy Retain in volume {volume.name} at once",
            risk=Risk.WAIT,
            untried="the volume and its data are deleted with the claim otherwise",
            command=f"kubectl patch pv {volume.name} -p '{patch}'",
        )


def _lost(situation: Situation, claim: PersistentVolumeClaim) -> Iterator[Diagnosis]:
    if next(iter(situation.cluster.list(PersistentVolume)), None) is None and claim.status.phase != "Lost":
        # The snapshot has no volumes at all: they were not captured.
        return
    volume, namespace = claim.spec.volume_name, situation.pod.namespace
    yield Diagnosis(
        rule="volume-is-gone",
        cause=f"claim {claim.name} is bound to volume {volume}, which does not exist",
        advice=(
            Advice(
                summary=f"if the disk still exists: create PersistentVolume {volume} for it again, with its claimRef",
                risk=Risk.SHARED,
                untried="the snapshot does not contain the disk",
                command=f"# apply PersistentVolume {volume} with the disk's handle, claimRef {namespace}/{claim.name}",
            ),
            Advice(
                summary=f"else recreate claim {claim.name} and restore a backup",
                risk=Risk.DATA,
                untried="the data is lost with the disk",
                command=f"kubectl delete pvc -n {namespace} {claim.name}",
            ),
        ),
        checks=(f"kubectl describe pvc -n {namespace} {claim.name}",),
    )


def claim_in_use(situation: Situation) -> Iterator[Diagnosis]:
    """A ReadWriteOncePod claim of the pod is used by another pod, and only one pod of the cluster can use it at a time.

    The other pod must end first. In a rolling update, it is the old pod of the same workload: the new one waits for it, and
    it waits for the new one, so that Deployments with such a claim need strategy Recreate. If several pods are meant to
    share the data, they need a claim with ReadWriteMany.
    """
    # Yield the claim that another pod uses, if it rules out all selected nodes.
    rejected = situation.rejected_by("VolumeRestrictions")
    if not situation.filtered or not rejected.any() or (situation.selected & ~rejected).any():
        return
    operands = situation.operands(all_rows(rejected)[0], "VolumeRestrictions")
    for one in operands:
        if isinstance(one, ClaimInUse):
            cluster, pod = situation.cluster, situation.pod
            namespace, _, name = one.pod.partition("/")
            record = cluster.pods.records[cluster.pods.index[namespace, name]]
            workload = workload_of(cluster, record.metadata)
            owner = f" ({workload[0]} {workload[1]}/{workload[2]})" if workload[0] != "Pod" else ""
            ending = record.metadata.deletion_timestamp is not None
            same = workload[0] != "Pod" and workload == situation.workload
            if ending:
                first = Advice(
                    summary=f"wait until pod {one.pod} has ended on {record.node_name}",
                    risk=Risk.WAIT,
                    untried="it is terminating",
                    command=f"kubectl describe pod -n {namespace} {name}",
                )
            elif same and workload[0] == Deployment.__name__:
                first = Advice(
                    summary=f"set strategy Recreate in Deployment {workload[2]}: the old pod then ends first",
                    risk=Risk.POD,
                    untried="the Deployment controller deletes the old pod",
                    command=f"kubectl patch deployment -n {namespace} {workload[2]} -p '{_RECREATE}'",
                )
            else:
                first = Advice(
                    summary=f"let pod {one.pod} end first{f', or scale {workload[0]} {workload[2]} down' if owner else ''}",
                    risk=Risk.EVICTION,
                    untried="it is up to you which of them may use the claim",
                    command=f"kubectl delete pod -n {namespace} {name}" if not owner else "",
                )
            state = "is terminating and still uses it" if ending else "uses it"
            yield Diagnosis(
                rule="claim-in-use",
                cause=(
                    f"claim {one.claim} is ReadWriteOncePod, for one pod at a time, and pod {name}{owner} on "
                    f"{record.node_name} {state}"
                ),
                advice=(
                    first,
                    Advice(
                        summary="if both pods need the data: move it to a claim with ReadWriteMany, in a class that offers it",
                        risk=Risk.DATA,
                        untried="the access modes of a claim cannot be changed, so the data must be copied",
                    ),
                ),
                checks=(f"kubectl get pvc -n {pod.namespace} {one.claim} -o yaml",),
            )


_RECREATE = '{"spec":{"strategy":{"type":"Recreate","rollingUpdate":null}}}'


#: A new volume is tried on at most this many nodes; at most this many nodes are named.
_MOST_NODES: Final = 2
_NAMED: Final = 3


def waiting_claim(situation: Situation) -> Iterator[Diagnosis]:
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
    # Yield the waiting claims that get a volume on no selected node.
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
        node = claim.metadata.annotations[SELECTED_NODE]
        row = situation.cluster.nodes.row.get(node)
        if row is not None and situation.selected[row]:
            continue
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
    for provision in found.provisions:
        possible = ~provision.needed
        if not provision.provisioning.unsupported:
            possible |= provision.provisioning.allowed & provision.provisioning.enough
        if (left & ~found.selected_elsewhere).any() and not (possible & left).any():
            yield _impossible(situation, found, provision)


def _impossible(situation: Situation, found: FoundVolumes, check: ProvisionCheck) -> Diagnosis:
    """Return the diagnosis of a claim that neither finds a volume nor gets one provisioned on a selected node."""
    if is_static(check.provisioning.storage_class):
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
            advice=(
                *adapted_claim(cluster, claim),
                *released(cluster, claim),
                *(() if new else (creation_advice(claim),)),
            ),
            checks=("kubectl get pv", f"kubectl describe pvc -n {claim.namespace} {claim.name}"),
        )
    if not (check.provisioning.allowed & check.needed & situation.selected).any():
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
    without = check.needed & check.provisioning.allowed & situation.selected & ~check.provisioning.enough
    if reports_none(situation, check, without):
        return silent_driver(situation, check, without)
    return _too_large(situation, check)


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
        yield Remedy(
            summary=f"create {what}",
            scope=RemedyScope.CLUSTER,
            changes=(
                Create(
                    {
                        "apiVersion": "v1",
                        "kind": "PersistentVolume",
                        "metadata": {"name": f"{claim.namespace}-{claim.name}", "labels": dict(labels)},
                        "spec": spec,
                        "status": {"phase": "Available"},
                    }
                ),
            ),
            risk=Risk.CAPACITY,
            family="volume",
            within=float(i),
            once=True,
            command=f"# apply a PersistentVolume: {what}",
        )


def _too_large(situation: Situation, check: ProvisionCheck) -> Diagnosis:
    claim, name = check.claim, check.provisioning.storage_class.name
    wanted = show_storage(requested_storage(claim) or 0)
    limits = [limit for each in capacities(situation.cluster, name) if (limit := volume_limit(each)) is not None]
    most = f"at most {show_storage(max(limits))} anywhere" if limits else "nothing, as no capacity is reported"
    where = _and_there(situation, check.provisioning.enough, "no node has as much")
    first, _ = template_change(situation.cluster, claim)
    smaller = (
        Advice(
            summary=f"{first}recreate claim {claim.name} with a request of {show_storage(max(limits))} or less",
            risk=Risk.REDUCED,
            untried="the claim has no volume, so no data is lost",
            command=recreation_command(situation.cluster, [claim], "then apply the manifest with the smaller request"),
        ),
    )
    unreported = check.needed & check.provisioning.allowed & situation.selected & reports_nothing(situation, check)
    silent = silent_driver(situation, check, unreported) if unreported.any() else None
    more = Advice(
        summary=f"add storage for class {name} on a node, or delete volumes there that nobody needs",
        risk=Risk.CAPACITY,
        untried="the driver then reports more capacity",
        command=f"kubectl get csistoragecapacities -A | grep {name}",
    )
    return Diagnosis(
        rule="no-storage-capacity",
        cause=f"claim {claim.name} wants {wanted}, class {name} can provision {most}, and {where}"
        f"{f'; {silent.cause}' if silent is not None else ''}",
        evidence=("by the CSIStorageCapacity objects of the driver",),
        advice=(*(silent.advice if silent is not None else ()), more, *(smaller if limits and max(limits) > 0 else ())),
        checks=("kubectl get csistoragecapacities -A",),
    )


def _and_there(situation: Situation, nodes: Mask, none: str) -> str:
    names = situation.names(nodes)
    return f"{_excluding(situation, nodes)} {listed(names, most=_NAMED)}" if names else none


def _excluding(situation: Situation, nodes: Mask) -> str:
    """Return the fields that exclude the nodes where a claim could be, as subject and verb."""
    chosen = (nodes & situation.selected).any()
    return f"{'another volume of the pod' if chosen else selection_text(situation)} excludes"
