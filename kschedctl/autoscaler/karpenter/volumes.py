"""The volumes of pods as Karpenter sees them: where they let a node be, and how many a node can hold."""

from collections.abc import Iterator, Mapping
from typing import Final

from kschedctl.autoscaler.requirements import Requirements, added, conflicts, of_expressions, requirement
from kschedctl.cluster.cluster import Cluster
from kschedctl.objects.pod import Pod
from kschedctl.objects.selectors import IN
from kschedctl.objects.volume import PersistentVolume, PersistentVolumeClaim, StorageClass
from kschedctl.objects.well_known import HOSTNAME
from kschedctl.scheduler.volumes.claims import BIND_COMPLETED, claim_uses
from kschedctl.scheduler.volumes.csi_nodes import driver_of

_EBS: Final = driver_of("kubernetes.io/aws-ebs")
#: Claims per CSI driver.
Attachments = Mapping[str, frozenset[str]]


class MissingObject(Exception):  # noqa: N818
    """An object that a volume of a pod needs does not exist; the text is Karpenter's."""


def claims_of(cluster: Cluster, pod: Pod) -> Iterator[tuple[str, PersistentVolumeClaim | None]]:
    """Yield the claims of a pod's volumes, also of ephemeral ones, by name; ``None`` for one that is missing."""
    for use in claim_uses(pod):
        yield use.claim, cluster.get(PersistentVolumeClaim, use.claim, pod.namespace)


def alternatives(cluster: Cluster, pod: Pod) -> list[Requirements]:
    """Return the requirements of each combination of places of a pod's volumes; empty if any node will do.

    Raises MissingObject if a claim, a volume or a class does not exist.
    """
    out: list[Requirements] = []
    for name, claim in claims_of(cluster, pod):
        if claim is None:
            raise MissingObject(f'persistentvolumeclaims "{name}" not found')
        places = _places(cluster, claim)
        if not places:
            continue
        pairs = [(one, other) for one in out or [{}] for other in places]
        compatible = [pair for pair in pairs if not conflicts(*pair)]
        out = [added(one, other.values()) for one, other in compatible or pairs]
    return out


def _places(cluster: Cluster, claim: PersistentVolumeClaim) -> list[Requirements]:
    """Return the terms of a claim's volume, or of its class if it is unbound."""
    if claim.spec.volume_name:
        return _places_of_volume(_volume(cluster, claim.spec.volume_name))
    if not claim.spec.storage_class_name:
        return []
    class_ = cluster.get(StorageClass, claim.spec.storage_class_name)
    if class_ is None:
        raise MissingObject(f'storageclasses.storage.k8s.io "{claim.spec.storage_class_name}" not found')
    terms = (term.match_label_expressions for term in class_.allowed_topologies)
    return [added({}, (requirement(each.key, IN, each.values) for each in term)) for term in terms if term]


def _places_of_volume(volume: PersistentVolume) -> list[Requirements]:
    affinity = volume.spec.node_affinity
    if affinity is None or affinity.required is None:
        return []
    out: list[Requirements] = []
    # The successor of a pod gets a new volume of this kind, on any node.
    moves = volume.spec.local is not None or volume.spec.host_path is not None
    for term in affinity.required.node_selector_terms:
        expressions = [each for each in term.match_expressions if not (moves and each.key == HOSTNAME)]
        if term.match_expressions and (expressions or moves):
            out.append(of_expressions(expressions))
    return out


def _volume(cluster: Cluster, name: str) -> PersistentVolume:
    volume = cluster.get(PersistentVolume, name)
    if volume is None:
        raise MissingObject(f'persistentvolumes "{name}" not found')
    return volume


def attachments(cluster: Cluster, pod: Pod) -> Attachments:
    """Return the claims of a pod by the CSI driver that attaches their volumes; missing claims are left out.

    Raises MissingObject if a claim is bound to a volume that does not exist.
    """
    out: dict[str, frozenset[str]] = {}
    for name, claim in claims_of(cluster, pod):
        driver = _driver(cluster, claim) if claim is not None else ""
        if driver:
            out[driver] = out.get(driver, frozenset()) | {f"{pod.namespace}/{name}"}
    return out


def _driver(cluster: Cluster, claim: PersistentVolumeClaim) -> str:
    if claim.spec.volume_name:
        spec = _volume(cluster, claim.spec.volume_name).spec
        return spec.csi.driver if spec.csi is not None else _EBS if spec.aws_elastic_block_store is not None else ""
    class_ = cluster.get(StorageClass, claim.spec.storage_class_name or "")
    return driver_of(class_.provisioner) if class_ is not None else ""


def claim_problem(cluster: Cluster, pod: Pod) -> str:
    """Return Karpenter's words for the first claim for which it does not look at the pod; empty if there is none."""
    for name, claim in claims_of(cluster, pod):
        if claim is None:
            missing = f'persistentvolumeclaims "{name}" not found'
            return f"getting persistent volume claim, {missing} (PersistentVolumeClaim={name})"
        problem = _problem(cluster, claim)
        if problem:
            return problem
    return ""


def _problem(cluster: Cluster, claim: PersistentVolumeClaim) -> str:
    key, volume, class_name = (
        f"{claim.namespace}/{claim.name}",
        claim.spec.volume_name,
        claim.spec.storage_class_name or "",
    )
    if claim.metadata.deletion_timestamp is not None:
        return f"persistentvolumeclaim is being deleted (PersistentVolumeClaim={key})"
    if claim.status.phase == "Lost":
        lost = "persistentvolumeclaim bound to non-existent persistentvolume"
        return f"{lost} (PersistentVolume={volume}, PersistentVolumeClaim={key})"
    of_claim = f"PersistentVolumeClaim={key}, StorageClass={class_name}"
    if volume:
        of_volume = f"(PersistentVolume={volume}, {of_claim})"
        found = cluster.get(PersistentVolume, volume)
        if found is None:
            return f'failed to validate pvc, persistentvolumes "{volume}" not found {of_volume}'
        if found.metadata.deletion_timestamp is not None:
            return f"failed to validate pvc, persistentvolume is being deleted {of_volume}"
        if BIND_COMPLETED not in claim.metadata.annotations:
            unbound = "pvc is considered unbound because it does not contain annotation"
            names = f"PersistentVolume={volume}, PersistentVolumeClaim={claim.name}, annotation={BIND_COMPLETED}"
            return f"{unbound} ({names})"
        return ""
    if not class_name:
        return f"unbound pvc must define a storage class ({of_claim})"
    class_ = cluster.get(StorageClass, class_name)
    if class_ is None:
        missing = f'storageclasses.storage.k8s.io "{class_name}" not found'
        return f"failed to validate pvc, failed to get storage class, {missing} ({of_claim})"
    if class_.volume_binding_mode == "Immediate":
        immediate = "pvc with immediate volume binding mode must be bound"
        return f"failed to validate pvc, {immediate} ({of_claim})"
    return ""
