"""The label selector of default topology spreading, combined from a pod's Services and controller."""

from __future__ import annotations

from collections.abc import Mapping

from kschedctl.cluster.cluster import Cluster
from kschedctl.objects.core import Service
from kschedctl.objects.meta import LabelSelector
from kschedctl.objects.pod import Pod
from kschedctl.objects.selectors import Selector, SelectorError, label_map_selector, matches, parse_label_selector
from kschedctl.objects.workload import ReplicaSet, ReplicationController, StatefulSet


def default_selector(cluster: Cluster, pod: Pod) -> Selector:
    """Return the combined selector of a pod's Services and owning controller (plugins/helper ``DefaultSelector``).

    Returns
    -------
    Selector
        Empty if no Service and no controller selects the pod.
    """
    namespace = pod.metadata.namespace
    labels: dict[str, str] = {}
    for service in cluster.list(Service):
        wanted = service.spec.selector
        if service.namespace == namespace and wanted and matches(label_map_selector(wanted), pod.metadata.labels):
            labels |= wanted
    owner = pod.metadata.controller
    if owner is None:
        return label_map_selector(labels)
    match (owner.api_version, owner.kind):
        case ("v1", "ReplicationController"):
            controller = cluster.get(ReplicationController, owner.name, namespace)
            return label_map_selector({**labels, **(controller.spec.selector if controller else {})})
        case ("apps/v1", "ReplicaSet"):
            replica_set = cluster.get(ReplicaSet, owner.name, namespace)
            return _with(labels, replica_set.spec.selector if replica_set else None)
        case ("apps/v1", "StatefulSet"):
            stateful_set = cluster.get(StatefulSet, owner.name, namespace)
            return _with(labels, stateful_set.spec.selector if stateful_set else None)
        case _:
            return label_map_selector(labels)


def _with(labels: Mapping[str, str], selector: LabelSelector | None) -> Selector:
    base = label_map_selector(labels)
    if selector is None:
        return base
    try:
        return (*base, *parse_label_selector(selector))
    except SelectorError:
        return base
