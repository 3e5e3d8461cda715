"""What a snapshot does not have although the answer for a pod would depend on it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from kschedctl.admission.priority import priority_class
from kschedctl.api.classes import RuntimeClass
from kschedctl.api.core import Namespace
from kschedctl.api.meta import ApiObject
from kschedctl.api.pod import Pod, PodAffinityTerm, PodSpec
from kschedctl.api.storage import StorageClass
from kschedctl.api.volume import PersistentVolume, PersistentVolumeClaim
from kschedctl.api.workload import ReplicaSet, ReplicationController, StatefulSet
from kschedctl.cluster.cluster import Cluster
from kschedctl.findings.finding import Finding, ObjectRef, Severity

_CONTROLLERS: dict[str, type[ApiObject]] = {
    "ReplicaSet": ReplicaSet,
    "StatefulSet": StatefulSet,
    "ReplicationController": ReplicationController,
}


@dataclass(frozen=True, slots=True)
class Missing(Finding):
    """A kind or object that is missing: ``object`` is what is missing, ``problem`` why the pod needs it.

    Attributes
    ----------
    effect : str
        What that means for the answer.
    """

    effect: str = ""

    @property
    def kind(self) -> str:
        """The kind of what is missing."""
        return self.object.kind if self.object is not None else ""

    @property
    def needed_for(self) -> str:
        """Why the pod needs it."""
        return self.problem

    def __str__(self) -> str:
        return f"{self.problem}: {self.effect}"


def _missing(kind: str, needed_for: str, effect: str) -> Missing:
    return Missing(needed_for, object=ObjectRef(kind), rule="Missing", severity=Severity.WARNING, effect=effect)


def find_missing(cluster: Cluster, pod: Pod) -> tuple[Missing, ...]:
    """Everything that is missing for the answer for a pod.

    Parameters
    ----------
    cluster : Cluster
        The cluster.
    pod : Pod
        The pod to place, defaulted but not admitted.
    """
    return (
        *not_read(cluster),
        *_counted(cluster),
        *_classes(cluster, pod),
        *_claims(cluster, pod),
        *_groups(cluster, pod),
    )


#: What becomes of an answer without something that was not read.
NOT_COUNTED: Final = "what it holds does not count"


def not_read(cluster: Cluster) -> tuple[Missing, ...]:
    """What looks like part of the cluster and was not read: any answer may depend on it."""
    return tuple(_missing(lack.kind, lack.what, NOT_COUNTED) for lack in cluster.unread)


def _has(cluster: Cluster, kind: type[ApiObject]) -> bool:
    return next(iter(cluster.list(kind)), None) is not None


def _counted(cluster: Cluster) -> Iterator[Missing]:
    if not len(cluster.nodes):
        yield _missing("Node", "the snapshot has no nodes", "no pod fits anywhere")
    elif not len(cluster.pods):
        yield _missing("Pod", "the snapshot has no pods", "all nodes count as empty")


def _classes(cluster: Cluster, pod: Pod) -> Iterator[Missing]:
    spec = pod.spec
    name = spec.priority_class_name
    if name and spec.priority is None and priority_class(cluster, name) is None:
        needed = f"the pod names PriorityClass {name} and the snapshot has no priority classes"
        yield _missing("PriorityClass", needed, "its priority counts as 0")
    runtime = spec.runtime_class_name
    if runtime and cluster.get(RuntimeClass, runtime) is None and not spec.overhead:
        yield _missing(
            "RuntimeClass",
            f"the pod names RuntimeClass {runtime}, which the snapshot does not have",
            "its overhead, node selector and tolerations are not counted",
        )


def _claims(cluster: Cluster, pod: Pod) -> Iterator[Missing]:
    names = [v.persistent_volume_claim.claim_name for v in pod.spec.volumes if v.persistent_volume_claim is not None]
    if not names:
        return
    if not _has(cluster, PersistentVolumeClaim):
        yield _missing(
            "PersistentVolumeClaim",
            f"the pod uses PersistentVolumeClaim {', '.join(names)} and the snapshot has no claims",
            "they count as not found",
        )
        return
    claims = (cluster.get(PersistentVolumeClaim, name, pod.metadata.namespace) for name in names)
    yield from missing_for_claims(cluster, [claim for claim in claims if claim is not None])


def missing_for_claims(cluster: Cluster, claims: Sequence[PersistentVolumeClaim]) -> Iterator[Missing]:
    """Everything that is missing for the answer for some claims.

    Parameters
    ----------
    cluster : Cluster
        The cluster.
    claims : sequence of PersistentVolumeClaim
        Claims of the cluster.
    """
    bound = [claim.name for claim in claims if claim.spec.volume_name]
    if bound and not _has(cluster, PersistentVolume):
        yield _missing(
            "PersistentVolume",
            f"PersistentVolumeClaim {', '.join(bound)} is bound and the snapshot has no volumes",
            "where they can be reached is not known",
        )
    waiting = [claim.name for claim in claims if not claim.spec.volume_name]
    if waiting and not _has(cluster, StorageClass):
        yield _missing(
            "StorageClass",
            f"PersistentVolumeClaim {', '.join(waiting)} is not bound and the snapshot has no storage classes",
            "whether a volume can be made for it is not known",
        )


def _groups(cluster: Cluster, pod: Pod) -> Iterator[Missing]:
    """What groups pods: namespaces by their labels, and the controllers that default spreading goes by."""
    if not _has(cluster, Namespace):
        if any(_by_namespace_labels(term) for term in _terms(pod.spec)):
            yield _missing(
                "Namespace",
                "the pod's affinity selects namespaces by label and the snapshot has no namespaces",
                "such terms find no pods",
            )
        others = (term for pod_class in cluster.pods.classes for term in _terms(pod_class.pod.spec))
        if pod.metadata.namespace and any(_by_namespace_labels(term) for term in others):
            yield _missing(
                "Namespace",
                "pods select namespaces by label in their affinity and the snapshot has no namespaces",
                "whether they mean this pod is not known",
            )
    owner = pod.metadata.controller
    kind = _CONTROLLERS.get(owner.kind) if owner is not None else None
    if owner is not None and kind is not None and not pod.spec.topology_spread_constraints and not _has(cluster, kind):
        yield _missing(
            owner.kind,
            f"the pod belongs to {owner.kind} {owner.name} and the snapshot has no {owner.kind}s",
            "default spreading goes by its Services alone, so scores can differ",
        )


def _terms(spec: PodSpec) -> Iterable[PodAffinityTerm]:
    affinity = spec.affinity
    if affinity is None:
        return
    for terms in (affinity.pod_affinity, affinity.pod_anti_affinity):
        if terms is not None:
            yield from terms.required_during_scheduling_ignored_during_execution
            for weighted in terms.preferred_during_scheduling_ignored_during_execution:
                yield weighted.pod_affinity_term


def _by_namespace_labels(term: PodAffinityTerm) -> bool:
    # An empty selector means all namespaces, whatever their labels.
    selector = term.namespace_selector
    return selector is not None and bool(selector.match_labels or selector.match_expressions)
