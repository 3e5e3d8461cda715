"""The pods of ReplicaSets, ReplicationControllers, and Deployments, which create pods through a ReplicaSet."""

from __future__ import annotations

from typing import Final

from msgspec.structs import replace

from kschedctl.cluster.cluster import Cluster
from kschedctl.controllers.workloads.created_pods import MadePod
from kschedctl.controllers.workloads.replicas import wanted_replicas
from kschedctl.controllers.workloads.template import (
    controller_reference,
    has_template,
    owner_if_missing,
    pod_from_template,
    template_hash,
)
from kschedctl.objects.meta import LabelSelector, ObjectMeta
from kschedctl.objects.selectors import parse_int64
from kschedctl.objects.well_known import POD_TEMPLATE_HASH
from kschedctl.objects.workload import Deployment, PodTemplateSpec, ReplicaSet, ReplicasSpec, ReplicationController

_REVISION: Final = "deployment.kubernetes.io/revision"
_MAX_NAME_LENGTH: Final = 253


def pods_of_replicas(
    owner: ReplicaSet | ReplicationController, template: PodTemplateSpec, cluster: Cluster
) -> tuple[MadePod, ...]:
    """Return the pod of a ReplicaSet or ReplicationController; its replicas are identical."""
    pod = pod_from_template(template, owner)
    return (MadePod(pod, wanted_replicas(owner), objects=owner_if_missing(cluster, owner)),)


def pods_of_deployment(deployment: Deployment, template: PodTemplateSpec, cluster: Cluster) -> tuple[MadePod, ...]:
    """Return the pod of a Deployment's newest ReplicaSet: the stored one if its template is equal, else a new one."""
    replica_set = _current(deployment, template, cluster) or _new(deployment, template)
    own_hash = replica_set.metadata.labels.get(POD_TEMPLATE_HASH, "")
    pod = pod_from_template(template, replica_set, labels={POD_TEMPLATE_HASH: own_hash} if own_hash else None)
    return (MadePod(pod, wanted_replicas(deployment), objects=owner_if_missing(cluster, replica_set)),)


def _current(deployment: Deployment, template: PodTemplateSpec, cluster: Cluster) -> ReplicaSet | None:
    """Return the ReplicaSet with the highest revision among the Deployment's ReplicaSets with an equal template."""
    same = [
        replica_set
        for replica_set in cluster.list(ReplicaSet)
        if _belongs_to(replica_set, deployment) and has_template(replica_set, template)
    ]
    return max(same, key=revision, default=None)


def _belongs_to(replica_set: ReplicaSet, deployment: Deployment) -> bool:
    owner = replica_set.metadata.controller
    return (
        owner is not None
        and (owner.kind, owner.name) == ("Deployment", deployment.name)
        and replica_set.namespace == deployment.namespace
    )


def revision(replica_set: ReplicaSet) -> int:
    """Return the number that the Deployment controller gives a ReplicaSet; 0 if it has none."""
    text = replica_set.metadata.annotations.get(_REVISION, "")
    return parse_int64(text) or 0


def _new(deployment: Deployment, template: PodTemplateSpec) -> ReplicaSet:
    """Return the ReplicaSet that the Deployment controller creates for a new template."""
    own_hash = template_hash(template)
    labels = {**template.metadata.labels, POD_TEMPLATE_HASH: own_hash}
    selector = deployment.spec.selector or LabelSelector()
    return ReplicaSet(
        metadata=ObjectMeta(
            name=f"{deployment.name[: _MAX_NAME_LENGTH - 1 - len(own_hash)]}-{own_hash}",
            namespace=deployment.namespace,
            labels=labels,
            owner_references=(controller_reference(deployment),),
        ),
        spec=ReplicasSpec(
            selector=replace(selector, match_labels={**selector.match_labels, POD_TEMPLATE_HASH: own_hash}),
            replicas=wanted_replicas(deployment),
            template=replace(template, metadata=replace(template.metadata, labels=labels)),
        ),
    )
