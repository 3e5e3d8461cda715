"""A claim of the pod cannot be used: it does not exist, is being deleted, belongs to another pod, or lost its volume.

A pod names claims of its own namespace. A name that does not exist is a typing error, or the claim was never applied,
or it is in another namespace. The claims of a StatefulSet are created by its controller, and those of ephemeral volumes
by the ephemeral volume controller.

A claim without its volume ("Lost") has lost the reference to its data. Operators restore the PersistentVolume from the
disk, if it still exists, or the data from a backup.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kschedctl.cluster.cluster import Cluster
from kschedctl.common.wording import listed, similar
from kschedctl.diagnosis.diagnosis import Advice, Diagnosis
from kschedctl.diagnosis.rules.unbound_claim import is_of_template, rejected_by_volumes
from kschedctl.diagnosis.situation import Situation
from kschedctl.objects.volume import PersistentVolume, PersistentVolumeClaim
from kschedctl.scheduler.framework.remedy import Risk, delete_command
from kschedctl.scheduler.volumes.claims import ClaimUse, claim_uses, is_undecidable, not_owned


def check(situation: Situation) -> Iterator[Diagnosis]:
    """Yield the pod's claims that cannot be used."""
    if not rejected_by_volumes(situation):
        return
    for use in dict.fromkeys(claim_uses(situation.pod)):
        found = situation.cluster.get(PersistentVolumeClaim, use.claim, situation.pod.namespace)
        if found is None and situation.cluster.is_forbidden(PersistentVolumeClaim, situation.pod.namespace):
            continue
        if found is None:
            yield _uncreated(situation, use) if use.ephemeral else _missing(situation, use.claim)
        elif use.ephemeral and not_owned(found, situation.pod):
            yield _of_another(situation, use)
        elif found.metadata.deletion_timestamp is not None:
            yield _deleted(situation, found)
        elif not is_undecidable(situation.cluster, found) and _has_lost_volume(situation.cluster, found):
            yield from _lost(situation, found)


def _has_lost_volume(cluster: Cluster, claim: PersistentVolumeClaim) -> bool:
    name = claim.spec.volume_name
    return bool(name) and cluster.get(PersistentVolume, name) is None


def _missing(situation: Situation, name: str) -> Diagnosis:
    namespace = situation.pod.namespace
    every = list(situation.cluster.list(PersistentVolumeClaim))
    elsewhere = sorted(claim.namespace for claim in every if claim.name == name)
    near = similar(name, sorted(claim.name for claim in every if claim.namespace == namespace))
    cause = f"claim {name} does not exist in namespace {namespace}"
    if is_of_template(situation, name):
        kind, _, workload = situation.workload
        cause += f": {kind} {workload} has not created it"
    elif near:
        cause += f"; did you mean {listed(near, 'or', most=3)}"
    elif elsewhere:
        cause += f"; a claim of that name is in namespace {listed(elsewhere, most=3)}, where the pod cannot use it"
    elif not every:
        cause += ": the snapshot has no claims at all"
    return Diagnosis(
        rule="missing-claim",
        cause=cause,
        advice=(_how_to_create(situation, name),),
        checks=(f"kubectl get pvc -n {namespace}",),
    )


def _how_to_create(situation: Situation, name: str) -> Advice:
    kind, namespace, workload = situation.workload
    if is_of_template(situation, name):
        return Advice(
            summary=f"look at the events of {kind} {workload}, which creates claim {name}",
            risk=Risk.MISTAKE,
            untried="its controller creates the claim",
            command=f"kubectl describe {kind.lower()} -n {namespace} {workload}",
        )
    return Advice(
        summary=f"create claim {name} in namespace {namespace}",
        risk=Risk.POD,
        untried="its size and class are unknown",
        command=f"# apply a PersistentVolumeClaim {name} in namespace {namespace}",
    )


def _uncreated(situation: Situation, use: ClaimUse) -> Diagnosis:
    return Diagnosis(
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


def _of_another(situation: Situation, use: ClaimUse) -> Diagnosis:
    namespace = situation.pod.namespace
    return Diagnosis(
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


def _deleted(situation: Situation, claim: PersistentVolumeClaim) -> Diagnosis:
    cluster, namespace = situation.cluster, situation.pod.namespace
    users = [
        index
        for index in cluster.pods.assigned.tolist()
        if cluster.pods.records[index].metadata.namespace == namespace
        and any(use.claim == claim.name for use in claim_uses(cluster.pods.pod(index)))
    ]
    names = listed([cluster.pods.key(index) for index in users], most=3)
    kept = f": pod {names} still {'uses' if len(users) == 1 else 'use'} it" if users else ""
    again = "its StatefulSet creates it again" if is_of_template(situation, claim.name) else "then create it again"
    return Diagnosis(
        rule="claim-being-deleted",
        cause=f"claim {claim.name} is being deleted{kept}",
        advice=(
            *_retained(cluster, claim),
            _until_gone(situation, claim, users, again),
        ),
        checks=(f"kubectl describe pvc -n {namespace} {claim.name}",),
    )


def _until_gone(situation: Situation, claim: PersistentVolumeClaim, users: Sequence[int], again: str) -> Advice:
    """Return the advice to let the pods end that keep a claim which is being deleted, or to wait if they do."""
    pods = situation.cluster.pods
    running = [index for index in users if pods.records[index].metadata.deletion_timestamp is None]
    if not running:
        return Advice(
            summary=f"wait until claim {claim.name} is gone; {again}",
            risk=Risk.WAIT,
            untried="a deletion cannot be taken back",
        )
    keys = [pods.key(index) for index in running]
    owners = dict.fromkeys(situation.owner_of(index) for index in running if pods.owner(index) is not None)
    down = f", or scale {listed(list(owners), most=3)} down" if owners else ""
    return Advice(
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
