"""The settings of a cluster's autoscaler, and the evidence that one runs.

The flags are arguments of its container, which are not read; only OpenShift's operator has them in an object.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from kschedctl.autoscaler.cluster_autoscaler.status import Status
from kschedctl.cluster.cluster import Cluster
from kschedctl.objects.cluster_autoscaler import ClusterAutoscaler, MachineAutoscaler
from kschedctl.objects.event import Event
from kschedctl.objects.pod import PodSpec
from kschedctl.objects.workload import Deployment

#: The name of the program: of its image, of its Deployment, and as the component of its Events.
PROGRAM: Final = "cluster-autoscaler"
#: The priority below which a pod is expendable (``--expendable-pods-priority-cutoff``).
_CUTOFF: Final = -10


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The settings that an answer depends on; those that the cluster does not tell are the defaults."""

    #: No node is added for a pod of a lower priority.
    cutoff: int = _CUTOFF
    #: The largest number of nodes of the cluster (``--max-nodes-total``); ``None`` if it is unlimited or unknown.
    max_nodes_total: int | None = None


def settings_of(cluster: Cluster) -> Settings:
    """Return the settings of a cluster's autoscaler."""
    of_openshift = next(iter(cluster.list(ClusterAutoscaler)), None)
    if of_openshift is None:
        return Settings()
    spec = of_openshift.spec
    return Settings(
        cutoff=_CUTOFF if spec.pod_priority_threshold is None else spec.pod_priority_threshold,
        max_nodes_total=spec.resource_limits.max_nodes_total,
    )


def is_running(cluster: Cluster, status: Status | None) -> bool:
    """Report whether an autoscaler is seen in a cluster: by its status, objects, Events, Deployment or pod."""
    return status is not None or any(_traces(cluster))


def _traces(cluster: Cluster) -> Iterator[bool]:
    yield bool(cluster.list(ClusterAutoscaler) or cluster.list(MachineAutoscaler))
    yield any(event.source.component == PROGRAM for event in cluster.list(Event))
    templates = (each.spec.template for each in cluster.list(Deployment) if each.spec.replicas != 0)
    yield any(_runs_program(template.spec) for template in templates if template is not None)
    # Equal pods share their spec.
    specs = {id(record.spec): record.spec for record in cluster.pods.records}
    yield any(map(_runs_program, specs.values()))


def _runs_program(spec: PodSpec) -> bool:
    images = (container.image.partition("@")[0].rpartition("/")[2] for container in spec.containers)
    return any(image.partition(":")[0].startswith(PROGRAM) for image in images)
