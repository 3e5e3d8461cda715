"""The cures that give claims another class: it is set where there is none, else the claims are recreated."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from kschedctl.cluster.cluster import Cluster
from kschedctl.cluster.default_storage_class import BETA_STORAGE_CLASS, default_storage_class, has_class
from kschedctl.common.wording import listed, similar
from kschedctl.diagnosis.diagnosis import Advice
from kschedctl.objects.volume import PersistentVolumeClaim, StorageClass
from kschedctl.objects.workload import StatefulSet
from kschedctl.scheduler.framework.remedy import (
    Operation,
    Remedy,
    RemedyScope,
    Risk,
    add_operation,
    patched,
    remove_operation,
)
from kschedctl.scheduler.volumes.claims import WAIT_FOR_FIRST_CONSUMER, claim_class, is_static

#: At most this many classes are proposed for a claim.
_MOST_CLASSES: Final = 3


def template_change(cluster: Cluster, claim: PersistentVolumeClaim) -> tuple[str, str]:
    """Return what comes before a claim is recreated with other fields, as words and as a command; empty for nothing.

    A StatefulSet creates the claims of its ``volumeClaimTemplates`` again as they were. These cannot be changed in
    place.
    """
    for each in cluster.list(StatefulSet):
        set_name, _, ordinal = claim.name.rpartition("-")
        names = [f"{template.name}-{each.name}" for template in each.spec.volume_claim_templates]
        if each.namespace == claim.namespace and set_name in names and ordinal.isdigit():
            return (
                f"change volumeClaimTemplates of StatefulSet {each.namespace}/{each.name} (recreate it with "
                "--cascade=orphan), then ",
                f"kubectl delete statefulset -n {each.namespace} {each.name} --cascade=orphan && ",
            )
    return "", ""


def recreation_command(cluster: Cluster, claims: Sequence[PersistentVolumeClaim], then: str) -> str:
    """Return the command that deletes claims of one namespace, with a comment about the manifest to apply next."""
    first = "".join(dict.fromkeys(template_change(cluster, claim)[1] for claim in claims))
    return f"{first}kubectl delete pvc -n {claims[0].namespace} {' '.join(claim.name for claim in claims)}  # {then}"


def other_classes(cluster: Cluster, claims: Sequence[PersistentVolumeClaim]) -> Iterator[Remedy]:
    """Yield the change of the claims' class to one that waits for the first consumer, so that it can be tried."""
    for i, storage_class in enumerate(_candidates(cluster, claims, waits=True)):
        yield Remedy(
            summary=_change_of_class(cluster, claims, storage_class.name),
            scope=RemedyScope.CLUSTER,
            changes=tuple(patched(claim, *_set_class(claim, storage_class.name)) for claim in claims),
            risk=Risk.MISTAKE,
            family="storage class",
            within=float(i),
            command=_command_for_class(cluster, claims, storage_class.name),
        )


def other_immediate_classes(cluster: Cluster, claims: Sequence[PersistentVolumeClaim]) -> Iterator[Advice]:
    """Yield the change to a class that provisions at once, if there is none that waits; it cannot be tried."""
    waiting = any(True for _ in _candidates(cluster, claims, waits=True))
    for storage_class in list(_candidates(cluster, claims, waits=False))[: 0 if waiting else 1]:
        yield Advice(
            summary=_change_of_class(cluster, claims, storage_class.name),
            risk=Risk.MISTAKE,
            untried=f"provisioner {storage_class.provisioner} creates the volume at once",
            command=_command_for_class(cluster, claims, storage_class.name),
        )


def _candidates(cluster: Cluster, claims: Sequence[PersistentVolumeClaim], *, waits: bool) -> Iterator[StorageClass]:
    """Yield classes with a provisioner, at most 3: those of a similar name first, then the default class."""
    name, default = claim_class(claims[0]), default_storage_class(cluster)
    usable = [
        one
        for one in cluster.list(StorageClass)
        if not is_static(one) and (one.volume_binding_mode == WAIT_FOR_FIRST_CONSUMER) == waits
    ]
    likely = similar(name, [one.name for one in usable]) if name else []
    usable.sort(key=lambda one: (one.name not in likely, default is None or one.name != default.name, one.name))
    yield from usable[:_MOST_CLASSES]


def _change_of_class(cluster: Cluster, claims: Sequence[PersistentVolumeClaim], name: str) -> str:
    if has_class(claims[0]):
        if first := "".join(dict.fromkeys(template_change(cluster, claim)[0] for claim in claims)):
            return f"{first}recreate {subject(claims)} with class {name}"
        return f"recreate {subject(claims)} with class {name}: the class of a claim cannot be changed"
    return f"set storageClassName {name} in {subject(claims)}"


def _command_for_class(cluster: Cluster, claims: Sequence[PersistentVolumeClaim], name: str) -> str:
    namespace, names = claims[0].namespace, " ".join(claim.name for claim in claims)
    if has_class(claims[0]):
        then = f"then apply the manifest with storageClassName: {name}; there is no volume yet, so no data is lost"
        return recreation_command(cluster, claims, then)
    return f'kubectl patch pvc -n {namespace} {names} -p \'{{"spec":{{"storageClassName":"{name}"}}}}\''


def _set_class(claim: PersistentVolumeClaim, name: str) -> Iterator[Operation]:
    if BETA_STORAGE_CLASS in claim.metadata.annotations:
        yield remove_operation("metadata", "annotations", BETA_STORAGE_CLASS)
    yield add_operation(name, "spec", "storageClassName")


def subject(claims: Sequence[PersistentVolumeClaim]) -> str:
    """Return claims as the subject of a sentence."""
    names = listed([claim.name for claim in claims])
    return f"claim {names}" if len(claims) == 1 else f"claims {names}"
